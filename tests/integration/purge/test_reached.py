"""Whom a revocation reached, and what they did: told by the command before and after."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from storage.engine import Database
from storage.tables import ClientSession, Namespace
from support.reviewing import Desk, Ran, finding
from worker.cli.root import run

POLICY = {"tools": {"pay": {"side_effects": True, "cancellable": True}, "look": {"side_effects": False}}}


@pytest.fixture
def desk(
    tmp_path: Path, migrated_sqlite_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    secret: bytes,
) -> Iterator[Desk]:  # fmt: skip
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path))
    (tmp_path / "slowwave.db").write_bytes(migrated_sqlite_file.read_bytes())
    assert run(["user", "add", "mira", "--json"]) == 0
    monkeypatch.setenv("SLOWWAVE_TOKEN", json.loads(capsys.readouterr().out)["token"])
    database = Database(f"sqlite:///{tmp_path / 'slowwave.db'}")
    yield Desk(database, datetime(2026, 11, 30, 3, 0, tzinfo=UTC), secret).open()
    database.dispose()


def test_the_report_names_sessions_and_what_they_did_that_can_still_be_cancelled(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    rule, version = desk.promoted(finding(desk, "cancel_order"))
    (paid,) = desk.record(Ran("t9", "success", ("look", "pay", "mail"), session="s-open"))
    desk.expose("s-open", rule, version)
    desk.expose("s-lost", rule, version)
    with desk.database.write() as session:
        session.get_one(Namespace, desk.namespace).policy = POLICY
        session.add(ClientSession(namespace=desk.namespace, session_id="s-open", client_instance="i", token_id="t",
                                  started_at=desk.now))  # fmt: skip
    capsys.readouterr()
    assert run(["revoke", rule, "--preview", "--json"]) == 0
    before = json.loads(capsys.readouterr().out)
    assert before["sessions"] == {"s-open": True, "s-lost": None}
    assert [(one["tool"], one["side_effects"]) for one in before["actions"]] == [("pay", True), ("mail", None)]
    assert [(one["episode_id"], one["step_id"]) for one in before["cancellable"]] == [(paid, "c1")]
    assert run(["revoke", rule]) == 2, "a preview is asked for by name"
    assert run(["revoke", rule, "--preview"]) == 0
    told = capsys.readouterr().out
    assert "2 sessions may have read it, 1 still open" in told
    assert "can still be cancelled: pay in session s-open" in told
    assert run(["revoke", rule, "--reason", "it was wrong", "--json"]) == 0
    after = json.loads(capsys.readouterr().out)
    assert after["reached"] == before
    assert after["revoked"] == [[rule, version]]
