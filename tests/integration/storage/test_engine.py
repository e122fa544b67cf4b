"""Sessions: one block, one transaction; times are aware; writers wait for each other instead of failing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, StatementError
from sqlmodel import col, select

from storage.engine import Database, database_now
from storage.tables import Namespace, WebSession
from support import rows


def test_a_write_block_commits_at_its_end(database: Database) -> None:
    with database.write() as session:
        session.add(rows.namespace())
    with database.read() as session:
        assert session.get(Namespace, rows.SPACE) is not None


def test_a_write_block_that_raises_leaves_nothing(database: Database) -> None:
    with pytest.raises(RuntimeError, match="changed my mind"), database.write() as session:
        rows.add(session, rows.namespace())
        raise RuntimeError("changed my mind")
    with database.read() as session:
        assert session.get(Namespace, rows.SPACE) is None


def test_what_a_read_block_writes_is_rolled_back(database: Database) -> None:
    with database.read() as session:
        rows.add(session, rows.namespace())
    with database.read() as session:
        assert session.get(Namespace, rows.SPACE) is None


def test_foreign_keys_are_enforced(database: Database) -> None:
    times = {"created_at": rows.AT, "last_seen_at": rows.AT, "expires_at": rows.AT}
    orphan = WebSession(id="s", user_id="nobody", csrf_token="t", **times)
    with pytest.raises(IntegrityError), database.write() as session:
        session.add(orphan)


def test_a_naive_time_is_refused(database: Database) -> None:
    with pytest.raises(StatementError, match="naive datetime"), database.write() as session:
        session.add(Namespace(path="acme", created_at=datetime(2026, 11, 30)))  # noqa: DTZ001 - the point of the test


def test_times_come_back_aware_and_in_utc_to_the_microsecond(database: Database) -> None:
    elsewhere = datetime(2026, 11, 30, 5, 4, 3, 123456, tzinfo=timezone(timedelta(hours=2)))
    with database.write() as session:
        session.add(Namespace(path="acme", created_at=elsewhere))
    with database.read() as session:
        loaded = session.exec(select(Namespace)).one().created_at
    assert loaded == elsewhere
    assert loaded.tzinfo is UTC


def test_times_compare_in_the_database_whatever_zone_they_came_in(database: Database) -> None:
    early = datetime(2026, 11, 30, 9, 0, tzinfo=timezone(timedelta(hours=9)))  # midnight UTC
    with database.write() as session:
        session.add(Namespace(path="acme", created_at=early))
    with database.read() as session:
        before = select(Namespace).where(col(Namespace.created_at) < datetime(2026, 11, 30, 1, 0, tzinfo=UTC))
        assert session.exec(before).one_or_none() is not None


def test_the_database_tells_the_time_aware_and_moving(database: Database) -> None:
    with database.read() as session:
        first = database_now(session)
        second = database_now(session)
    assert first.tzinfo is not None
    assert second >= first
    assert abs(second - datetime.now(UTC)) < timedelta(seconds=5)


def test_concurrent_writers_wait_for_each_other(database: Database) -> None:
    with database.write() as session:
        session.add(rows.namespace())

    def increment(_: int) -> None:
        with database.write() as session:
            # Read first, then write: on SQLite a transaction that upgrades would fail at once.
            row = session.exec(select(Namespace).with_for_update()).one()
            row.epoch += 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(increment, range(80)))
    with database.read() as session:
        assert session.exec(select(Namespace)).one().epoch == 80


def test_sqlite_readers_are_not_kept_waiting_by_a_writer(sqlite_database: Database) -> None:
    with sqlite_database.write() as writer, sqlite_database.read() as reader:
        rows.add(writer, rows.namespace())
        assert reader.get(Namespace, rows.SPACE) is None


def test_sqlite_runs_in_wal_mode(sqlite_database: Database) -> None:
    with sqlite_database.read() as session:
        assert session.connection().exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"


def test_postgres_cuts_a_statement_that_runs_too_long(postgres_database: Database) -> None:
    with postgres_database.read() as session:
        assert session.connection().execute(sa.text("SHOW statement_timeout")).scalar_one() == "30s"


def test_whoever_acts_for_a_token_reads_without_writing_and_writes_where_it_says_so(database: Database) -> None:
    acting = database.acting("hash")
    with pytest.raises(DBAPIError, match=r"readonly|read-only"), acting.read() as session:
        rows.add(session, rows.namespace())
    with acting.write() as session:
        session.add(rows.namespace())
    with pytest.raises(DBAPIError), acting.read() as session:
        session.execute(sa.delete(Namespace))
    with database.write() as session:  # the same connection, from the pool
        session.execute(sa.update(Namespace).values(epoch=3))
    with acting.read() as session:
        assert session.get_one(Namespace, rows.SPACE).epoch == 3


def test_what_a_transaction_is_for_is_forgotten_with_it(postgres_database: Database) -> None:
    said = sa.text("SELECT current_setting('slowwave.token', true), current_setting('slowwave.namespace', true)")
    with postgres_database.acting("one", "two").read() as session:
        assert session.execute(said).one()[0] == "one,two"
    with postgres_database.within("acme").write() as session:
        assert session.execute(said).one() == ("", "acme")
    with postgres_database.read() as session:
        assert [value or "" for value in session.execute(said).one()] == ["", ""]
