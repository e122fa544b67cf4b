"""The agents' side over a store whose rules were promoted and revoked by real decisions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from sqlmodel import SQLModel, select
from starlette.testclient import TestClient

from read_api.app import create_app
from read_api.notifier import Notifier
from read_api.server import StreamServer
from read_api.wake import RedisWake
from storage.engine import Database
from storage.people import add_token
from storage.settings import Settings
from support.processes import free_port, wait_until
from support.reviewing import Desk, Found, finding
from support.servers import RedisServer

SPACE = "acme/shop"
TokenMaker = Callable[..., str]


@dataclass(frozen=True)
class Connected:
    """The databases of an app: the agents' side, and what takes episodes in."""

    reader: Database
    ingest: Database


@pytest.fixture
def now() -> datetime:
    """The clock of the store is the real one here: leases and expiries are compared with it."""
    return datetime.now(UTC)


@pytest.fixture
def desk(database: Database, now: datetime, secret: bytes) -> Desk:
    """A namespace with reviewers."""
    return Desk(database, now, secret, SPACE).open("ana", "bo")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings whose Redis is nowhere: events come from the outbox alone."""
    return Settings(home=tmp_path, redis_url="redis://127.0.0.1:1/0", secret_key="k" * 40, lease_seconds=3)


@pytest.fixture
def make_token(database: Database, now: datetime) -> TokenMaker:
    """Make a token; returns what goes into the header."""

    def make(role: str = "agent", *namespaces: str, **given: object) -> str:
        with database.write() as session:
            _, token = add_token(session, role=role, namespaces=namespaces or ("acme",), now=now, **given)  # type: ignore[arg-type]
        return token

    return make


@pytest.fixture
def connected(database: Database, request: pytest.FixtureRequest) -> Connected:
    """What the app is connected as. On PostgreSQL the roles that are given no table, or none that promotes anything."""
    if database.dialect == "sqlite":
        return Connected(database, database)
    return Connected(request.getfixturevalue("reader_store"), request.getfixturevalue("ingest_store"))


@pytest.fixture
def app(settings: Settings, connected: Connected) -> Iterator[FastAPI]:
    """The app with a notifier that is not started: nothing runs behind a request."""
    made = create_app(settings, connected.reader, Notifier(connected.reader), ingest=connected.ingest)
    yield made
    made.state.site.notifier.close()


@pytest.fixture
def api(app: FastAPI, make_token: TokenMaker) -> TestClient:
    """Requests with an agent's token."""
    return TestClient(app, headers={"Authorization": f"Bearer {make_token()}"}, raise_server_exceptions=False)


@pytest.fixture
def rows(database: Database) -> Callable[..., list[SQLModel]]:
    """Everything in a table."""

    def read(table: type[SQLModel]) -> list[SQLModel]:
        with database.read() as session:
            return list(session.exec(select(table)).all())

    return read


@contextmanager
def serving(settings: Settings, connected: Connected, port: int | None = None) -> Iterator[str]:
    """A real server on loopback, in a thread of its own; gives its address."""
    notifier = Notifier(connected.reader, RedisWake(settings.resolved_redis_url))
    app = create_app(settings, connected.reader, notifier, ingest=connected.ingest)
    number = port or free_port()
    config = uvicorn.Config(app, host="127.0.0.1", port=number, log_level="warning", lifespan="on", ws="none")
    server = StreamServer(config, notifier)
    thread = threading.Thread(target=server.run, name="test-server")
    thread.start()
    try:
        wait_until("the server listens", lambda: server.started, seconds=10)
        yield f"http://127.0.0.1:{number}"
    finally:
        server.should_exit = True
        thread.join(timeout=15)
        assert not thread.is_alive(), "the server did not stop"


@pytest.fixture
def address(settings: Settings, connected: Connected) -> Iterator[str]:
    """A real server without Redis."""
    with serving(settings, connected) as url:
        yield url


@pytest.fixture
def redis_settings(settings: Settings, redis_server: RedisServer) -> Settings:
    """Settings with a real Redis."""
    return settings.model_copy(update={"redis_url": redis_server.url})


@pytest.fixture
def found(desk: Desk) -> Found:
    """A finding to promote: runs that cancel an order tend to fail."""
    return finding(desk, "cancel_order", tasks=3)


@pytest.fixture
def rule_id(desk: Desk, found: Found) -> str:
    """A promoted rule."""
    return desk.promoted(found)[0]
