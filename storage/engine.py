"""The one way to a database: SQLite in WAL mode or PostgreSQL, short transactions, commit at the boundary."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlmodel import Session

WRITE = "slowwave_write"
PATIENCE = "slowwave_patience_ms"
READ_ONLY = "slowwave_read_only"
TOKEN = "slowwave_token"  # noqa: S105 - the name of an option
NAMESPACE = "slowwave_namespace"
BUSY_TIMEOUT_MS = 10_000
STATEMENT_TIMEOUT_MS = 30_000


class Database:
    """An engine and its two kinds of session.

    ``write()`` commits when its block ends and rolls back when it raises. On SQLite it begins IMMEDIATE, since a read
    transaction that upgrades fails at once where another writer is; ``read()`` never takes the write lock.
    """

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        self.url = url
        self.dialect = sa.make_url(url).get_backend_name()
        self.engine = _sqlite_engine(url) if self.dialect == "sqlite" else _postgres_engine(url, pool_size)
        self._reader = self.engine
        self._writer = self.engine.execution_options(**{WRITE: True})

    def acting(self, *token_hashes: str) -> Database:
        """The same database for whoever holds these tokens: its ``read()`` refuses to write.

        On PostgreSQL every transaction names them, and a connection of the role ``slowwave_reader`` sees what those of
        them that are live cover. It shares the connections; what is disposed is disposed for both.
        """
        twin = copy.copy(self)
        named = {TOKEN: ",".join(token_hashes)}
        twin._reader = self._reader.execution_options(**{**named, READ_ONLY: True})
        twin._writer = self._writer.execution_options(**named)
        return twin

    def within(self, namespace: str) -> Database:
        """The same database for work on one namespace: all that the role ``slowwave_worker`` then sees the content of.

        No more than a name in each transaction to SQLite, and to a role that row-level security is not for.
        """
        twin = copy.copy(self)
        twin._reader = self._reader.execution_options(**{NAMESPACE: namespace})
        twin._writer = self._writer.execution_options(**{NAMESPACE: namespace})
        return twin

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that only reads; what it holds is rolled back at the end."""
        with Session(self._reader, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self, *, patience_ms: int | None = None) -> Iterator[Session]:
        """A session whose block is one transaction.

        ``patience_ms`` is for what may as well not be written: how long to wait for another writer before it raises.
        """
        writer = self._writer
        if patience_ms is not None:
            writer = writer.execution_options(**{PATIENCE: patience_ms})
        with Session(writer, expire_on_commit=False) as session, session.begin():
            if patience_ms is not None and self.dialect == "postgresql":
                session.connection().exec_driver_sql(f"SET LOCAL lock_timeout = {int(patience_ms)}")
            yield session

    def dispose(self) -> None:
        """Close every pooled connection: after a fork, at shutdown."""
        self.engine.dispose()


def database_now(session: Session) -> datetime:
    """The database's clock, UTC: the only clock that ledger leases use."""
    if session.get_bind().dialect.name == "sqlite":
        text = session.connection().exec_driver_sql("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')").scalar_one()
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    value: datetime = session.connection().exec_driver_sql("SELECT clock_timestamp()").scalar_one()
    return value.astimezone(UTC)


def _sqlite_engine(url: str) -> sa.Engine:
    path = sa.make_url(url).database
    if path and path != ":memory:":
        Path(path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    engine = sa.create_engine(url, connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000})

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: Any) -> None:
        # The driver's own transaction handling would begin late and deferred: we begin ourselves.
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", f"busy_timeout={BUSY_TIMEOUT_MS}"):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        options = connection.get_execution_options()
        query_only = bool(options.get(READ_ONLY, False)) and not options.get(WRITE, False)
        if connection.info.get(READ_ONLY, False) != query_only:
            connection.exec_driver_sql(f"PRAGMA query_only={'ON' if query_only else 'OFF'}")
            connection.info[READ_ONLY] = query_only
        patience = int(options.get(PATIENCE, BUSY_TIMEOUT_MS))
        if patience != BUSY_TIMEOUT_MS:
            connection.exec_driver_sql(f"PRAGMA busy_timeout={patience}")
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(WRITE, False) else "BEGIN")
        finally:
            if patience != BUSY_TIMEOUT_MS:
                connection.exec_driver_sql(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")

    return engine


def _postgres_engine(url: str, pool_size: int) -> sa.Engine:
    # Without jit: it takes what is steps through an index for a great query, and compiles longer than that runs.
    options = f"-c statement_timeout={STATEMENT_TIMEOUT_MS} -c timezone=UTC -c jit=off"
    engine = sa.create_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=True,
        connect_args={"options": options, "connect_timeout": 5},
    )

    @event.listens_for(engine, "begin")
    def _name(connection: sa.Connection) -> None:
        # Of this transaction alone, and as parameters: neither the next one nor the server's list of statements has it.
        options = connection.get_execution_options()
        said = {
            f"slowwave.{name}": options[key]
            for name, key in (("token", TOKEN), ("namespace", NAMESPACE))
            if key in options
        }
        if options.get(READ_ONLY, False) and not options.get(WRITE, False):
            said["transaction_read_only"] = "on"
        if said:
            calls = ", ".join(["set_config(%s, %s, true)"] * len(said))
            connection.exec_driver_sql(f"SELECT {calls}", tuple(each for pair in said.items() for each in pair))

    return engine
