"""Ctrl-C and a service manager's request to end, as something a command looks at between two batches."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

SAID = b"\nFinishing the current batch; once more ends it at once.\n"


class StopSwitch:
    """While entered, the first signal is noted and the second raises ``KeyboardInterrupt``.

    With ``at_once`` the first one raises: a command that waits for its standard input looks at nothing.
    """

    def __init__(self, *numbers: int, at_once: bool = False) -> None:
        self._numbers, self._at_once = numbers, at_once
        self._before: dict[int, Any] = {}
        self.asked = False

    def __enter__(self) -> StopSwitch:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._on_signal) for number in self._numbers}
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def is_on(self) -> bool:
        """Whether the end was asked for."""
        return self.asked

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self.asked or self._at_once:
            raise KeyboardInterrupt
        self.asked = True
        if number == signal.SIGINT:
            os.write(2, SAID)  # not through a buffer, which the interrupted code may be in the middle of
