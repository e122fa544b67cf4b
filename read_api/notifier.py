"""One thread a process: reads the outbox past what it told, and fans it out to the open event streams.

The outbox is the truth; Redis only wakes. Streams never touch the database. A database that does not answer makes the
notifier stale, which readiness and every heartbeat say; it goes on by itself when the database is back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import orjson
from sqlalchemy.exc import SQLAlchemyError

from read_api.metrics import Metrics
from read_api.subscription import Item, Subscription
from read_api.wake import ClockWake, Wake
from storage.engine import Database
from storage.namespaces import namespace_allows
from storage.queries.readers import epochs_of, events_after
from storage.queries.tokens import live_tokens
from storage.tables import OutboxEvent

log = logging.getLogger("slowwave.read_api")

BATCH = 500
RECENT = 256
TOKENS_EVERY_SECONDS = 2.0


class _Channel:
    """A namespace that someone listens to: how far it was told, the last events, and who listens."""

    def __init__(self, cursor: int) -> None:
        self.cursor = cursor
        self.recent: deque[Item] = deque(maxlen=RECENT)
        self.subscribers: set[Subscription] = set()


class Notifier:
    """Started lazily by the first stream, or by the app; ``close`` ends every stream and the thread."""

    def __init__(
        self,
        database: Database,
        wake: Wake | None = None,
        metrics: Metrics | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database = database
        self._wake = wake or ClockWake()
        self.metrics = metrics or Metrics()
        self._clock = clock
        self._channels: dict[str, _Channel] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._last_read: float | None = None
        self._tokens_at = 0.0
        self.metrics.staleness.set_function(self.age_seconds)

    def start(self) -> None:
        """Start the thread, once."""
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._run, name="slowwave-notifier", daemon=True)
                self._thread.start()

    @property
    def running(self) -> bool:
        """Whether the thread was started and not closed."""
        return self._thread is not None and not self._stop.is_set()

    def age_seconds(self) -> float:
        """Since the outbox was last read; infinite before the first time."""
        return float("inf") if self._last_read is None else time.monotonic() - self._last_read

    def attach(self, namespace: str, after: int, token_id: str, token_hash: str = "") -> Subscription:
        """On the event loop: open a subscription that gets every event past ``after``, which was just read."""
        self.start()
        subscription = Subscription(namespace, token_id, token_hash)
        with self._lock:
            channel = self._channels.setdefault(namespace, _Channel(after))
            missed = [item for item in channel.recent if item.epoch > after]
            if channel.cursor > after and (not missed or missed[0].epoch > after + 1):
                missed = [_resync(channel.cursor, "events between were forgotten")]
            if self._stop.is_set():
                missed = [_dropped("the server is stopping; connect again")]
            subscription.deliver(missed)
            channel.subscribers.add(subscription)
            self._count()
        return subscription

    def detach(self, subscription: Subscription) -> None:
        """A stream is over."""
        with self._lock:
            channel = self._channels.get(subscription.namespace)
            if channel is not None:
                channel.subscribers.discard(subscription)
                if not channel.subscribers:
                    del self._channels[subscription.namespace]
            self._count()

    def close(self) -> None:
        """End every stream, telling it so, and the thread. Safe to call twice."""
        self.end_streams()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=10)
        self._wake.close()

    def end_streams(self) -> None:
        """End every stream without waiting: what a server does first when it is told to stop."""
        self._stop.set()
        with self._lock:
            channels = [(channel, list(channel.subscribers)) for channel in self._channels.values()]
        for _, subscribers in channels:
            self._fan_out(subscribers, [_dropped("the server is stopping; connect again")])

    def read_once(self) -> None:
        """Read what is new and tell the streams.

        Raises:
            SQLAlchemyError: the database does not answer; nothing was skipped.
        """
        with self._lock:
            cursors = {name: channel.cursor for name, channel in self._channels.items()}
            open_ones = [each for channel in self._channels.values() for each in channel.subscribers]
        with self._acting_for(open_ones).read() as session:
            epochs = epochs_of(session, cursors)
            found = {
                name: events_after(session, name, cursors[name], BATCH)
                for name, epoch in epochs.items()
                if epoch > cursors[name]
            }
        self._last_read = time.monotonic()
        for name, epoch in epochs.items():
            if epoch != cursors[name]:
                self._tell(name, cursors[name], epoch, list(found.get(name, [])))

    def _run(self) -> None:
        failing = False
        while not self._stop.is_set():
            try:
                self.read_once()
                self._end_refused()
                failing = False
            except SQLAlchemyError as problem:
                if not failing:
                    log.warning("notifier.stale kind=%s", type(problem).__name__)
                failing = True
            except Exception:  # the thread is all that invalidates: it must outlive any surprise
                log.exception("notifier.failed")
            self._wake.wait(self._stop)

    def _tell(self, namespace: str, cursor: int, epoch: int, events: list[OutboxEvent]) -> None:
        items = [_item(event) for event in events]
        if not items or items[0].epoch != cursor + 1:
            # the outbox no longer holds what comes next, or the store went back in time
            items = [_resync(epoch, "events between are gone")]
        with self._lock:
            channel = self._channels.get(namespace)
            if channel is None or channel.cursor != cursor:
                return
            channel.cursor = items[-1].epoch
            if items[0].kind == "resync":
                channel.recent.clear()
            channel.recent.extend(item for item in items if item.kind == "changes")
            subscribers = list(channel.subscribers)
        self._fan_out(subscribers, items)
        now = self._clock()
        for event in events:
            self.metrics.lag.observe(max(0.0, (now - event.created_at).total_seconds()))

    def _end_refused(self) -> None:
        """A token that was revoked, ran out, or no longer covers a namespace loses its open streams there."""
        if time.monotonic() < self._tokens_at:
            return
        self._tokens_at = time.monotonic() + TOKENS_EVERY_SECONDS
        with self._lock:
            open_ones = [each for channel in self._channels.values() for each in channel.subscribers]
        if not open_ones:
            return
        with self._acting_for(open_ones).read() as session:
            live = live_tokens(session, {each.token_id for each in open_ones}, self._clock())
        refused = [each for each in open_ones if not _may_listen(each, live)]
        self._fan_out(refused, [_dropped("this token may no longer be used here", "revoked")])

    def _acting_for(self, subscriptions: list[Subscription]) -> Database:
        """The database as all of these together may see it."""
        return self._database.acting(*sorted({each.token_hash for each in subscriptions} - {""}))

    def _fan_out(self, subscribers: list[Subscription], items: list[Item]) -> None:
        by_loop: defaultdict[object, list[Subscription]] = defaultdict(list)
        for subscription in subscribers:
            by_loop[subscription.loop].append(subscription)
        for group in by_loop.values():
            try:
                group[0].loop.call_soon_threadsafe(self._deliver, group, items)
            except RuntimeError:  # that loop was closed, its streams are gone
                for subscription in group:
                    self.detach(subscription)
        self.metrics.sent.inc(len(items) * len(subscribers))

    def _deliver(self, subscribers: list[Subscription], items: list[Item]) -> None:
        for subscription in subscribers:
            was_open = subscription.ended is None
            if not subscription.deliver(items) and was_open and items[-1].kind != "dropped":
                self.metrics.dropped.inc()

    def _count(self) -> None:
        self.metrics.subscribers.set(sum(len(channel.subscribers) for channel in self._channels.values()))


def _item(event: OutboxEvent) -> Item:
    data = {"namespace": event.namespace, "epoch": event.epoch, "changes": event.changes}
    return Item("changes", event.epoch, orjson.dumps(data))


def _resync(epoch: int, reason: str) -> Item:
    return Item("resync", epoch, orjson.dumps({"epoch": epoch, "reason": reason}))


def _may_listen(subscription: Subscription, live: Mapping[str, Sequence[str]]) -> bool:
    granted = live.get(subscription.token_id)
    return granted is not None and namespace_allows(granted, subscription.namespace)


def _dropped(reason: str, kind: str = "") -> Item:
    """``kind`` is ``revoked`` where connecting again is of no use."""
    return Item("dropped", 0, orjson.dumps({"reason": reason, **({"kind": kind} if kind else {})}))
