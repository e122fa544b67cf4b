from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
import redis

from storage import outbox
from storage.engine import Database
from storage.episodes import ensure_namespace
from storage.queries.relay import events_pending, events_pending_count
from storage.queries.runs import heartbeat_of
from support.processes import wait_until
from support.servers import RedisServer, short_folder
from worker.relay import GIVE_UP_AFTER, WAKE_CHANNEL, Relay, connect, stream_of

NAMESPACE = "acme/support"


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[redis.Redis]:
    with connect(redis_server.socket_url) as made:
        made.flushall()
        yield made


@pytest.fixture
def publish(database: Database, now):
    def publish(namespace: str = NAMESPACE, times: int = 1) -> None:
        for _ in range(times):
            with database.write() as session:
                ensure_namespace(session, namespace, now)
                outbox.publish(session, namespace, [outbox.change("promoted", "rule-a", 1, "why")], now)

    return publish


def entries(client: redis.Redis, namespace: str = NAMESPACE) -> list[tuple[str, dict[str, str]]]:
    rows = client.xrange(stream_of(namespace))
    return [(name.decode(), {key.decode(): value.decode() for key, value in fields.items()}) for name, fields in rows]


def waiting(database: Database) -> int:
    with database.read() as session:
        return events_pending_count(session)


def test_an_event_is_sent_under_its_epoch_with_its_changes(database: Database, client, publish) -> None:
    publish(times=2)
    assert Relay(database, client).pass_once().sent == 2
    found = entries(client)
    assert [name for name, _ in found] == ["1-0", "2-0"]
    change = {"event": "promoted", "rule": "rule-a", "version": 1, "reason": "why"}
    assert orjson.loads(found[0][1]["changes"]) == [change]
    assert waiting(database) == 0


def test_sending_wakes_the_readers(database: Database, client, publish) -> None:
    listener = client.pubsub(ignore_subscribe_messages=True)
    listener.subscribe(WAKE_CHANNEL)
    publish()
    Relay(database, client).pass_once()
    heard = wait_until("a wake-up", lambda: listener.get_message(timeout=0.1))
    assert heard["data"] == NAMESPACE.encode()
    listener.close()


def test_an_event_sent_before_a_crash_is_not_sent_twice(database: Database, client, publish) -> None:
    publish()
    client.xadd(stream_of(NAMESPACE), {"epoch": 1}, id="1-0")
    publish()
    Relay(database, client).pass_once()
    assert [name for name, _ in entries(client)] == ["1-0", "2-0"]
    assert waiting(database) == 0


def test_two_relays_at_once_send_each_event_once_and_in_order(database: Database, client, publish) -> None:
    publish(times=30)
    relays = [Relay(database, client), Relay(database, client)]
    threads = [threading.Thread(target=relay.pass_once) for relay in relays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [name for name, _ in entries(client)] == [f"{epoch}-0" for epoch in range(1, 31)]
    assert waiting(database) == 0


def test_a_namespace_that_refuses_does_not_hold_up_the_others(database: Database, client, publish) -> None:
    client.set(stream_of("acme/broken"), "no stream")
    publish("acme/broken")
    publish("acme/whole")
    passed = Relay(database, client).pass_once()
    assert (passed.sent, passed.refused) == (1, 1)
    assert len(entries(client, "acme/whole")) == 1


def test_an_event_that_is_refused_again_and_again_is_given_up(database: Database, client, publish) -> None:
    client.set(stream_of(NAMESPACE), "no stream")
    publish()
    for _ in range(GIVE_UP_AFTER):
        # A new relay does not remember that the namespace should rest.
        Relay(database, client).pass_once()
    assert waiting(database) == 0
    client.delete(stream_of(NAMESPACE))
    publish()
    Relay(database, client).pass_once()
    assert [name for name, _ in entries(client)] == ["2-0"]


def test_a_refused_event_keeps_the_reason(database: Database, client, publish) -> None:
    client.set(stream_of(NAMESPACE), "no stream")
    publish()
    Relay(database, client).pass_once()
    with database.read() as session:
        event = events_pending(session, NAMESPACE, 1)[0]
    assert event.attempts == 1
    assert "WRONGTYPE" in (event.last_error or "")


def test_nothing_is_lost_while_redis_is_down(sqlite_database: Database, now, tmp_path: Path) -> None:
    server = RedisServer(short_folder())
    database = sqlite_database
    with database.write() as session:
        ensure_namespace(session, NAMESPACE, now)
        outbox.publish(session, NAMESPACE, [], now)
    stop, ready = threading.Event(), tmp_path / "ready"
    client = connect(server.socket_url)
    relay = Relay(database, client, ready_file=ready)
    thread = threading.Thread(target=relay.run, args=(stop,), kwargs={"every_seconds": 0.02})
    thread.start()
    try:
        wait_until("the relay says that Redis is down", lambda: heart(database) == "down")
        assert waiting(database) == 1
        server.start()
        wait_until("the outbox drains", lambda: waiting(database) == 0)
        wait_until("the relay says that it is ready", ready.exists)
        wait_until("the relay says that Redis answers", lambda: heart(database) == "ok")
    finally:
        stop.set()
        thread.join()
        client.close()
        server.stop()


def heart(database: Database) -> str | None:
    with database.read() as session:
        found = heartbeat_of(session, "relay")
    return str(found.detail.get("redis")) if found else None
