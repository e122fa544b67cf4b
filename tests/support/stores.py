"""A fresh, migrated store for each test, on both databases. Migrations run once a session; a test gets a copy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

from storage import migrate
from storage.engine import Database
from support.servers import PostgresServer

_numbers = count(1)


class ResetDatabase:
    """One migrated PostgreSQL database that every test gets as the migrations left it.

    Copying a template takes half a second; emptying the tables, some milliseconds. What the migrations wrote is kept in
    a schema beside and put back. Connections a test left open are ended first, so that nothing leaks into the next.
    """

    NAME = "tests"

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.url = server.create(self.NAME)
        _migrate(self.url)
        self._tables = [name for (name,) in self._run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        self._run("CREATE SCHEMA seed", *(f'CREATE TABLE seed."{name}" AS TABLE "{name}"' for name in self._tables))

    def reset(self) -> None:
        """Back to what the migrations left."""
        self._run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()",
            "SET session_replication_role = replica",  # foreign keys are not looked at while tables are emptied
            *(f'DELETE FROM "{name}"' for name in self._tables),
            *(f'INSERT INTO "{name}" SELECT * FROM seed."{name}"' for name in self._tables),
        )

    def _run(self, *statements: str) -> list[tuple[Any, ...]]:
        return self.server.run(*(sql.SQL(each) for each in statements), database=self.NAME)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def migrated_sqlite_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy."""
    path = tmp_path_factory.mktemp("template") / "slowwave.db"
    _migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def migrated_postgres(postgres_server: PostgresServer) -> ResetDatabase:
    """The migrated database that tests share, one after the other."""
    return ResetDatabase(postgres_server)


def _migrate(url: str) -> None:
    database = Database(url)
    migrate.upgrade(database)
    database.dispose()


@pytest.fixture(scope="session")
def sqlite_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The engine of the one place where tests have their SQLite store: what it compiled once is compiled for all."""
    yield from _opened(f"sqlite:///{tmp_path_factory.mktemp('store')}/slowwave.db")


@pytest.fixture(scope="session")
def postgres_store(migrated_postgres: ResetDatabase) -> Iterator[Database]:
    """The engine of the PostgreSQL database that tests share."""
    yield from _opened(migrated_postgres.url)


@pytest.fixture
def sqlite_url(migrated_sqlite_file: Path, sqlite_store: Database) -> str:
    """URL of a fresh, migrated SQLite store. Its files are new: whoever has the ones before still open is alone."""
    path = Path(sqlite_store.url.removeprefix("sqlite:///"))
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    shutil.copy(migrated_sqlite_file, path)
    return sqlite_store.url


@pytest.fixture
def postgres_url(migrated_postgres: ResetDatabase) -> str:
    """URL of a migrated PostgreSQL store, as fresh as new."""
    migrated_postgres.reset()
    return migrated_postgres.url


@pytest.fixture
def sqlite_database(sqlite_url: str, sqlite_store: Database) -> Iterator[Database]:
    """A fresh, migrated SQLite store."""
    sqlite_store.dispose()
    yield sqlite_store
    sqlite_store.dispose()


@pytest.fixture
def postgres_database(postgres_url: str, postgres_store: Database) -> Iterator[Database]:
    """A fresh, migrated PostgreSQL store."""
    postgres_store.dispose()
    yield postgres_store
    postgres_store.dispose()


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Database:
    """A fresh, migrated store; the test runs once on each database."""
    return request.getfixturevalue(f"{request.param}_database")


@pytest.fixture(params=["sqlite", "postgres"])
def empty_database(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A store without any table, on each database."""
    if request.param == "sqlite":
        yield from _opened(f"sqlite:///{request.getfixturevalue('tmp_path')}/empty.db")
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name = f"empty_{next(_numbers)}"
    yield from _opened(server.create(name))
    server.drop(name)


def _opened(url: str) -> Iterator[Database]:
    database = Database(url)
    yield database
    database.dispose()


@pytest.fixture
def secret() -> bytes:
    """The key behind keyed hashes."""
    return b"a secret for tests, 32 bytes long"


@pytest.fixture
def now() -> datetime:
    """The time that tests pass where code takes one."""
    return datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
