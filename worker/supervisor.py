"""``slowwave up``: the local stack in one terminal. Starts in order, restarts what crashes, leaves nothing behind."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.text import Text

from storage.settings import Settings
from worker import broker, ports
from worker.child import Child

COLOURS = {"up": "bold white", "redis": "red", "worker": "green", "beat": "yellow", "relay": "magenta", "web": "cyan"}
WIDTH = max(len(name) for name in COLOURS)
STOP_SECONDS = 8.0
BROKER_STOP_SECONDS = 2.0
SOFT_STOP_SECONDS = 5
READY_SECONDS = 30.0
LOOK_SECONDS = 0.2


class AlreadyRunning(RuntimeError):
    """A stack runs on this home folder already; use it, or stop it first."""


def run_stack(settings: Settings, *, concurrency: int = 2, notes: Sequence[str] = ()) -> int:
    """Run the stack until Ctrl-C or SIGTERM; returns the exit code.

    Args:
        notes: lines shown below the address once everything is up.

    Raises:
        PortTaken, AlreadyRunning, BrokerMissing: before anything was started.
    """
    with _only_one(settings) as claim:
        port = settings.port or ports.free_port(settings.host)
        ports.check_free(settings.host, port)
        stack = Stack(settings.model_copy(update={"port": port}), concurrency)
        _describe(claim, stack.address)
        return stack.run(notes)


@contextlib.contextmanager
def _only_one(settings: Settings) -> Iterator[IO[str]]:
    """Hold the home folder's lock, which the system frees when this process ends in whatever way."""
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = settings.home / "up.lock"
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise AlreadyRunning(_who(file.read(), settings.home)) from None
        yield file


def is_running(settings: Settings) -> bool:
    """Whether a stack runs, or is starting, on this home folder."""
    path = settings.home / "up.lock"
    if not path.exists():
        return False
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def running_at(settings: Settings) -> str | None:
    """The address of the stack that runs on this home folder; None if none does, or it is only starting."""
    if not is_running(settings):
        return None
    try:
        return str(json.loads((settings.home / "up.lock").read_text())["address"])
    except (OSError, ValueError, KeyError):
        return None


def _describe(claim: IO[str], address: str) -> None:
    claim.truncate(0)
    claim.write(json.dumps({"pid": os.getpid(), "address": address}))
    claim.flush()


def _who(written: str, home: Path) -> str:
    try:
        found = json.loads(written)
        where = f"process {found['pid']}, {found['address']}"
        stop = f"stop it with Ctrl-C in its terminal or: kill {found['pid']}"
    except (ValueError, KeyError):
        where, stop = "starting up", "wait for it"
    return f"slowwave runs on {home} already ({where}): use that one, {stop}, or choose another SLOWWAVE_HOME"


