"""A drill: readers cache a canary, it is revoked, and each notes until when it was served. Everything is real.

The stack, the relay, the broker, the readers and the revocation are those of a deployment; only the home is a
temporary one, so that a drill may stop what it likes.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from storage.engine import Database
from storage.ids import uuid7
from tasks.revoke import drill_step
from tasks.revoke.drill import HEARING, Findings, judge
from tasks.revoke.drill_sessions import SessionFindings
from tasks.revoke.step import revoke
from worker.drill_load import load
from worker.drill_proxy import Proxy
from worker.drill_readers import Orders, Readers, shared
from worker.drill_stack import Stack, settings_of

QUESTIONS_A_SECOND = 4000
"""Of all readers together: more would measure the readers' own load."""
SHORTEST_SECONDS = 0.01
WATCH_SECONDS = 1.0
"""How long the drill looks on after everyone stopped, for a canary that comes back."""
GRACE_SECONDS = 15.0
REASON = "a drill: the canary is withdrawn"

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """One drill under one condition. ``database_url`` None: SQLite in the temporary home."""

    readers: int
    condition: str
    namespace: str
    during: str = ""
    database_url: str | None = None
    lease_seconds: float = 15.0
    limit_seconds: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What a drill found, and under which circumstances."""

    findings: Findings | SessionFindings
    database: str
    processes: int
    every_seconds: float
    revoked_in_seconds: float
    overlapped: bool | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON and for the history. ``overlapped``: the load still ran when the revocation was committed."""
        return {
            **self.findings.as_dict(),
            "database": self.database,
            "processes": self.processes,
            "asked_every_seconds": self.every_seconds,
            "revoked_in_seconds": round(self.revoked_in_seconds, 4),
            "load_overlapped": self.overlapped,
        }


def run(plan: Plan, tell: Tell) -> Outcome:
    """Start everything, revoke, wait, stop everything. From the main thread.

    Raises:
        StackFailed, NotForDrills, ReadersFailed, BrokerMissing: no figure came of it.
    """
    with ExitStack() as held:
        stack, namespace = started(plan, held, tell)
        return _with_stack(plan, stack, namespace, held, tell)


def started(plan: Plan, held: ExitStack, tell: Tell) -> tuple[Stack, str]:
    """A running stack in a temporary home, and a namespace for this drill alone; ``held`` takes them down again.

    In a database that is kept, one drill's canary is no other's business.
    """
    home = held.enter_context(temporary_home())
    settings = settings_of(home, plan.database_url, plan.lease_seconds)
    database = Database(settings.resolved_database_url)
    held.callback(database.dispose)
    tell(f"{plan.condition}: starting broker, relay and web process")
    return held.enter_context(Stack(settings, database, plan.namespace)), f"{plan.namespace}/{uuid7()}"


@contextmanager
def temporary_home() -> Iterator[Path]:
    """A folder for one drill; its path is short, since it holds a socket."""
    home = Path(tempfile.mkdtemp(prefix="slowwave-drill-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _with_stack(plan: Plan, stack: Stack, namespace: str, held: ExitStack, tell: Tell) -> Outcome:
    database, secret = stack.database, stack.settings.secret()
    canary = drill_step.plant(database, namespace, now=now(), secret=secret, name=plan.condition)
    token = drill_step.reader_token(database, namespace, now())
    url, proxy = stack.url, None
    if plan.condition == "disconnected":
        proxy = held.enter_context(Proxy(stack.settings.port))
        url = f"http://127.0.0.1:{proxy.port}"
    loads = held.enter_context(load(plan.during, stack, namespace, tell))
    every = max(SHORTEST_SECONDS, plan.readers / QUESTIONS_A_SECOND)
    groups = shared([f"drill-reader-{number}" for number in range(plan.readers)])
    orders = [Orders(url, token, namespace, canary.task, canary.rule_id, names, every) for names in groups]
    readers = held.enter_context(Readers(orders))
    readers.wait_until_ready()
    tell(f"{plan.condition}: {plan.readers} readers have the canary; revoking it")
    loads.start()
    _break(plan.condition, stack, proxy)
    with commits_of(database) as commits:
        began = time.monotonic()
        revoke(database, namespace, canary.rule_id, reason=REASON, actor=canary.reviewer, now=now(), secret=secret)
    overlapped = loads.is_running()
    readers.wait_until_stopped(plan.lease_seconds + GRACE_SECONDS)
    time.sleep(WATCH_SECONDS)
    found = judge(
        readers.readings(commits[-1]),
        plan.condition,
        wanted=plan.readers,
        lease=plan.lease_seconds,
        limit=plan.limit_seconds if plan.condition in HEARING else None,
    )
    return Outcome(found, database.dialect, len(groups), every, commits[-1] - began, overlapped)


def _break(condition: str, stack: Stack, proxy: Proxy | None) -> None:
    """Bring the condition about, right before the revocation."""
    if condition == "redis-down":
        stack.kill(stack.redis)
    elif condition == "web-down":
        stack.kill(stack.web)
    elif proxy is not None:
        proxy.cut()


@contextmanager
def commits_of(database: Database) -> Iterator[list[float]]:
    """When this process committed, on the monotonic clock, noted right before the database does it.

    Early rather than late: nobody can have heard of a change before that, so no latency comes out too short.
    """
    noted: list[float] = []

    def note(_: sa.Connection) -> None:
        noted.append(time.monotonic())

    sa.event.listen(database.engine, "commit", note)
    try:
        yield noted
    finally:
        sa.event.remove(database.engine, "commit", note)


def now() -> datetime:
    """The wall clock: a drill is an entry point."""
    return datetime.now(UTC)
