"""How far a candidate would reach: sessions of late that lie in its scope."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from storage.engine import Database
from storage.tables import Candidate, Family
from storage.tables.review import NOT_MEASURED
from support import factories
from support.reviewing import Desk, Ran, finding
from tasks.stage import reach_step
from tasks.stage.reach_step import Reached, sessions_reached

SPACE, FAMILY = "acme/support", "orders"


@pytest.fixture
def runs(database: Database, now: datetime) -> Database:
    """Runs of a family and of none, by agent, version, session and day."""
    factories.make_namespace(database, SPACE, now)
    with database.write() as session:
        session.add(Family(namespace=SPACE, id=FAMILY, label="orders", created_at=now))
    made: dict[str, dict[str, Any]] = {
        "a": {"session_id": "s1", "started_at": now - timedelta(days=1)},
        "b": {"session_id": "s1", "started_at": now - timedelta(days=2)},
        "c": {"session_id": "s2", "started_at": now - timedelta(days=3), "environment": {"orders-api": "2.9"}},
        "d": {"session_id": "s3", "started_at": now - timedelta(days=4), "agent": "other-bot"},
        "e": {"session_id": None, "started_at": None},
        "old": {"session_id": "s4", "started_at": now - timedelta(days=31)},
        "elsewhere": {"session_id": "s5", "started_at": now - timedelta(days=1), "family_id": None},
        "replaced": {"session_id": "s6", "started_at": now - timedelta(days=1), "is_current": False},
        "purged": {"session_id": "s7", "started_at": now - timedelta(days=1), "purged_at": now},
    }  # fmt: skip
    for name, given in made.items():
        factories.make_episode(database, SPACE, name, now, **{"family_id": FAMILY, **given})
    return database


def reached(database: Database, now: datetime, family: str | None = FAMILY, **scope: Any) -> Reached:
    with database.read() as session:
        return sessions_reached(session, SPACE, family, scope, now)


def test_a_session_counts_once_and_a_run_without_one_is_its_own(runs: Database, now: datetime) -> None:
    assert reached(runs, now) == Reached(4, (("e", "e"), ("s1", "a"), ("s2", "c"), ("s3", "d")), 5)


def test_only_what_lies_in_the_scope_counts(runs: Database, now: datetime) -> None:
    assert reached(runs, now, environment={"orders-api": ">=3.0,<4"}).count == 3
    assert reached(runs, now, agents=["other-bot"]).sample == (("s3", "d"),)
    assert reached(runs, now, environment={"billing": "1.0"}).count == 4, "a component that no run names fits"


def test_a_claim_of_every_family_reaches_the_whole_namespace(runs: Database, now: datetime) -> None:
    assert reached(runs, now, family="*").count == reached(runs, now, family=None).count == 5
    assert reached(runs, now, family="unknown") == Reached(0)


def test_no_more_than_so_many_are_looked_at_and_that_is_said(
    runs: Database, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach_step, "LOOKED_AT", 2)
    assert reached(runs, now) == Reached(2, (("e", "e"), ("s1", "a")), 2, capped=True)


def test_a_night_measures_what_waits_and_what_waited_before_there_was_a_figure(
    database: Database, now: datetime, secret: bytes
) -> None:
    desk = Desk(database, now, secret).open()
    found = finding(desk)
    desk.night(found)
    first = desk.only()
    assert (first.reach, first.why_now, first.failing) == (32, "new", 0)
    with database.write() as session:
        session.get_one(Candidate, (desk.namespace, first.id)).reach = NOT_MEASURED
    desk.record(Ran("another", "success", session="late"))
    desk.night(found)
    assert desk.only().reach == 33
    desk.later(days=45).night(found)
    assert desk.only().reach == 0, "none of late"
