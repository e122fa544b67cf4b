"""What else goes on during a drill: a bulk ingest, or a night, on the canary's own store and namespace."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from pathlib import Path

from worker.child import Child
from worker.drill_stack import Stack, StackFailed

LOADS = ("", "ingest", "night")
EPISODES = {"ingest": 6000, "night": 1500}
SEED = 7
BEFORE = timedelta(days=14)
PREPARE_SECONDS = 300.0
SETTLE_SECONDS = 1.5
"""From the start of the command until it is at work: an interpreter and its imports."""


class Load:
    """A command that runs beside the readers, or none."""

    def __init__(self, child: Child | None) -> None:
        self._child = child

    def start(self) -> None:
        """Start it, and give it the moment that it needs to be at work."""
        if self._child is not None:
            self._child.start()
            time.sleep(SETTLE_SECONDS)

    def is_running(self) -> bool | None:
        """Whether it is at work still; None where there is none."""
        return None if self._child is None else self._child.pid is not None

    def stop(self) -> None:
        """End it: its store is thrown away."""
        if self._child is not None:
            self._child.wait(0)


@contextmanager
def load(during: str, stack: Stack, namespace: str, tell: Callable[[str], None]) -> Iterator[Load]:
    """Prepare what goes on during the drill. ``during`` is one of ``LOADS``."""
    if not during:
        yield Load(None)
        return
    tell(f"preparing {EPISODES[during]} invented episodes for the {during}")
    path = _episodes(stack.settings.home, EPISODES[during])
    ingest = stack.command("ingest", "ingest", str(path), "--namespace", namespace)
    if during == "night":
        ingest.start()
        _finish(ingest)
    running = Load(ingest if during == "ingest" else stack.command("night", "consolidate", "--local", "-n", namespace))
    try:
        yield running
    finally:
        running.stop()


def _episodes(home: Path, count: int) -> Path:
    from worlds import generate

    start = datetime.combine(datetime.now(UTC).date(), time_of_day(8), UTC) - BEFORE
    path = home / "load.jsonl"
    with path.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(each) + "\n" for each in generate(SEED, count, worlds=("shopping",), start=start))
    return path


def _finish(child: Child) -> None:
    end = time.monotonic() + PREPARE_SECONDS
    while child.pid is not None:
        if time.monotonic() > end:
            raise StackFailed(f"the episodes of the drill's night were not ingested within {PREPARE_SECONDS:.0f} s")
        time.sleep(0.1)
