"""Other cores for large files: child processes that parse, redact and seal, while the parent alone writes.

Only for sources whose lines are records of their own. The lines go to a child as they are, and come back ready to be
written, in order; so what is stored does not depend on whether there was a pool. Whatever goes wrong with it (no
children allowed, one killed), the parent does the work itself.
"""

from __future__ import annotations

import gc
import io
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Generic, TypeVar

from tasks.ingest.prepare import Door, Origin
from tasks.ingest.source import Line, Source

MOST_CHILDREN = 4
CHUNK_BYTES = 1 << 20
# The parent holds the database's write lock now and then: it must not wait for a core meanwhile.
NICENESS = 3
Made = TypeVar("Made")
Work = Callable[[list[Line], Door, Origin], Made]


class Pool(Generic[Made]):
    """Starts in the background, since a child takes most of a second to be there: until then ``submit`` says None."""

    def __init__(self, work: Work[Made], door: Door, preload: str) -> None:
        """``work`` is a function of a module that a child can import; ``preload`` is that module."""
        self._work, self._door = work, door
        self._executor: ProcessPoolExecutor | None = None
        self.is_ready = threading.Event()
        self.depth = 2 * children()
        if may_have_children():
            self._executor = _executor(preload)
            threading.Thread(target=self._warm, args=(self._executor,), name="ingest-pool", daemon=True).start()

    def submit(self, lines: list[Line], origin: Origin) -> Future[Made] | None:
        """The work on these lines as a promise, or None where there is nobody to do it."""
        if self._executor is None or not self.is_ready.is_set():
            return None
        try:
            return self._executor.submit(self._work, lines, self._door, origin)
        except (BrokenProcessPool, RuntimeError):
            self.close()
            return None

    def result(self, promise: Future[Made]) -> Made | None:
        """What a child made, or None where it did not live to tell."""
        try:
            return promise.result()
        except Exception:  # whatever it was: this process does the work itself, and meets the same fault openly
            self.close()
            return None

    def close(self) -> None:
        """Let the children go; what they still had to do is dropped."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)

    def _warm(self, executor: ProcessPoolExecutor) -> None:
        try:
            executor.submit(os.getpid).result()
        except (BrokenProcessPool, RuntimeError, OSError, EOFError):
            return
        self.is_ready.set()


def may_have_children() -> bool:
    """A daemonic process, such as a Celery worker's child, may have none; with one core there is no use for any."""
    return not multiprocessing.current_process().daemon and children() > 1


def children() -> int:
    return min(MOST_CHILDREN, os.cpu_count() or 1)


def _executor(preload: str) -> ProcessPoolExecutor:
    # Never a plain fork: threads and database connections of this process must not be copied into a child.
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        context.set_forkserver_preload([preload])
    return ProcessPoolExecutor(children(), mp_context=context, initializer=_begin)


def _begin() -> None:
    """In a child. One whose parent was killed would wait for work for ever.

    Ctrl-C reaches a whole terminal's group: the parent decides what becomes of it, and still wants what is under way.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def line_chunks(source: Source, most_lines: Callable[[], int]) -> Iterator[list[Line]]:
    """The lines of a source, some at a time."""
    chunk: list[Line] = []
    size = 0
    for line in source.lines():
        chunk.append(line)
        size += len(line.data)
        if size >= CHUNK_BYTES or len(chunk) >= most_lines():
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def source_of(lines: list[Line], origin: Origin) -> Source:
    """A source that holds these lines of another one, numbered as they were."""
    source = Source(io.BytesIO(), origin.file, origin.file, origin.scope)
    source.hold(lines)
    return source
