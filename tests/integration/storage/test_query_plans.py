"""A statement that is asked for every batch must not look through the namespace: bulk work would be quadratic.

Nor may a page of the queue look through the candidates: what it filters and sorts by is in one index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import Session

from storage.engine import Database
from storage.queries import episodes as queries
from storage.queries.facets import fast_counts, slow_counts
from storage.queries.queue import Asked, Order, Standing, open_conflict_counts, queue_page
from storage.queries.reach import recent_runs
from support.rows import AT

ASKED = {
    "hashes": ["a" * 64], "fingerprints": ["b" * 64], "importer": "canonical", "source_scope": "", "source_ids": ["x"],
}  # fmt: skip


def plans(database: Database, ask: Callable[[Session], object]) -> list[list[str]]:
    """How SQLite, which knows no figures of the tables, answers each statement that is asked."""
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        if statement.startswith(("SELECT", "WITH")):
            asked.append((statement, parameters))

    sa.event.listen(database.engine, "before_cursor_execute", note)
    with database.read() as session:
        ask(session)
    sa.event.remove(database.engine, "before_cursor_execute", note)
    with database.engine.connect() as connection:
        return [
            [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
            for statement, parameters in asked
        ]


def test_each_statement_about_a_batch_is_answered_from_its_own_index(sqlite_database: Database) -> None:
    found = plans(sqlite_database, lambda session: queries.related(session, "lab", **ASKED))
    assert len(found) == 3
    columns = ("source_hash=?", "fingerprint=?", "source_id=?")
    for column, plan in zip(columns, found, strict=True):
        assert any(step.startswith("SEARCH episode") and column in step for step in plan), plan


@pytest.mark.parametrize(
    ("order", "index"),
    [
        ("worth", "ix_candidate_by_rank"),
        ("oldest", "ix_candidate_by_age"),
        ("newest", "ix_candidate_by_age"),
        ("reach", "ix_candidate_by_reach"),
        ("doubts", "ix_candidate_by_doubts"),
    ],
)
@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"granted": ("acme/support", "lab")},
        {"namespace": "lab"},
        {"tier": "high", "kind": "rule", "checks": "failing"},
        {"conflicts": False},
    ],
    ids=str,
)
def test_a_page_of_the_queue_is_read_in_order_from_one_index(
    sqlite_database: Database, order: Order, index: str, filters: dict[str, Any]
) -> None:
    (plan,) = plans(sqlite_database, lambda session: queue_page(session, Asked(AT, **filters), order, 4500))
    assert plan[1].split(" (")[0].endswith(f" candidate USING INDEX {index}"), plan
    looked_at = [step for step in plan[2:] if step.split(" ")[1] in ("candidate", "candidate_revision")]
    assert looked_at, plan
    assert all(step.startswith("SEARCH") for step in looked_at), plan
    assert sum("ORDER BY" in step for step in plan) == 1, "only the rows of the page are put in order again"


@pytest.mark.parametrize(
    ("standing", "index"),
    [
        ("waiting", "ix_candidate_facets"),
        ("parked", "ix_candidate_facets_parked"),
        ("rejected", "ix_candidate_facets_closed"),
    ],
)
@pytest.mark.parametrize("filters", [{}, {"granted": ("lab",)}, {"tier": "high"}, {"age": "week"}], ids=str)
def test_candidates_are_counted_from_indexes_alone(
    sqlite_database: Database, standing: Standing, index: str, filters: dict[str, Any]
) -> None:
    asked = Asked(AT, standing=standing, **filters)
    of_kinds, *others = plans(sqlite_database, lambda session: fast_counts(session, asked))
    others += plans(sqlite_database, lambda session: slow_counts(session, asked))
    steps = [step for step in of_kinds if " row " in step]
    assert len(steps) == 9, "from each to the next, and a range for each"
    assert all(f"INDEX {index}" in step for step in steps), of_kinds
    assert not any("ORDER BY" in step for step in of_kinds), of_kinds
    for plan in others:
        for step in plan:
            assert not step.startswith("SCAN candidate") or "INDEX ix_candidate_" in step, plan
            assert "ix_candidate_namespace_state" not in step, plan


def test_conflicts_of_a_page_and_runs_of_a_family_are_looked_up(sqlite_database: Database) -> None:
    (plan,) = plans(sqlite_database, lambda session: open_conflict_counts(session, [("lab", "a"), ("lab", "b")]))
    assert [step.split()[0] for step in plan if " conflict" in step] == ["SEARCH", "SEARCH"], plan
    begun, undated = plans(sqlite_database, lambda session: recent_runs(session, "lab", "orders", AT, 100))
    assert "ix_episode_namespace_family (namespace=? AND family_id=? AND started_at>?)" in begun[0]
    assert "ix_episode_namespace_family (namespace=? AND family_id=? AND started_at=?)" in undated[0]
