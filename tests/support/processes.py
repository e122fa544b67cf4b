"""A child process of a test: its output goes to a file, waiting has a limit, and nothing outlives the test."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

Seen = TypeVar("Seen")
POLL_SECONDS = 0.02


class DidNotHappen(AssertionError):
    """What a test waited for did not come in time; the message holds what was seen last."""


def wait_until(what: str, look: Callable[[], Seen], *, seconds: float = 60, alive: Child | None = None) -> Seen:
    """Call ``look`` until it gives something true and return that.

    Raises:
        DidNotHappen: after ``seconds``, or as soon as ``alive`` has exited.
    """
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        if alive is not None and alive.exit_code is not None:
            raise DidNotHappen(f"{what}: {alive.name} exited with {alive.exit_code}\n{alive.output()[-4000:]}")
        if time.monotonic() > deadline:
            tail = f"\n{alive.output()[-4000:]}" if alive else ""
            raise DidNotHappen(f"{what}: not within {seconds} s; last seen {seen!r}{tail}")
        time.sleep(POLL_SECONDS)
    return seen


def free_port() -> int:
    """A TCP port on loopback that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Child:
    """One process in a session of its own, so that a signal can reach everything it started."""

    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        name: str = "",
        user: str | int | None = None,
    ) -> None:
        self.argv = [str(part) for part in argv]
        self.cwd, self.user = cwd, user
        self.env = {**os.environ, **(env or {})}
        self.name = name or Path(self.argv[0]).name
        self.log = cwd / f"{self.name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._is_gone = True

    def start(self) -> Child:
        """Start it (again); its output is appended to the log."""
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                self.argv,
                cwd=self.cwd,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=self.user,
            )
        self._is_gone = False
        return self

    @property
    def pid(self) -> int:
        """Its process id, which is its group's id too."""
        assert self._process is not None, f"{self.name} was not started"
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs, or before it was started."""
        return self._process.poll() if self._process else None

    def output(self) -> str:
        """Everything it wrote so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def wait_for_output(self, text: str, *, seconds: float = 30) -> str:
        """Wait until ``text`` was written; returns everything written."""
        wait_until(f"{text!r} in the output", lambda: text in self.output(), seconds=seconds, alive=self)
        return self.output()

    def send(self, number: int) -> None:
        """Send a signal to the process alone."""
        if self._process is not None and self.exit_code is None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL to the whole group: nothing gets to say goodbye. Once only: the system gives numbers out again."""
        if self._process is None or self._is_gone:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait(30)
        self._is_gone = True

    def stop(self, number: int = signal.SIGTERM, *, seconds: float = 20) -> int:
        """Ask it to end, insist after ``seconds``; returns its exit code."""
        if self._process is None:
            return 0
        self.send(number)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self.kill()
        return int(self._process.returncode)
