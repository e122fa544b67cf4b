"""One child process of the supervisor: its log, its restarts, its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LONGEST_PAUSE_SECONDS = 30.0
SETTLED_SECONDS = 30.0
LOG_BYTES = 20 * 2**20

Print = Callable[[str, str], None]


@dataclass
class Child:
    """A command that should run until the supervisor says otherwise.

    It gets a process group of its own: Ctrl-C in the terminal reaches the supervisor alone, and a signal to the group
    reaches whatever the child started.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    tell: Print
    stop_with: int = signal.SIGTERM
    restarts: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _started: float = 0.0
    _due: float = 0.0
    _pumps: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Start it, on a leash. Call it from the main thread: the leash is bound to the thread that starts."""
        _rotate(self.log)
        argv = [sys.executable, "-m", "worker.leash", str(os.getpid()), *self.command]
        self._process = subprocess.Popen(  # noqa: S603 - our own commands
            argv,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._started = time.monotonic()
        pump = threading.Thread(target=self._pump, args=(self._process,), name=f"log-{self.name}", daemon=True)
        pump.start()
        self._pumps = [pump]

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def look_after(self) -> None:
        """Restart it if it ended unasked: at once the first time, then after pauses that double."""
        if self._process is None or self._process.poll() is None:
            return
        now = time.monotonic()
        if not self._due:
            if now - self._started > SETTLED_SECONDS:
                self.restarts = 0
            pause = 0.0 if not self.restarts else min(LONGEST_PAUSE_SECONDS, 2.0 ** (self.restarts - 1))
            self._reap()
            when = f"in {pause:.0f} s" if pause else "now"
            ending = _ending(self._process.returncode)
            self.tell("up", f"{self.name} ended unasked ({ending}); starting it again {when}")
            self._due = now + pause
        if now >= self._due:
            self._due, self.restarts = 0.0, self.restarts + 1
            self.start()

    def ask_to_stop(self) -> None:
        """The signal that it ends on in order."""
        if self.pid is not None:
            self._signal(self.stop_with)

    def wait(self, until: float) -> None:
        """Wait for its end up to a moment of the monotonic clock, then kill it and all it started."""
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.tell("up", f"{self.name} did not stop in time and is killed; its work is taken up at the next start")
        self._reap()
        for pump in self._pumps:
            pump.join(1)

    def _reap(self) -> None:
        """Nothing of its group is left behind."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: int) -> None:
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def _pump(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout as lines, self.log.open("ab", buffering=0) as log:
            for line in lines:
                log.write(line)
                self.tell(self.name, line.decode("utf-8", "replace").rstrip())


def _rotate(log: Path) -> None:
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))


def _ending(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
