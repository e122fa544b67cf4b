"""Versions change state by one conditional UPDATE: a race has one winner, and a barrier leaves nothing out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest

from storage.candidates import move_candidate
from storage.engine import Database
from storage.queries.rules import ancestors_of, descendants_of, versions_in
from storage.tables import Candidate
from storage.versions import move_versions, quarantine_descendants, set_ancestors
from support import rows

CHAIN = ("rule-1", "rule-2", "rule-3", "rule-4")


@pytest.fixture
def served(database: Database) -> Database:
    """Four active versions; rule-3 descends from rule-2, and both from rule-1; rule-4 stands alone."""
    with database.write() as session:
        rows.promoted(session, CHAIN)
        set_ancestors(session, rows.SPACE, ("rule-2", 1), [("rule-1", 1)])
        set_ancestors(session, rows.SPACE, ("rule-3", 1), [("rule-1", 1), ("rule-2", 1)])
    return database


def states(database: Database, *wanted: str) -> list[str]:
    with database.read() as session:
        return [row.rule_id for row in versions_in(session, rows.SPACE, wanted)]


def revoke(database: Database, rule_id: str, now: datetime) -> list[tuple[str, int]]:
    with database.write() as session:
        return move_versions(session, rows.SPACE, [(rule_id, 1)], to="revoked", reason="wrong", epoch=2, now=now)


def test_the_barrier_withdraws_every_descendant_and_nothing_else(served: Database, now: datetime) -> None:
    with served.write() as session:
        moved = quarantine_descendants(session, rows.SPACE, [("rule-1", 1)], reason="leans on it", epoch=2, now=now)
    assert moved == [("rule-2", 1), ("rule-3", 1)]
    assert states(served, "active") == ["rule-1", "rule-4"]


def test_a_version_is_revoked_once(served: Database, now: datetime) -> None:
    assert revoke(served, "rule-1", now) == [("rule-1", 1)]
    assert revoke(served, "rule-1", now) == []


def test_of_concurrent_revocations_one_wins(served: Database, now: datetime) -> None:
    with ThreadPoolExecutor(6) as pool:
        moved = list(pool.map(lambda _: revoke(served, "rule-1", now), range(6)))
    assert sorted(moved) == [*([[]] * 5), [("rule-1", 1)]]


def test_a_revoked_version_never_comes_back(served: Database, now: datetime) -> None:
    revoke(served, "rule-1", now)
    for state in ("active", "quarantined", "superseded", "expired"):
        with served.write() as session:
            assert not move_versions(session, rows.SPACE, [("rule-1", 1)], to=state, reason="", epoch=3, now=now)


def test_a_quarantined_version_may_be_restored(served: Database, now: datetime) -> None:
    with served.write() as session:
        quarantine_descendants(session, rows.SPACE, [("rule-1", 1)], reason="leans on it", epoch=2, now=now)
    with served.write() as session:
        back = move_versions(session, rows.SPACE, [("rule-2", 1)], to="active", reason="own evidence", epoch=3, now=now)
    assert back == [("rule-2", 1)]
    assert states(served, "active") == ["rule-1", "rule-2", "rule-4"]


def test_a_move_from_a_named_state_leaves_others_alone(served: Database, now: datetime) -> None:
    with served.write() as session:
        moved = move_versions(
            session, rows.SPACE, [("rule-1", 1)], to="revoked", reason="", epoch=2, now=now, sources=["quarantined"]
        )
    assert moved == []


def test_versions_of_another_namespace_are_left_alone(served: Database, now: datetime) -> None:
    with served.write() as session:
        rows.promoted(session, ["rule-1"], space="other")
    revoke(served, "rule-1", now)
    with served.read() as session:
        assert [row.rule_id for row in versions_in(session, "other")] == ["rule-1"]


def test_lineage_is_walked_up_and_down(served: Database) -> None:
    with served.read() as session:
        assert ancestors_of(session, rows.SPACE, [("rule-3", 1)]) == {("rule-1", 1), ("rule-2", 1)}
        assert descendants_of(session, rows.SPACE, [("rule-1", 1)]) == {("rule-2", 1), ("rule-3", 1)}
        assert descendants_of(session, rows.SPACE, [("rule-4", 1)]) == set()


def test_lineage_taken_anew_replaces_the_old(served: Database) -> None:
    with served.write() as session:
        set_ancestors(session, rows.SPACE, ("rule-3", 1), [("rule-4", 1)])
    with served.read() as session:
        assert ancestors_of(session, rows.SPACE, [("rule-3", 1)]) == {("rule-4", 1)}


def loaded(database: Database) -> Candidate:
    with database.read() as session:
        return session.get_one(Candidate, (rows.SPACE, "cand-1"))


def test_of_two_decisions_on_one_candidate_one_wins(served: Database, now: datetime) -> None:
    seen = [(loaded(served), "promoted"), (loaded(served), "rejected")]

    def decide(mine: tuple[Candidate, str]) -> bool:
        with served.write() as session:
            session.add(mine[0])
            return move_candidate(session, mine[0], mine[1], now)

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(decide, seen)) == [False, True]


def test_a_candidate_whose_text_changed_meanwhile_is_not_moved(served: Database, now: datetime) -> None:
    seen = loaded(served)
    with served.write() as session:
        rows.add(session, rows.revision(number=2, content_hash="other"))
        current = session.get_one(Candidate, (rows.SPACE, "cand-1"))
        assert move_candidate(session, current, "staged", now, extra={"number": 2, "content_hash": "other"})
    with served.write() as session:
        session.add(seen)
        assert not move_candidate(session, seen, "promoted", now)
