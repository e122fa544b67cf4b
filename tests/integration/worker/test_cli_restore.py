"""``slowwave restore``: what it serves again, for whom, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from storage.engine import Database
from storage.queries import rules
from storage.tables import AuditEntry, OutboxEvent, User
from support.reviewing import Desk, Found, avoid, those_with, tried
from worker.cli.root import run


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], secret: bytes
) -> Iterator[Desk]:
    """A home folder with a person whose token is set, and a revoked rule whose descendant is quarantined."""
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path))
    assert run(["user", "add", "mira", "--json"]) == 0
    monkeypatch.setenv("SLOWWAVE_TOKEN", json.loads(capsys.readouterr().out)["token"])
    database = Database(f"sqlite:///{tmp_path / 'slowwave.db'}")
    yield Desk(database, datetime(2026, 11, 30, 3, 0, tzinfo=UTC), secret).open()
    database.dispose()


def withheld(desk: Desk) -> tuple[tuple[str, int], tuple[str, int]]:
    """A rule that was revoked, and one that its readers' runs led to, which waits for a person."""
    made: list[tuple[str, int]] = []
    for call in ("m1", "m2"):
        runs = [replace(ran, session=f"{call}-{n}") for n, ran in enumerate(tried(call, tasks=2))]
        ids = desk.record(*runs)
        for ran in runs:
            for rule in made:
                desk.expose(ran.session, *rule)
        made.append(desk.promoted(Found(avoid(call), those_with(ids, call, runs))))
    desk.repair(str(desk.revoke(made[0][0]).repair_run_id))
    assert [state(desk, rule) for rule in made] == ["revoked", "quarantined"]
    return made[0], made[1]


def state(desk: Desk, rule: tuple[str, int]) -> str:
    with desk.database.read() as session:
        row = rules.version(session, desk.namespace, *rule)
    assert row is not None
    return row.state


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert run(["restore", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_a_quarantined_version_is_served_again_and_the_act_is_the_tokens(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    _, below = withheld(desk)
    told = said(capsys, below[0], "--reason", "it stands")
    assert (told["rule_id"], told["version"], told["changed"]) == (*below, True)
    assert state(desk, below) == "active"
    with desk.database.read() as session:
        event = session.get_one(OutboxEvent, (desk.namespace, told["epoch"]))
        (entry,) = session.exec(select(AuditEntry).where(col(AuditEntry.action) == "rule.restored")).all()
        (mira,) = session.exec(select(User.id).where(col(User.name) == "mira")).all()
    assert [(each["event"], each["rule"]) for each in event.changes] == [("restored", below[0])]
    assert entry.actor == f"user:{mira}"


def test_a_restoration_asked_for_twice_changes_nothing_the_second_time(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    _, below = withheld(desk)
    first = said(capsys, below[0], "--reason", "it stands")
    again = said(capsys, below[0], "--reason", "it stands")
    assert (again["changed"], again["epoch"]) == (False, first["epoch"])


@pytest.mark.parametrize("version", [(), ("--version", "1")])
def test_what_was_revoked_never_comes_back(
    desk: Desk, capsys: pytest.CaptureFixture[str], version: tuple[str, ...]
) -> None:
    above, _ = withheld(desk)
    told = said(capsys, above[0], *version, "--reason", "it stands", code=1)
    assert "is revoked" in told["error"]["what"]
    assert state(desk, above) == "revoked"


def test_without_a_reason_or_a_person_nothing_is_restored(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, below = withheld(desk)
    assert said(capsys, below[0], code=2)["error"]["code"] == 2
    assert said(capsys, below[0], "--reason", " ", code=1)["error"]["code"] == 1
    monkeypatch.delenv("SLOWWAVE_TOKEN")
    assert run(["restore", below[0], "--reason", "it stands"]) != 0
    assert state(desk, below) == "quarantined"


def test_a_rule_that_is_not_there_is_said_to_be_gone(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no rule" in said(capsys, "nothing", "--reason", "it stands", code=1)["error"]["what"]
