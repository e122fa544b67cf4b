"""The command that purges, and the pages afterwards."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlmodel import select
from starlette.testclient import TestClient

from review_ui.app import create_app
from storage.bodies import load_bodies
from storage.engine import Database
from storage.settings import Settings
from storage.tables import Candidate, Episode, Run
from support import factories
from support.html_check import faults_of
from support.review_pages import ORIGIN, Clock, log_in
from support.reviewing import Desk, Found, Ran, avoid, those_with, tried
from tasks import pipeline
from tasks.pipeline import Worker
from tasks.revoke.purge_step import purge
from worker.cli.root import run

NAME = "Ottokar7"
SPACE = "acme/shop"


class Terminal:
    """Runs the command on one home folder."""

    def __init__(self, capsys: pytest.CaptureFixture[str], desk: Desk, ids: tuple[str, ...]) -> None:
        self._capsys, self.desk, self.ids = capsys, desk, ids

    def read(self, *arguments: str, code: int = 0) -> str:
        self._capsys.readouterr()
        assert run(["purge", *arguments, "-n", SPACE, "-r", f"{NAME} asked"]) == code
        return self._capsys.readouterr().out

    def bodies(self) -> set[str]:
        with self.desk.database.read() as session:
            return set(load_bodies(session, SPACE, self.ids))


@pytest.fixture
def terminal(
    tmp_path: Path, migrated_sqlite_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    secret: bytes,
) -> Iterator[Terminal]:  # fmt: skip
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path))
    (tmp_path / "slowwave.db").write_bytes(migrated_sqlite_file.read_bytes())
    database = Database(f"sqlite:///{tmp_path / 'slowwave.db'}")
    desk = Desk(database, datetime(2026, 11, 30, 3, 0, tzinfo=UTC), secret).open()
    mine = [Ran("t0", "success", ("look",), session="s-1", text=NAME) for _ in range(2)]
    yield Terminal(capsys, desk, desk.record(*mine, Ran("t1", "failure", ("look",))))
    database.dispose()


def test_a_dry_run_says_what_would_go_and_does_nothing(terminal: Terminal) -> None:
    found = json.loads(terminal.read(terminal.ids[0], "--dry-run", "--json"))
    assert (found["episodes"], found["expires"]) == ([terminal.ids[0]], [])
    assert "1 would be erased" in terminal.read(terminal.ids[0], "--dry-run")
    assert terminal.bodies() == set(terminal.ids)


def test_a_session_is_purged_whole_and_the_file_holds_no_byte_of_it(terminal: Terminal, tmp_path: Path) -> None:
    store = tmp_path / "slowwave.db"
    with sqlite3.connect(store) as raw:
        raw.execute("update episode set task = task || ? where session_id = 's-1'", (f" {NAME}",))
    terminal.desk.database.dispose()
    assert NAME.encode() in b"".join(file.read_bytes() for file in tmp_path.glob("slowwave.db*"))
    told = json.loads(terminal.read("--session", "s-1", "--yes", "--json"))
    assert (told["episodes"], told["changed"], told["compacted"]) == (sorted(terminal.ids[:2]), True, True)
    assert [one["state"] for one in told["repairs"]] == ["completed"]
    assert terminal.bodies() == {terminal.ids[2]}
    terminal.desk.database.dispose()
    assert NAME.encode() not in b"".join(file.read_bytes() for file in tmp_path.glob("slowwave.db*"))
    assert "nothing is left to erase" in terminal.read(terminal.ids[0], "--yes")
    terminal.read("--session", "s-1", "--yes", code=1)


@pytest.mark.parametrize("given", [(), ("e", "--session", "s"), ("no-such",), ("--agent", "x", "--session", "s")])
def test_what_is_not_said_once_and_clearly_is_refused(terminal: Terminal, given: tuple[str, ...]) -> None:
    terminal.read(*given, "--yes", code=2)
    assert terminal.bodies() == set(terminal.ids)


def test_with_json_nobody_is_asked_and_nothing_done_without_a_yes(terminal: Terminal) -> None:
    terminal.read(terminal.ids[0], "--json", code=2)
    assert terminal.bodies() == set(terminal.ids)


def test_every_page_that_told_of_it_still_renders(desk: Desk, tmp_path: Path) -> None:
    runs = tried("cancel_order", tasks=2)
    shown = those_with(desk.record(*runs), "cancel_order", runs)
    rule_id, _ = desk.promoted(Found(avoid("cancel_order"), shown))
    done = purge(desk.database, desk.namespace, shown, reason="asked", actor="op", now=desk.now, secret=desk.secret)
    pipeline.drive(desk.database, str(done.run_id), Worker("t", desk.secret, clock=lambda: desk.now))
    with desk.database.read() as session:
        candidate, nights = session.exec(select(Candidate)).one().id, session.exec(select(Run.id)).all()
        episodes = session.exec(select(Episode.id)).all()
    settings = Settings(home=tmp_path, secret_key=SecretStr(desk.secret.decode()))
    app: Any = create_app(settings, desk.database, Clock(desk.now))
    _, token = factories.make_person(desk.database, "rosa", desk.now)
    with TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False) as browser:
        assert log_in(browser, "rosa", token).status_code == 303
        pages = [f"/candidates/{SPACE}/{candidate}", f"/rules/{SPACE}/{rule_id}", "/events", "/audit", "/queue"]
        pages += [f"/episodes/{SPACE}/{one}" for one in episodes[:3]] + [f"/runs/{one}" for one in nights]
        for page in pages:
            answer = browser.get(page)
            assert answer.status_code in (200, 403), page
            assert faults_of(answer.text) == [], page
        assert "tombstone" in browser.get(f"/episodes/{SPACE}/{shown[0]}").text
