"""The stack that a drill starts for itself: broker, relay and web process over a store in a temporary home."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from storage import migrate
from storage.engine import Database
from storage.namespaces import namespace_allows
from storage.queries.runs import namespaces_all
from storage.settings import Settings
from worker import broker, ports
from worker.child import Child
from worker.supervisor import answers

START_SECONDS = 60.0
STOP_SECONDS = 5.0
LOOK_SECONDS = 0.05
OURS = (sys.executable, "-m", "worker.cli")


class NotForDrills(RuntimeError):
    """A database that is kept holds namespaces that are no drill's: its relay would be in the way of a deployment's."""


class StackFailed(RuntimeError):
    """A part of the drill's own stack did not come up; its log, in the message, says why."""


def settings_of(home: Path, database_url: str | None, lease_seconds: float) -> Settings:
    """Settings of a stack of its own: nothing of the deployment's broker, proxies, models or secrets comes in."""
    port = ports.free_port("127.0.0.1")
    own = {"home": home, "database_url": database_url, "redis_url": None, "secret_key": None, "host": "127.0.0.1",
           "port": port, "lease_seconds": lease_seconds}  # fmt: skip
    return Settings.model_validate({name: each.default for name, each in Settings.model_fields.items()} | own)


class Stack:
    """Started as a context; nothing in it is started again, so that what a drill stops stays stopped.

    Use it from the main thread: its children are bound to the thread that starts them.
    """

    def __init__(self, settings: Settings, database: Database, above: str) -> None:
        """``above``: the namespace under which everything in this database has to be."""
        self.settings = settings
        self._above = above
        self.database = database
        self.url = f"http://127.0.0.1:{settings.port}"
        self._ready = settings.home / "relay.ready"
        self.redis = self._child("redis", broker.command(settings))
        self.web = self._child("web", [*OURS, "web", "--app", "read"])
        self.relay = self._child("relay", [*OURS, "relay", "--ready-file", str(self._ready)])

    def __enter__(self) -> Stack:
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def command(self, name: str, *arguments: str) -> Child:
        """A command of ours on this store, not started yet."""
        return self._child(name, [*OURS, *arguments])

    def kill(self, child: Child) -> None:
        """End a part as a crash does: nothing of it gets to say goodbye."""
        if child.pid is not None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait(time.monotonic() + STOP_SECONDS)

    def _start(self) -> None:
        if migrate.current(self.database) not in (None, migrate.head(self.database)):
            raise NotForDrills("The database is of another version. Give an empty one.")
        migrate.upgrade(self.database)
        with self.database.read() as session:
            others = [path for path in namespaces_all(session) if not namespace_allows([self._above], path)]
        if others:
            raise NotForDrills(f"The database holds {others[0]!r}, which is no drill's. Give one for drills alone.")
        self.settings.secret()
        self.redis.start()
        self._await("redis", self.redis, lambda: broker.answers(self.settings))
        self.web.start()
        self.relay.start()
        self._await("web", self.web, lambda: answers(f"{self.url}/health/live"))
        self._await("relay", self.relay, self._ready.exists)

    def _await(self, name: str, child: Child, is_there: object) -> None:
        assert callable(is_there)
        end = time.monotonic() + START_SECONDS
        while not is_there():
            if child.pid is None or time.monotonic() > end:
                said = child.log.read_text(errors="replace")[-2000:] if child.log.exists() else ""
                raise StackFailed(f"the drill's own {name} did not come up: {said.strip() or 'it said nothing'}")
            time.sleep(LOOK_SECONDS)

    def _stop(self) -> None:
        parts = (self.web, self.relay, self.redis)
        for child in parts:
            child.ask_to_stop()
        until = time.monotonic() + STOP_SECONDS
        for child in parts:
            child.wait(until)

    def _child(self, name: str, command: Sequence[str]) -> Child:
        return Child(name, command, self._environment(), self.settings.home / "logs" / f"{name}.log", _quiet)

    def _environment(self) -> Mapping[str, str]:
        own = {
            "SLOWWAVE_HOME": str(self.settings.home.resolve()),
            "SLOWWAVE_HOST": self.settings.host,
            "SLOWWAVE_PORT": str(self.settings.port),
            "SLOWWAVE_LEASE_SECONDS": str(self.settings.lease_seconds),
            "PYTHONUNBUFFERED": "1",
        }
        if self.settings.database_url is not None:
            own["SLOWWAVE_DATABASE_URL"] = self.settings.database_url
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SLOWWAVE_")}
        return {**kept, **own}


def _quiet(_name: str, _line: str) -> None:
    """What the parts say is in their logs, under the temporary home."""
