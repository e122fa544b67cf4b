"""A search of the audit log, and a page of events, is read from an index that has its order, however long they are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import Session

from storage import audit
from storage.engine import Database
from storage.queries.pages_audit import Wanted, audit_page
from storage.queries.pages_events import behind, events_page, spans_over

AT = datetime(2026, 11, 30, tzinfo=UTC)


def plan_of(database: Database, ask: Callable[[Session], Any], table: str) -> list[str]:
    """The plan of the statement over this table that ``ask`` sends first."""
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        if f"FROM {table}" in statement and "LIMIT" in statement:
            asked.append((statement, parameters))

    sa.event.listen(database.engine, "before_cursor_execute", note)
    with database.read() as session:
        ask(session)
    sa.event.remove(database.engine, "before_cursor_execute", note)
    with database.engine.connect() as connection:
        return [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked[0][0]}", asked[0][1])]


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (Wanted(), "ix_audit_entry_at"),
        (Wanted(since=AT, until=AT), "ix_audit_entry_at"),
        (Wanted(text="cand"), "ix_audit_entry_at"),
        (Wanted(namespace="acme"), "ix_audit_entry_namespace"),
        (Wanted(namespace="acme", text="cand"), "ix_audit_entry_namespace"),
        (Wanted(actors=("user:a",)), "ix_audit_entry_actor"),
        (Wanted(action="login"), "ix_audit_entry_action"),
        (Wanted(target="rule:a", until=AT), "ix_audit_entry_target"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("older", [None, 1])
def test_a_search_is_read_in_order_from_one_index(
    sqlite_database: Database, now: datetime, wanted: Wanted, index: str, older: int | None
) -> None:
    with sqlite_database.write() as session:
        audit.record(session, actor="a", action="b", now=now)
    plan = plan_of(sqlite_database, lambda session: audit_page(session, (), wanted, older=older), "audit_entry")
    assert any(f"INDEX {index}" in step for step in plan), plan
    assert not any("TEMP B-TREE" in step for step in plan), plan


@pytest.mark.parametrize("namespace", [None, "acme"])
def test_a_page_of_events_is_read_in_order_from_one_index(sqlite_database: Database, namespace: str | None) -> None:
    for edge in (None, (AT, "acme", 7)):
        plan = plan_of(
            sqlite_database,
            lambda session, edge=edge: events_page(session, (), namespace=namespace, older=edge),
            "outbox_event",
        )
        assert all("INDEX" in step for step in plan), plan
        assert not any("TEMP B-TREE" in step for step in plan), plan


def test_how_far_readers_are_is_looked_up_by_epoch(sqlite_database: Database) -> None:
    spans = plan_of(sqlite_database, lambda session: spans_over(session, "acme", 3, 9), "ack_span")
    assert any("ix_ack_span_epoch" in step or "pk_ack_span" in step for step in spans), spans
    late = plan_of(sqlite_database, lambda session: behind(session, "acme", 9), "ack")
    assert any("ix_ack_epoch (namespace=? AND epoch<?)" in step for step in late), late
    assert any("ix_cache_grant_instance (namespace=? AND client_instance=?)" in step for step in late), late
