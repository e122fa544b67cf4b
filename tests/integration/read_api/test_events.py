"""The event stream of a real server: what was missed, what comes, and what ends it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlmodel import select

from slowwave_client._impl.sse import EventParser
from storage.engine import Database
from storage.ids import token_hash
from storage.outbox import change, publish
from storage.settings import Settings
from storage.tables import ApiToken, OutboxEvent
from support.reviewing import Desk
from support.servers import RedisServer, short_folder
from worker.relay import Relay, connect

from .conftest import SPACE, Connected, serving

Events = Iterator[tuple[str, str, dict[str, Any]]]


@contextmanager
def stream(address: str, token: str, last: str | None = None) -> Iterator[Events]:
    """An open stream as (kind, id, data)."""
    headers = {"Authorization": f"Bearer {token}"} | ({"Last-Event-ID": last} if last is not None else {})
    with httpx.stream(
        "GET", f"{address}/v1/events", params={"namespace": SPACE}, headers=headers, timeout=10
    ) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        parser = EventParser()
        yield ((e.kind, e.id, json.loads(e.data)) for chunk in answer.iter_raw() for e in parser.feed(chunk))


def wait_for(events: Events, kind: str) -> tuple[str, str, dict[str, Any]]:
    return next(event for event in events if event[0] == kind)


def announce(database: Database, now: datetime, count: int = 1) -> None:
    """Events of a rule that nobody caches."""
    for _ in range(count):
        with database.write() as session:
            publish(session, SPACE, [change("expired", "some-rule", 1)], now)


def test_a_stream_greets_with_the_epoch_and_then_tells_each_change(
    address: str, desk: Desk, make_token: Callable[..., str], rule_id: str
) -> None:
    with stream(address, make_token()) as events:
        assert next(events) == ("hello", "1-0", {"namespace": SPACE, "epoch": 1, "lease_seconds": 3.0})
        desk.revoke(rule_id, reason="it misleads")
        kind, number, data = wait_for(events, "changes")
        assert (kind, number, data["epoch"]) == ("changes", "2-0", 2)
        assert data["changes"] == [{"event": "revoked", "rule": rule_id, "version": 1, "reason": "it misleads"}]


def test_a_stream_resumes_after_the_last_event_seen(
    address: str, desk: Desk, make_token: Callable[..., str], now: datetime
) -> None:
    announce(desk.database, now, 3)
    with stream(address, make_token(), last="1-0") as events:
        assert [next(events)[:2] for _ in range(3)] == [("changes", "2-0"), ("changes", "3-0"), ("hello", "3-0")]


def test_what_is_too_old_to_resume_is_a_resync(
    address: str, desk: Desk, make_token: Callable[..., str], now: datetime
) -> None:
    announce(desk.database, now, 3)
    with desk.database.write() as session:
        session.delete(session.get_one(OutboxEvent, (SPACE, 2)))
    with stream(address, make_token(), last="1-0") as events:
        kind, number, data = next(events)
        assert (kind, number, data["epoch"]) == ("resync", "3-0", 3)


def test_a_resume_from_what_the_store_never_came_to_is_a_resync(
    address: str, desk: Desk, make_token: Callable[..., str], rule_id: str
) -> None:
    with stream(address, make_token(), last="7-0") as events:
        kind, number, data = next(events)
        assert (kind, number, data["epoch"]) == ("resync", "1-0", 1)
        assert next(events)[0] == "hello"


def test_a_resume_that_cannot_be_read_is_a_resync(
    address: str, desk: Desk, make_token: Callable[..., str], now: datetime
) -> None:
    with stream(address, make_token(), last="yesterday") as events:
        assert next(events)[0] == "resync"


def test_a_silent_stream_beats_with_the_age_of_what_it_knows(
    address: str, desk: Desk, make_token: Callable[..., str]
) -> None:
    with stream(address, make_token()) as events:
        _, _, data = wait_for(events, "heartbeat")
        assert data["epoch"] == 0
        assert 0 <= data["age_seconds"] < 5


def test_a_token_that_is_revoked_loses_its_open_stream(
    address: str, desk: Desk, make_token: Callable[..., str], now: datetime
) -> None:
    token = make_token()
    with stream(address, token) as events:
        next(events)
        with desk.database.write() as session:
            session.exec(select(ApiToken).where(ApiToken.token_hash == token_hash(token))).one().revoked_at = now
        dropped = wait_for(events, "dropped")[2]
        assert "token" in dropped["reason"]
        assert dropped["kind"] == "revoked"
        assert list(events) == []


def test_a_token_that_no_longer_covers_a_namespace_loses_its_stream_there(
    address: str, desk: Desk, make_token: Callable[..., str]
) -> None:
    token = make_token()
    with stream(address, token) as events:
        next(events)
        with desk.database.write() as session:
            row = session.exec(select(ApiToken).where(ApiToken.token_hash == token_hash(token))).one()
            row.namespaces = [f"{SPACE}1"]
        assert wait_for(events, "dropped")[2]["kind"] == "revoked"
        assert list(events) == []


def test_a_server_that_stops_tells_its_streams_and_does_not_wait_for_them(
    settings: Settings, connected: Connected, desk: Desk, make_token: Callable[..., str]
) -> None:
    server = serving(settings, connected)
    address = server.__enter__()
    with stream(address, make_token()) as events:
        next(events)
        began = time.monotonic()
        server.__exit__(None, None, None)
        assert time.monotonic() - began < 2.5
        assert wait_for(events, "dropped")[2]["reason"].startswith("the server is stopping")


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A Redis-compatible server that this test may stop."""
    server = RedisServer(short_folder())
    yield server.start()
    server.stop()


def test_events_come_by_redis_and_go_on_from_the_outbox_while_it_is_down(
    settings: Settings,
    connected: Connected,
    database: Database,
    desk: Desk,
    make_token: Callable[..., str],
    now: datetime,
    own_redis: RedisServer,
    tmp_path: Path,
) -> None:
    def told_within(seconds: float, events: Events, relay: Relay | None) -> int:
        began = time.monotonic()
        announce(database, now)
        if relay is not None:
            relay.pass_once()
        epoch = int(wait_for(events, "changes")[2]["epoch"])
        assert time.monotonic() - began < seconds
        return epoch

    settings = settings.model_copy(update={"redis_url": own_redis.url})
    with serving(settings, connected) as address, stream(address, make_token()) as events:
        next(events)
        with connect(own_redis.url) as client:
            assert told_within(1.0, events, Relay(database, client)) == 1
        own_redis.stop()
        assert told_within(3.0, events, None) == 2
        own_redis.start()
        assert told_within(3.0, events, None) == 3
