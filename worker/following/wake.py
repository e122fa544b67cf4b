"""Waiting until something changed in the followed folders, time is up, or the end was asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from watchfiles import watch

LEAST_PAUSE = 1.0
SLICE = 0.25


class Waiter:
    """Calls sleep; a change of the file system wakes them. Wake-ups are hints: the scan is the truth.

    Where the system gives none (a network folder, no watches left) the periodic scan remains, which is said once.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        note: Callable[[str], None],
        should_stop: Callable[[], bool],
        pause: float = LEAST_PAUSE,
    ) -> None:
        self._folders, self._note, self._should_stop, self._pause = folders, note, should_stop, pause
        self._changed, self._end = threading.Event(), threading.Event()
        self._woke_at = 0.0

    def __enter__(self) -> Waiter:
        threading.Thread(target=self._watch, name="wake-ups", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()

    def __call__(self, seconds: float) -> None:
        """Sleep up to ``seconds``. A folder that changes all the time is looked at once a pause, not more."""
        start = time.monotonic()
        earliest = min(start + seconds, self._woke_at + self._pause)
        while not self._should_stop() and (now := time.monotonic()) < start + seconds:
            # In slices: the handler of a signal may set a flag, and may not touch an event that is being waited for.
            if self._changed.wait(min(SLICE, start + seconds - now)) and time.monotonic() >= earliest:
                break
            if self._changed.is_set():
                time.sleep(max(0.0, min(SLICE, earliest - time.monotonic())))
        self._changed.clear()
        self._woke_at = time.monotonic()

    def _watch(self) -> None:
        try:
            for _ in watch(
                *self._folders, stop_event=self._end, debounce=400, step=50, watch_filter=None,
                raise_interrupt=False, ignore_permission_denied=True,
            ):  # fmt: skip
                self._changed.set()
        except (OSError, RuntimeError) as error:
            self._note(f"No wake-ups from the file system ({error}): new files are found by looking now and then.")
