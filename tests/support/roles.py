"""Connections of the services' own roles to the PostgreSQL that tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from storage import grants
from storage.engine import Database
from support.stores import ResetDatabase


def as_role(url: str, role: str) -> str:
    """The same database, for another role."""
    return sa.make_url(url).set(username=role).render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def granted(migrated_postgres: ResetDatabase) -> ResetDatabase:
    """The shared PostgreSQL database with the grants put in place."""
    database = Database(migrated_postgres.url)
    grants.apply(database)
    database.dispose()
    return migrated_postgres


def _engine(granted: ResetDatabase, role: str) -> Iterator[Database]:
    database = Database(as_role(granted.url, role))
    yield database
    database.dispose()


@pytest.fixture(scope="session")
def reader_store(granted: ResetDatabase) -> Iterator[Database]:
    """The engine of the agents' side."""
    yield from _engine(granted, "slowwave_reader")


@pytest.fixture(scope="session")
def ingest_store(granted: ResetDatabase) -> Iterator[Database]:
    """The engine of what takes episodes in."""
    yield from _engine(granted, "slowwave_ingest")


@pytest.fixture(scope="session")
def reviewer_store(granted: ResetDatabase) -> Iterator[Database]:
    """The engine of the review pages."""
    yield from _engine(granted, "slowwave_reviewer")


@pytest.fixture(scope="session")
def worker_store(granted: ResetDatabase) -> Iterator[Database]:
    """The engine of worker, beat and relay."""
    yield from _engine(granted, "slowwave_worker")
