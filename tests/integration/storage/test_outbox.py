"""Epochs: one transaction, one number, and commit order is epoch order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
from sqlmodel import Session, col, select

from storage.engine import Database
from storage.outbox import NamespaceUnknown, change, lock_namespace, publish
from storage.tables import Namespace, OutboxEvent
from support import rows


@pytest.fixture
def space(database: Database) -> Database:
    """A store with one namespace."""
    with database.write() as session:
        session.add(rows.namespace())
    return database


def events(session: Session, after: int = 0) -> list[OutboxEvent]:
    statement = select(OutboxEvent).where(col(OutboxEvent.epoch) > after).order_by(col(OutboxEvent.epoch))
    return list(session.exec(statement))


def test_one_transaction_takes_one_epoch_and_tells_every_change(space: Database, now: datetime) -> None:
    changes = [change("revoked", "rule-1", 2, "wrong"), change("quarantined", "rule-2", 1, "leans on rule-1")]
    with space.write() as session:
        assert publish(session, rows.SPACE, changes, now) == 1
    with space.read() as session:
        (event,) = events(session)
        assert (event.epoch, event.changes, event.relayed_at) == (1, changes, None)
        assert session.get_one(Namespace, rows.SPACE).epoch == 1


def test_a_transaction_that_fails_takes_no_epoch(space: Database, now: datetime) -> None:
    with pytest.raises(RuntimeError), space.write() as session:
        publish(session, rows.SPACE, [change("promoted", "rule-1", 1)], now)
        raise RuntimeError
    with space.write() as session:
        assert publish(session, rows.SPACE, [change("promoted", "rule-2", 1)], now) == 1
    with space.read() as session:
        assert [event.changes[0]["rule"] for event in events(session)] == ["rule-2"]


def test_each_namespace_counts_for_itself(space: Database, now: datetime) -> None:
    with space.write() as session:
        session.add(rows.namespace("other"))
    with space.write() as session:
        publish(session, rows.SPACE, [], now)
        assert publish(session, "other", [], now) == 1


def test_an_unknown_namespace_is_named(space: Database, now: datetime) -> None:
    with pytest.raises(NamespaceUnknown, match="'nowhere' is unknown"), space.write() as session:
        publish(session, "nowhere", [], now)
    with pytest.raises(NamespaceUnknown, match="'nowhere' is unknown"), space.write() as session:
        lock_namespace(session, "nowhere")


def test_concurrent_publishers_leave_no_gap_and_no_double(space: Database, now: datetime) -> None:
    def take(writer: int) -> int:
        with space.write() as session:
            return publish(session, rows.SPACE, [change("promoted", f"rule-{writer}", 1)], now)

    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(take, range(60)))
    assert sorted(taken) == list(range(1, 61))


def test_a_reader_never_sees_an_epoch_before_the_ones_below_it(space: Database, now: datetime) -> None:
    """The guarantee behind streams: whoever has seen epoch n can never be given something below n later."""

    def write(writer: int) -> None:
        for number in range(12):
            with space.write() as session:
                publish(session, rows.SPACE, [change("promoted", f"rule-{writer}-{number}", 1)], now)

    with ThreadPoolExecutor(6) as pool:
        writing = [pool.submit(write, writer) for writer in range(5)]
        seen, newest = 0, 0
        while not all(future.done() for future in writing) or newest < 60:
            with space.read() as session:
                fresh = [event.epoch for event in events(session, newest)]
            assert fresh == list(range(newest + 1, newest + 1 + len(fresh)))
            seen, newest = seen + len(fresh), max([newest, *fresh])
        for future in writing:
            future.result()
    assert (seen, newest) == (60, 60)


def test_a_held_namespace_makes_the_next_publisher_wait(postgres_database: Database, now: datetime) -> None:
    with postgres_database.write() as session:
        session.add(rows.namespace())

    def take() -> int:
        with postgres_database.write() as session:
            return publish(session, rows.SPACE, [], now)

    with ThreadPoolExecutor(1) as pool:
        with postgres_database.write() as session:
            assert lock_namespace(session, rows.SPACE) == 0
            waiting = pool.submit(take)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.3)
            assert publish(session, rows.SPACE, [], now) == 1
        assert waiting.result(timeout=10) == 2


def test_a_held_namespace_lets_rows_pass_that_only_refer_to_it(postgres_database: Database) -> None:
    with postgres_database.write() as session:
        session.add(rows.namespace())
    with postgres_database.write() as holder:
        lock_namespace(holder, rows.SPACE)
        with postgres_database.write() as other:
            rows.add(other, rows.episode("ep-1"))
