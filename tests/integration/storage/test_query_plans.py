"""A statement that is asked for every batch must not look through the namespace: bulk work would be quadratic."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from storage.engine import Database
from storage.queries import episodes as queries

ASKED = {
    "hashes": ["a" * 64], "fingerprints": ["b" * 64], "importer": "canonical", "source_scope": "", "source_ids": ["x"],
}  # fmt: skip


def test_each_statement_about_a_batch_is_answered_from_its_own_index(sqlite_database: Database) -> None:
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        if statement.startswith("SELECT"):
            asked.append((statement, parameters))

    sa.event.listen(sqlite_database.engine, "before_cursor_execute", note)
    with sqlite_database.read() as session:
        queries.related(session, "lab", **ASKED)
    sa.event.remove(sqlite_database.engine, "before_cursor_execute", note)
    assert len(asked) == 3
    with sqlite_database.engine.connect() as connection:
        plans = [
            [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
            for statement, parameters in asked
        ]
    columns = ("source_hash=?", "fingerprint=?", "source_id=?")
    for column, plan in zip(columns, plans, strict=True):
        assert any(step.startswith("SEARCH episode") and column in step for step in plan), plan
