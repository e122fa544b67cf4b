"""What drills found is kept, newest first."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from storage.drills import keep_result
from storage.engine import Database
from storage.queries.drills import results_newest


def keep(database: Database, now: datetime, **given: Any) -> str:
    values: dict[str, Any] = {
        "mode": "revoke", "condition": "connected", "during": "", "database": "sqlite", "readers": 4,
        "lease_seconds": 15.0, "limit_seconds": 1.0, "passed": True, "summary": {"refused": {"p99": 0.25}}, "now": now,
    }  # fmt: skip
    with database.write() as session:
        return keep_result(session, **(values | given))


def test_the_newest_result_comes_first_and_is_whole(database: Database, now: datetime) -> None:
    first = keep(database, now)
    second = keep(database, now + timedelta(minutes=1), passed=False, condition="web-down")
    with database.read() as session:
        rows = results_newest(session, 10)
        assert [row.id for row in rows] == [second, first]
        assert [row.id for row in results_newest(session, 1)] == [second]
    assert rows[1].summary == {"refused": {"p99": 0.25}}
    assert (rows[0].passed, rows[0].condition, rows[1].at) == (False, "web-down", now)
