"""The relay: from the outbox to Redis streams, at least once and in epoch order.

The outbox is the truth and Redis a hint: whatever is lost in Redis, readers find by the epoch. A stream entry's id is
``<epoch>-0``, so the server itself refuses what is not newer than the newest: sending twice changes nothing.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
import redis
import structlog
from redis.exceptions import DataError, RedisError, ResponseError
from sqlalchemy.exc import SQLAlchemyError

from storage.engine import Database
from storage.queries.relay import events_pending, namespaces_pending
from storage.relay import mark_refused, mark_relayed
from storage.runs import beat_heart
from storage.tables import OutboxEvent

log = structlog.get_logger()

WAKE_CHANNEL = "slowwave:wake"
BATCH = 100
STREAM_LENGTH = 10_000
GIVE_UP_AFTER = 5
LONGEST_WAIT_SECONDS = 5.0
HEART_SECONDS = 2.0
REST_SECONDS = 1.0


def stream_of(namespace: str) -> str:
    """The stream that holds the events of a namespace."""
    return f"slowwave:events:{namespace}"


def connect(url: str) -> redis.Redis:
    """A client with limits on every wait: a server that hangs must not hang the relay."""
    return redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=2, health_check_interval=15)


@dataclass
class Passed:
    """What one look at the outbox did."""

    sent: int = 0
    refused: int = 0


class Relay:
    """Looks at the outbox again and again. One instance a process; two relays at once are harmless."""

    def __init__(self, database: Database, client: redis.Redis, *, ready_file: Path | None = None) -> None:
        self._database = database
        self._client = client
        self._ready_file = ready_file
        self._ready = False
        self._rests_until: dict[str, float] = {}

    def pass_once(self) -> Passed:
        """Send what waits. A namespace whose stream refuses is left for the next pass, and the others go on.

        Raises:
            redis.exceptions.ConnectionError, TimeoutError: if Redis does not answer; nothing is marked as sent.
        """
        passed = Passed()
        with self._database.read() as session:
            pending = namespaces_pending(session)
        for namespace in pending:
            if self._rests_until.get(namespace, 0) <= time.monotonic():
                self._pass_namespace(namespace, passed)
        return passed

    def _pass_namespace(self, namespace: str, passed: Passed) -> None:
        with self._database.read() as session:
            events = events_pending(session, namespace, BATCH)
        done: list[int] = []
        try:
            for event in events:
                self._send(event)
                done.append(event.epoch)
            self._client.publish(WAKE_CHANNEL, namespace)
        except (DataError, ResponseError, TypeError) as error:
            if isinstance(error, ResponseError) and not str(error).startswith("WRONGTYPE"):
                raise  # the server's own trouble (disk full, read-only, loading): no fault of this event
            self._refuse(events[len(done)], error, passed)
        finally:
            self._mark(namespace, done)
            passed.sent += len(done)

    def _send(self, event: OutboxEvent) -> None:
        fields = {"epoch": event.epoch, "changes": orjson.dumps(event.changes), "at": event.created_at.isoformat()}
        key = stream_of(event.namespace)
        try:
            self._client.xadd(key, fields, id=f"{event.epoch}-0", maxlen=STREAM_LENGTH, approximate=True)  # type: ignore[arg-type]
        except ResponseError as error:
            # The server refuses an id that is not newer than the newest: this event was sent before.
            if "equal or smaller" not in str(error):
                raise

    def _refuse(self, event: OutboxEvent, error: Exception, passed: Passed) -> None:
        passed.refused += 1
        reason = f"{type(error).__name__}: {error}"
        with self._database.write() as session:
            given_up = mark_refused(session, event.namespace, event.epoch, reason, GIVE_UP_AFTER)
        self._rests_until[event.namespace] = time.monotonic() + REST_SECONDS * event.attempts
        how = log.error if given_up else log.warning
        how("relay.refused", namespace=event.namespace, epoch=event.epoch, error=reason, given_up=given_up)

    def _mark(self, namespace: str, epochs: Sequence[int]) -> None:
        if epochs:
            with self._database.write() as session:
                mark_relayed(session, namespace, epochs)

    def heart(self, state: str) -> None:
        """Tell that the relay is alive, and whether Redis answers."""
        with self._database.write() as session:
            beat_heart(session, "relay", {"redis": state})
        if self._ready_file is not None and not self._ready:
            self._ready_file.write_text("ready\n")
            self._ready = True

    def run(self, stop: threading.Event, *, every_seconds: float) -> None:
        """Pass until ``stop`` is set. Where Redis or the database does not answer, wait longer each time, up to 5 s."""
        failures, since_heart = 0, HEART_SECONDS
        while not stop.is_set():
            try:
                if since_heart >= HEART_SECONDS:
                    self._client.ping()
                    self.heart("ok")
                    since_heart = 0.0
                busy = self.pass_once().sent >= BATCH
                failures = self._recovered(failures)
            except (RedisError, SQLAlchemyError, OSError) as error:
                failures, busy = failures + 1, False
                self._trouble(error, failures)
            wait = 0.0 if busy else _wait(every_seconds, failures)
            since_heart += wait
            stop.wait(wait)

    def _recovered(self, failures: int) -> int:
        if failures:
            log.info("relay.recovered", failures=failures)
        return 0

    def _trouble(self, error: Exception, failures: int) -> None:
        if failures in (1, 10) or failures % 100 == 0:
            log.warning("relay.waiting", error=f"{type(error).__name__}: {error}", failures=failures)
        if isinstance(error, RedisError):
            try:
                self.heart("down")
            except SQLAlchemyError:
                log.warning("relay.heart_failed")


def _wait(every_seconds: float, failures: int) -> float:
    if not failures:
        return every_seconds
    # Spread, so that many relays do not come back in one moment.
    return min(LONGEST_WAIT_SECONDS, every_seconds * 2 ** min(failures, 10)) * random.uniform(0.5, 1)  # noqa: S311
