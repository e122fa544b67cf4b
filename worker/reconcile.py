"""Compares what should be under way with what is, and sends what is absent. The database is the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

import structlog

from storage.engine import Database, database_now
from storage.queries import runs as queries
from storage.runs import beat_heart, forget_hearts, lock_run, release_dead
from storage.tables import RunStep
from tasks import pipeline

log = structlog.get_logger()

RESEND_SECONDS = 60
"""How long a message may wait in the queue before a second one is sent. A double is harmless, a loss is not."""


@dataclass
class Report:
    """What was found, and done unless it was a dry run."""

    released: list[dict[str, str]] = field(default_factory=list)
    parked: list[dict[str, str]] = field(default_factory=list)
    advanced: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    sent: list[dict[str, str]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The report as one JSON document."""
        return asdict(self)


def reconcile(
    database: Database,
    *,
    max_attempts: int,
    is_dead: Callable[[str], bool],
    send: Callable[[list[RunStep]], int],
    resend_seconds: float = RESEND_SECONDS,
    dry_run: bool = False,
) -> Report:
    """Free the steps of dead workers, park exhausted ones, move stuck runs on, and send what has no message.

    Args:
        send: takes steps and enqueues them; returns how many the broker took.
        dry_run: look only.
    """
    if dry_run:
        return _look(database, max_attempts, is_dead, resend_seconds)
    report = Report()
    with database.write() as session:
        report.released = [_named(step) for step in release_dead(session, is_dead)]
    report.parked = [_named(step) for step in pipeline.park_exhausted(database, max_attempts)]
    _move_on(database, report)
    with database.read() as session:
        now = database_now(session)
        absent = list(queries.steps_absent(session, now, now - timedelta(seconds=resend_seconds)))
    report.sent = [_named(step) for step in absent[: send(absent)]]
    with database.write() as session:
        beat_heart(session, "reconcile", {"sent": len(report.sent)})
        forget_hearts(session, now - timedelta(days=1))
    if any((report.released, report.parked, report.advanced, report.closed, report.sent)):
        log.info("reconcile.done", **{name: len(found) for name, found in report.as_dict().items()})
    return report


def _move_on(database: Database, report: Report) -> None:
    with database.read() as session:
        running = [run.id for run in queries.runs_open(session)]
    for run_id in running:
        # One short transaction a run: a stuck one must not keep the rest waiting.
        with database.write() as session:
            if pipeline.advance(session, run_id):
                report.advanced.append(run_id)
            elif lock_run(session, run_id).state != "running":
                report.closed.append(run_id)


def _look(database: Database, max_attempts: int, is_dead: Callable[[str], bool], resend_seconds: float) -> Report:
    with database.read() as session:
        now = database_now(session)
        held = queries.steps_leased(session)
        absent = queries.steps_absent(session, now, now - timedelta(seconds=resend_seconds))
        dead = [step for step in held if step.owner and step.lease_until and step.lease_until > now]
        ended = [step for step in held if step.lease_until and step.lease_until < now]
        return Report(
            released=[_named(step) for step in dead if step.owner and is_dead(step.owner)],
            parked=[_named(step) for step in ended if step.attempts >= max_attempts],
            advanced=[run.id for run in queries.runs_open(session) if pipeline.is_stuck(session, run)],
            sent=[_named(step) for step in absent if step.attempts < max_attempts],
        )


def _named(step: RunStep) -> dict[str, str]:
    return {"run": step.run_id, "step": step.id, "stage": step.stage, "shard": step.shard}
