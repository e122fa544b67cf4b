"""The counts of the queue, made while the page's rows are read, and remembered where the queue is long.

To count a hundred thousand takes longer than all else of a page. So where a queue is long, a page shows the counts of
the last look, if that was less than ``KEPT`` ago, and they are made again behind it for the next: they lag by a look.
Rows never do.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock
from typing import Any, TypeVar

from storage.engine import Database
from storage.queries.facets import Facets, changes_mark, facets_of, fast_counts, slow_counts
from storage.queries.queue import NEVER, Asked

T = TypeVar("T")
LONG = 5_000
"""A shorter queue is counted each time: that takes some milliseconds."""
KEPT = timedelta(minutes=5)
"""Longer than a careful decision takes: who goes through the queue waits for its counts once."""
SURE = timedelta(seconds=20)
"""What is as young as this is made again only if somebody did something."""
MOST = 500
THREADS = 4


@dataclass(frozen=True)
class _Kept:
    mark: tuple[Any, ...]
    at: datetime
    facets: Facets


class Counts:
    """One process's counts, for all its threads."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="counts")
        self._behind = ThreadPoolExecutor(1, thread_name_prefix="counts-behind")
        self._kept: OrderedDict[Asked, _Kept] = OrderedDict()
        self._running: dict[Asked, Future[None]] = {}
        self._lock = Lock()

    def start(self, asked: Asked) -> Callable[[], Facets]:
        """Begin to count; what is returned waits for it. Hold no connection meanwhile: counting takes two."""
        key = replace(asked, now=NEVER)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and timedelta(0) <= asked.now - kept.at < KEPT:
                if key not in self._running:
                    self._running[key] = self._behind.submit(self._again, asked, kept)
                return lambda: kept.facets
        # The mark is of before: what somebody does meanwhile changes it, and is counted at the next look.
        mark = self._read(changes_mark)
        fast, slow = (
            self._pool.submit(self._read, fast_counts, asked),
            self._pool.submit(self._read, slow_counts, asked),
        )

        def finish() -> Facets:
            facets = facets_of(asked, fast.result(), slow.result())
            self._keep(key, _Kept(mark, asked.now, facets))
            return facets

        return finish

    def settle(self) -> None:
        """Wait until nothing is counted behind a page any more."""
        with self._lock:
            running = list(self._running.values())
        wait(running)

    def forget(self) -> None:
        """Count everything anew from here on."""
        self.settle()
        with self._lock:
            self._kept.clear()

    def close(self) -> None:
        """Let the threads end."""
        self._pool.shutdown(wait=False)
        self._behind.shutdown(wait=False, cancel_futures=True)

    def _again(self, asked: Asked, kept: _Kept) -> None:
        """Make remembered counts again, one after the other: no page waits for it, so one core is enough."""
        key = replace(asked, now=NEVER)
        try:
            mark = self._read(changes_mark)
            if mark != kept.mark or asked.now - kept.at >= SURE:
                facets = facets_of(asked, self._read(fast_counts, asked), self._read(slow_counts, asked))
                self._keep(key, _Kept(mark, asked.now, facets))
        finally:
            with self._lock:
                del self._running[key]

    def _read(self, query: Callable[..., T], *given: Any) -> T:
        with self.database.read() as session:
            return query(session, *given)

    def _keep(self, key: Asked, kept: _Kept) -> None:
        with self._lock:
            self._kept.pop(key, None)
            if kept.facets.looked_at >= LONG:
                self._kept[key] = kept
                while len(self._kept) > MOST:
                    self._kept.popitem(last=False)
