"""Splitting and merging from the command line, as the person behind the token."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from storage.engine import Database
from storage.tables import Candidate
from support.reviewing import Desk, Found, avoid, those_with, tried
from tasks.contrast.predicate import Predicate
from worker.cli.root import run

CALL = "cancel_order"


class Terminal:
    """Runs commands of one home folder as a person or, with ``--json``, as a program."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def read(self, *arguments: str, code: int = 0) -> str:
        self._capsys.readouterr()
        assert run(list(arguments)) == code
        return self._capsys.readouterr().out

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self.read(*arguments, "--json", code=code))


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path))
    terminal = Terminal(capsys)
    monkeypatch.setenv("SLOWWAVE_TOKEN", terminal.json("user", "add", "mira")["token"])
    return terminal


@pytest.fixture
def pair(terminal: Terminal, tmp_path: Path, secret: bytes) -> Iterator[dict[str, Candidate]]:
    """Two candidates on one act at two releases, by the kind of their claim."""
    database = Database(f"sqlite:///{tmp_path / 'slowwave.db'}")
    desk = Desk(database, datetime(2026, 11, 30, 3, 0, tzinfo=UTC), secret).open()
    runs = [ran for version in ("3.2", "3.3") for ran in tried(CALL, 4, environment=(("api", version),))]
    shown = those_with(desk.record(*runs), CALL, runs)
    desk.night(Found(avoid(CALL), shown[:9]), Found(Predicate("missing-check", ("look", CALL), "avoid"), shown[7:]))
    yield {text.content["predicate"]["kind"]: row for row, text in desk.candidates()}
    database.dispose()


def test_what_it_can_be_split_by_is_listed_with_the_command_to_type(
    terminal: Terminal, pair: dict[str, Candidate]
) -> None:
    whole = pair["call-present"]
    page = terminal.read("split", whole.id)
    assert '--by "api<=3.2"' in page
    assert "api 3.2 and earlier: 16 runs, 16 groups; the effect is seen" in page
    assert whole.content_hash in page
    listed = terminal.json("split", whole.id)
    assert [one["key"] for one in listed["choices"]] == ["api<=3.2"]
    assert listed["choices"][0]["sides"][0]["left"]["support"] == 8


def test_a_split_puts_its_parts_in_the_queue(terminal: Terminal, pair: dict[str, Candidate]) -> None:
    whole = pair["call-present"]
    given = ("split", whole.id, "--by", "api<=3.2", "--hash", whole.content_hash, "--reason", "3.3 differs")
    done = terminal.json(*given)
    waiting = {one["id"] for one in terminal.json("queue", "-n", whole.namespace)}
    assert set(done["parts"]) < waiting
    assert whole.id not in waiting
    assert "split so before" in terminal.read(*given)


def test_a_split_without_a_hash_is_wrong_usage(terminal: Terminal, pair: dict[str, Candidate]) -> None:
    error = terminal.json("split", pair["call-present"].id, "--by", "api<=3.2", code=2)["error"]
    assert "--hash" in error["now"]


def test_a_merge_closes_the_other_and_a_stale_hash_is_refused(terminal: Terminal, pair: dict[str, Candidate]) -> None:
    into, other = pair["call-present"], pair["missing-check"]
    given = ("merge", into.id, other.id, "--hash", into.content_hash, "--reason", "the same")
    refused = terminal.json(*given, "--other-hash", "0" * 64, code=1)
    assert "other content now" in refused["error"]["what"]
    said = terminal.read(*given, "--other-hash", other.content_hash)
    assert f"merged {other.id} into {into.id}, which is staged at revision 2" in said
    assert "before" in terminal.read(*given, "--other-hash", other.content_hash)