class Stack:
    """The children and the loop that looks after them."""

    def __init__(self, settings: Settings, concurrency: int) -> None:
        self.settings = settings
        self.address = f"http://{_shown(settings.host)}:{settings.port}"
        self._console = Console(highlight=False, soft_wrap=True)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._orphan: int | None = None
        self._broker = self._make_broker()
        ours = [sys.executable, "-m", "worker.cli"]
        self._children = [
            self._child("web", [*ours, "web", "--app", "both"]),
            self._child("worker", [*ours, "worker", "--concurrency", str(concurrency)]),
            self._child("beat", [*ours, "beat"]),
            self._child("relay", [*ours, "relay"]),
        ]

    def _make_broker(self) -> Child | None:
        """The bundled server, unless the settings name another."""
        if self.settings.redis_url is not None:
            return None
        return self._child("redis", broker.command(self.settings))

    def _child(self, name: str, command: Sequence[str]) -> Child:
        environment = {name: value for name, value in os.environ.items() if name != "SLOWWAVE_TOKEN"}
        environment |= {
            "SLOWWAVE_HOME": str(self.settings.home.resolve()),
            "SLOWWAVE_HOST": self.settings.host,
            "SLOWWAVE_PORT": str(self.settings.port),
            "SLOWWAVE_SOFT_SHUTDOWN_SECONDS": str(SOFT_STOP_SECONDS),
            "PYTHONUNBUFFERED": "1",
        }
        return Child(name, command, environment, self.settings.home / "logs" / f"{name}.log", self.tell)

    def tell(self, name: str, line: str) -> None:
        """One line with its prefix. Whoever reads the terminal may go away; the stack goes on."""
        text = Text.assemble((f"{name:<{WIDTH}} │ ", COLOURS[name]), line)
        with self._lock, contextlib.suppress(BrokenPipeError, OSError):
            self._console.print(text)

    def run(self, notes: Sequence[str]) -> int:
        """Start, look after the children, stop in order."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._asked_to_stop)
        try:
            if not self._start():
                return 1
            threading.Thread(target=self._greet, args=(notes,), name="greeting", daemon=True).start()
            while not self._stop.wait(LOOK_SECONDS):
                self._look_after()
            return 0
        finally:
            self._end()

    def _asked_to_stop(self, number: int, _frame: object) -> None:
        if self._stop.is_set() and number == signal.SIGINT:
            # A second Ctrl-C: the person does not want to wait.
            for child in self._all():
                child.wait(0)
        self._stop.set()

    def _all(self) -> list[Child]:
        return [*self._children, *([self._broker] if self._broker else [])]

    def _start(self) -> bool:
        if self._broker is not None and not self._start_broker(self._broker):
            self.tell("up", f"the Redis-compatible server does not answer; its log: {self._broker.log}")
            return False
        for child in self._children:
            child.start()
        return True

    def _start_broker(self, child: Child) -> bool:
        self._orphan = broker.orphan(self.settings)
        if self._orphan is not None:
            self.tell("up", f"using the server that an earlier run left behind (process {self._orphan})")
            return True
        self.settings.redis_socket.unlink(missing_ok=True)
        child.start()
        return broker.wait_until_it_answers(self.settings)

    def _look_after(self) -> None:
        for child in self._all():
            child.look_after()
        if self._orphan is not None and self._broker is not None and broker.orphan(self.settings) is None:
            self.tell("up", "the server left behind by an earlier run is gone; starting one")
            self._orphan = None
            self._broker.start()

    def _greet(self, notes: Sequence[str]) -> None:
        if not self._is_ready():
            return
        lines = [
            f"review page  {self.address}/",
            f"agents' side {self.address}/v1",
            f"logs         {self.settings.home / 'logs'}",
            *notes,
            "Ctrl-C stops everything.",
        ]
        for line in lines:
            self.tell("up", line)

    def _is_ready(self) -> bool:
        """Wait until the web app answers, and tell if it takes long."""
        end = time.monotonic() + READY_SECONDS
        while not self._stop.wait(LOOK_SECONDS):
            if answers(f"{self.address}/health/live"):
                return True
            if time.monotonic() > end:
                self.tell("up", f"the web app does not answer on {self.address} yet; its log: {self._children[0].log}")
                end = time.monotonic() + READY_SECONDS
        return False

    def _end(self) -> None:
        """Ask everyone at once, wait, insist; the broker goes last, since the worker gives its messages back to it."""
        self._stop.set()
        self.tell("up", "stopping")
        until = time.monotonic() + STOP_SECONDS
        for child in self._children:
            child.ask_to_stop()
        for child in self._children:
            child.wait(until)
        if self._orphan is not None:
            broker.end_orphan(self._orphan, BROKER_STOP_SECONDS)
        elif self._broker is not None:
            self._broker.ask_to_stop()
            self._broker.wait(time.monotonic() + BROKER_STOP_SECONDS)
        self.tell("up", "stopped")


def answers(url: str) -> bool:
    """Whether an HTTP server answers there with anything below 500."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - our own address
            return bool(answer.status < 500)
    except urllib.error.HTTPError as error:
        return error.code < 500
    except (OSError, ValueError):
        return False


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else "127.0.0.1" if host == "0.0.0.0" else host  # noqa: S104 - for display
