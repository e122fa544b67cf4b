"""Conflicts on the command line: the list, and a decision by whoever the token says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from storage.conflicts import note
from storage.engine import Database
from storage.episodes import ensure_namespace
from storage.queries.conflicts import MIXED_OUTCOME
from worker.cli.root import run

NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
REFS = ("episode:e1#s", "episode:e2#s")


class Terminal:
    """Runs commands of one home folder; returns (exit code, standard output)."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def run(self, *arguments: str) -> tuple[int, str]:
        self._capsys.readouterr()
        code = run(list(arguments))
        return code, self._capsys.readouterr().out

    def json(self, *arguments: str) -> Any:
        code, out = self.run(*arguments, "--json")
        assert code == 0, out
        return json.loads(out)


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path))
    terminal = Terminal(capsys)
    monkeypatch.setenv("SLOWWAVE_TOKEN", terminal.json("user", "add", "mira")["token"])
    return terminal


@pytest.fixture
def store(terminal: Terminal, tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path / 'slowwave.db'}")
    for namespace in ("lab", "lab2"):
        keep(database, namespace)
    yield database
    database.dispose()


def keep(database: Database, namespace: str, old: str = "P") -> None:
    sides = {ref: {"title": title, "says": title, "support": 1, "episodes": []} for ref, title in zip(REFS, (f"Orchid: “{old}”\x1b[31m", "Orchid: from “P” to “Q”"), strict=True)}  # fmt: skip  # noqa: E501
    row = {"id": f"c-{namespace}", "kind": "supersession", "form": "changed", "detail": "it moved", "sides": sides,
           "stands": REFS[1]}  # fmt: skip
    with database.write() as session:
        ensure_namespace(session, namespace, NOW)
        note(session, namespace, REFS, row, "run", NOW)


def test_open_conflicts_are_listed_with_both_sides(terminal: Terminal, store: Database) -> None:
    code, page = terminal.run("conflicts", "--namespace", "lab")
    assert code == 0
    for shown in ("c-lab", "supersession (changed)", "left: Orchid: “P”\\u001b[31m", "right: Orchid: from “P” to “Q”",
                  "proposed: right stands"):  # fmt: skip
        assert shown in page
    assert "c-lab2" not in page
    assert "c-lab2" in terminal.run("conflicts")[1]


def test_a_decision_is_the_token_holders_and_is_listed_with_its_reason(terminal: Terminal, store: Database) -> None:
    (shown,) = terminal.json("conflicts", "-n", "lab")
    result = terminal.json(
        "conflicts", "resolve", "c-lab", "--keep", "right", "--reason", "done", "--shown", shown["shown"]
    )
    assert result == {"conflict_id": "c-lab", "namespace": "lab", "keep": "right", "changed": True}
    assert terminal.json("conflicts", "-n", "lab") == []
    (row,) = terminal.json("conflicts", "-n", "lab", "--all")
    assert (row["state"], row["resolution"], row["reason"], row["resolved_by"]) == ("resolved", "right", "done", "mira")


def test_the_same_again_is_done_and_the_opposite_is_refused(terminal: Terminal, store: Database) -> None:
    given = ("conflicts", "resolve", "c-lab", "--reason", "done", "--keep")
    assert terminal.json(*given, "right")["changed"]
    assert terminal.json(*given, "right")["changed"] is False
    assert terminal.run(*given, "left")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("c-lab", "--keep", "newest", "--reason", "x"), 2),
        (("c-lab", "--keep", "left", "--reason", " "), 1),
        (("nothing", "--keep", "left", "--reason", "x"), 1),
        (("c-lab", "--keep", "left", "--reason", "x", "--shown", "of another day"), 1),
    ],
)
def test_a_decision_that_is_not_whole_is_refused(
    terminal: Terminal, store: Database, arguments: tuple[str, ...], code: int
) -> None:
    assert terminal.run("conflicts", "resolve", *arguments)[0] == code
    assert len(terminal.json("conflicts", "-n", "lab")) == 1


def test_nobody_decides_without_a_token(terminal: Terminal, store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLOWWAVE_TOKEN")
    assert terminal.run("conflicts", "resolve", "c-lab", "--keep", "left", "--reason", "x")[0] == 2


def test_one_that_opened_again_says_why(terminal: Terminal, store: Database) -> None:
    terminal.json("conflicts", "resolve", "c-lab", "--keep", "right", "--reason", "done")
    keep(store, "lab", old="P2")
    assert "open again: the left side says something else now" in terminal.run("conflicts", "-n", "lab")[1]


def test_a_mixed_outcome_is_noted_and_no_side_of_it_kept(terminal: Terminal, store: Database) -> None:
    refs = ("runs:abc/failure", "runs:abc/success")
    sides = {ref: {"title": ref, "says": ref, "support": 3, "episodes": []} for ref in refs}
    row = {"id": "m1", "kind": "contradiction", "form": MIXED_OUTCOME, "detail": "both", "sides": sides}
    with store.write() as session:
        note(session, "lab", refs, row, "run", NOW)
    given = ("conflicts", "resolve", "m1", "--reason", "seen", "--keep")
    for side in ("left", "right", "neither"):
        assert terminal.run(*given, side)[0] == 1
    assert terminal.json(*given, "both")["changed"]
