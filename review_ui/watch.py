"""One thread a process, while anybody watches a run: asks the database how far the runs are, and tells open streams.

Streams never touch the database, so a hundred open pages cost one query a second. Nothing is queued: how far a run is
now replaces what was not told yet, so a slow reader misses steps between and never the end.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Collection
from datetime import UTC, datetime

from sqlalchemy.exc import SQLAlchemyError

from review_ui.errors import Crowded, TooManyStreams
from review_ui.views.progress import Standing, standing_of
from review_ui.words import _, ngettext
from storage.engine import Database
from storage.namespaces import namespace_allows
from storage.queries.pages_runs import progress_of_runs
from storage.queries.sessions import live_grants

log = logging.getLogger("slowwave.review_ui")

POLL_SECONDS = 1.0
GRANTS_EVERY_SECONDS = 5.0
MOST = 200
"""Open streams of a process."""
MOST_OF_ONE = 4
"""Open streams of a page session: a browser keeps six connections to one address, and pages need some of them."""


class Subscription:
    """One open stream. Made and read on one event loop; ``tell`` and ``end`` are called through that loop."""

    def __init__(self, run_id: str, session_id: str) -> None:
        self.run_id = run_id
        self.session_id = session_id
        self.loop = asyncio.get_running_loop()
        self.ended = False
        self._told: Standing | None = None
        self._now: Standing | None = None
        self._ready = asyncio.Event()

    def tell(self, standing: Standing) -> None:
        """On the loop: this is how far the run is now."""
        if standing != self._told:
            self._now = standing
            self._ready.set()

    def end(self) -> None:
        """On the loop: nothing more will be told."""
        self.ended = True
        self._ready.set()

    async def next(self, timeout: float) -> Standing | None:
        """What is new, or None after ``timeout`` seconds without news, and at once where the stream is ended."""
        if self._now is None and not self.ended:
            self._ready.clear()
            try:
                await asyncio.wait_for(self._ready.wait(), timeout)
            except TimeoutError:
                return None
        standing, self._now = self._now, None
        self._told = standing or self._told
        return standing


class Watcher:
    """Started by the first stream and gone after the last. ``end_streams`` is what a server calls before it waits."""

    def __init__(
        self,
        database: Database,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        poll_seconds: float = POLL_SECONDS,
        grants_seconds: float = GRANTS_EVERY_SECONDS,
        most: int = MOST,
        most_of_one: int = MOST_OF_ONE,
    ) -> None:
        self._database = database
        self._clock = clock
        self._poll, self._grants_every = poll_seconds, grants_seconds
        self._most, self._most_of_one = most, most_of_one
        self._open: set[Subscription] = set()
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._grants_at = 0.0

    def check_room(self, session_id: str) -> None:
        """Whether one more stream may be opened by this page session.

        Raises:
            TooManyStreams: if it has as many as one may have; ``Crowded`` if the process has.
        """
        with self._lock:
            refusal = self._refusal(session_id)
        if refusal is not None:
            raise refusal

    def attach(self, run_id: str, session_id: str) -> Subscription:
        """On the event loop: a stream is open. One that came too late, or is one too many, is ended at once."""
        subscription = Subscription(run_id, session_id)
        with self._lock:
            if self._stop.is_set() or self._refusal(session_id) is not None:
                subscription.end()
                return subscription
            self._open.add(subscription)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="slowwave-watcher", daemon=True)
                self._thread.start()
        return subscription

    def detach(self, subscription: Subscription) -> None:
        """A stream is over."""
        with self._lock:
            self._open.discard(subscription)

    @property
    def watched(self) -> int:
        """How many streams are open."""
        with self._lock:
            return len(self._open)

    def end_streams(self) -> None:
        """End every stream, and take no other: what a server does first when it is told to stop. Does not wait."""
        self._stop.set()
        with self._lock:
            self._end(self._open)

    def close(self) -> None:
        """End every stream and the thread. Safe to call twice."""
        self.end_streams()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=10)

    def _refusal(self, session_id: str) -> TooManyStreams | None:
        mine = sum(one.session_id == session_id for one in self._open)
        if mine >= self._most_of_one:
            return TooManyStreams(
                ngettext(
                    "You watch {n} run in other windows already.", "You watch {n} runs in other windows already.", mine
                ).format(n=mine),
                _("Close one of them. This page still shows how far the run is when you reload it."),
            )
        if len(self._open) >= self._most:
            return Crowded(
                _("As many people watch runs here as may."),
                _("Reload the page now and then; it still shows how far the run is."),
            )
        return None

    def _run(self) -> None:
        failing = False
        while True:
            with self._lock:
                if not self._open or self._stop.is_set():
                    self._thread = None
                    return
                watching = set(self._open)
            try:
                self._look(watching)
                failing = False
            except SQLAlchemyError as problem:
                if not failing:
                    log.warning("watcher.stale kind=%s", type(problem).__name__)
                failing = True
            except Exception:  # every stream hangs on this thread: it must outlive any surprise
                log.exception("watcher.failed")
            self._stop.wait(self._poll)

    def _look(self, watching: Collection[Subscription]) -> None:
        """Ask once for all runs, and tell each stream of its own."""
        with self._database.read() as session:
            found = progress_of_runs(session, {one.run_id for one in watching})
        standings = {run_id: standing_of(run) for run_id, run in found.items()}
        refused = self._no_longer_allowed(watching, standings)
        self._end(refused)
        for one in watching:
            if one not in refused:
                self._tell(one, standings[one.run_id])

    def _no_longer_allowed(
        self, watching: Collection[Subscription], standings: dict[str, Standing]
    ) -> set[Subscription]:
        """Streams of a session that ended or lost the namespace, looked at every few seconds; and of runs now gone."""
        gone = {one for one in watching if one.run_id not in standings}
        if time.monotonic() < self._grants_at:
            return gone
        self._grants_at = time.monotonic() + self._grants_every
        with self._database.read() as session:
            grants = live_grants(session, {one.session_id for one in watching}, self._clock())
        refused = set(gone)
        for one in set(watching) - gone:
            granted = grants.get(one.session_id)
            if granted is None or not namespace_allows(granted, standings[one.run_id].namespace):
                refused.add(one)
        return refused

    def _tell(self, one: Subscription, standing: Standing) -> None:
        try:
            one.loop.call_soon_threadsafe(one.tell, standing)
        except RuntimeError:  # that loop was closed, its streams are gone
            self.detach(one)

    def _end(self, subscriptions: Collection[Subscription]) -> None:
        for one in list(subscriptions):
            try:
                one.loop.call_soon_threadsafe(one.end)
            except RuntimeError:
                self.detach(one)
