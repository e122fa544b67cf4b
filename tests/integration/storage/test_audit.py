"""The audit chain: it never forks, and any change to what was written shows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import col

from storage import audit
from storage.engine import Database
from storage.tables import AuditEntry, AuditHead


def write(database: Database, now: datetime, *, target: str = "rule-1", **given: Any) -> None:
    with database.write() as session:
        audit.record(session, actor="user-rosa", action="rule.revoked", target=target, now=now, **given)


def report(database: Database) -> audit.ChainReport:
    with database.read() as session:
        return audit.verify(session)


@pytest.fixture
def three(database: Database, now: datetime) -> Database:
    """A store in which three acts were recorded."""
    for number in range(3):
        write(database, now, target=f"rule-{number}", detail={"epoch": number, "why": "tests"})
    return database


def test_an_empty_chain_is_whole(database: Database) -> None:
    assert report(database) == audit.ChainReport(0, True)


def test_a_chain_of_recorded_acts_is_whole(three: Database) -> None:
    assert report(three) == audit.ChainReport(3, True)


def test_several_acts_of_one_transaction_follow_each_other(database: Database, now: datetime) -> None:
    with database.write() as session:
        for number in range(4):
            audit.record(session, actor="a", action="b", target=str(number), now=now)
    assert report(database) == audit.ChainReport(4, True)


def test_a_transaction_that_fails_leaves_the_chain_whole(three: Database, now: datetime) -> None:
    with pytest.raises(RuntimeError), three.write() as session:
        audit.record(session, actor="a", action="b", now=now)
        raise RuntimeError
    assert report(three) == audit.ChainReport(3, True)


def test_the_chain_does_not_fork_under_concurrent_writers(database: Database, now: datetime) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: write(database, now, target=str(number)), range(60)))
    assert report(database) == audit.ChainReport(60, True)


@pytest.mark.parametrize(
    "changed",
    [
        {"actor": "user-bob"},
        {"action": "rule.promoted"},
        {"target": "rule-9"},
        {"namespace": "other"},
        {"detail": {"epoch": 7}},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_changed_entry_is_found(three: Database, changed: dict[str, Any]) -> None:
    with three.write() as session:
        session.execute(sa.update(AuditEntry).where(col(AuditEntry.seq) == 2).values(**changed))
    found = report(three)
    assert (found.ok, found.broken_at, found.why) == (False, 2, "was changed after it was written")


def test_a_removed_entry_is_found(three: Database) -> None:
    with three.write() as session:
        session.execute(sa.delete(AuditEntry).where(col(AuditEntry.seq) == 2))
    assert report(three) == audit.ChainReport(1, False, 2, "entry 2 is missing")


def test_removed_newest_entries_are_found(three: Database) -> None:
    with three.write() as session:
        session.execute(sa.delete(AuditEntry).where(col(AuditEntry.seq) == 3))
    found = report(three)
    assert (found.ok, found.why) == (False, "the newest entries were removed")


def test_an_entry_hashed_anew_after_a_change_no_longer_fits_the_next(three: Database) -> None:
    with three.write() as session:
        entry = session.get_one(AuditEntry, 1)
        entry.actor = "user-bob"
        entry.hash = audit.entry_hash(entry)
    found = report(three)
    assert (found.ok, found.broken_at, found.why) == (False, 2, "does not follow the entry before it")


def test_a_chain_rewritten_to_its_end_no_longer_fits_the_head(three: Database) -> None:
    with three.write() as session:
        entry = session.get_one(AuditEntry, 3)
        entry.target = "rule-9"
        entry.hash = audit.entry_hash(entry)
    assert report(three).why == "the newest entries were removed"


def test_there_is_one_head(three: Database) -> None:
    with three.read() as session:
        assert session.get_one(AuditHead, 1).seq == 3
