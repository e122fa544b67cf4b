"""The counts of the queue, made while the page's rows are read, and remembered for a moment where the queue is long.

To count a hundred thousand takes longer than all else of a page. What somebody decides shows at once, as does what a
night adds. For ``KEPT`` at most, two things may lag behind: counts by age and of conflicts, and what a night changed of
a candidate that waits already, such as its checks. Rows never do.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from storage.engine import Database
from storage.queries.facets import Facets, Slow, changes_mark, facets_of, fast_counts, slow_counts
from storage.queries.queue import NEVER, Asked

T = TypeVar("T")
LONG = 5_000
"""A shorter queue is counted each time: that takes some milliseconds."""
KEPT = timedelta(seconds=30)
MOST = 500
THREADS = 4


@dataclass(frozen=True)
class _Kept:
    mark: tuple[Any, ...]
    at: datetime
    slow: Slow
    facets: Mapping[bool | None, Facets]


class Counts:
    """One process's counts, for all its threads."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="counts")
        self._kept: OrderedDict[Asked, _Kept] = OrderedDict()
        self._lock = Lock()

    def start(self, asked: Asked) -> Callable[[], Facets]:
        """Begin to count; what is returned waits for it. Hold no connection meanwhile: counting takes two."""
        key, kept = replace(asked, now=NEVER, conflicts=None), None
        mark = self._read(changes_mark)
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and not timedelta(0) <= asked.now - kept.at < KEPT:
            kept = None
        known = kept.facets if kept is not None and kept.mark == mark else {}
        if asked.conflicts in known:
            return lambda: known[asked.conflicts]
        fast = self._pool.submit(self._read, fast_counts, asked)
        if kept is None:
            at, slow = asked.now, self._pool.submit(self._read, slow_counts, asked).result
        else:
            at, slow = kept.at, partial(getattr, kept, "slow")

        def finish() -> Facets:
            facets = facets_of(asked, fast.result(), slow())
            if facets.looked_at >= LONG:
                self._keep(key, _Kept(mark, at, slow(), {**known, asked.conflicts: facets}))
            return facets

        return finish

    def close(self) -> None:
        """Let the threads end."""
        self._pool.shutdown(wait=False)

    def _read(self, query: Callable[..., T], *given: Any) -> T:
        with self.database.read() as session:
            return query(session, *given)

    def _keep(self, key: Asked, kept: _Kept) -> None:
        with self._lock:
            self._kept[key] = kept
            self._kept.move_to_end(key)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
