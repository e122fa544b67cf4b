"""The base of every task: it owns the log context, the hand-over to the ledger, and what is sent afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import structlog
from celery import Task
from kombu.exceptions import OperationalError

from storage.engine import Database
from storage.runs import beat_heart, mark_enqueued
from storage.tables import RunStep
from tasks import pipeline
from worker import identity, resources

log = structlog.get_logger()


class StepTask(Task):
    """A task whose message carries one step id; the ledger says whether there is anything to do."""

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run with the task's name in every log line."""
        with structlog.contextvars.bound_contextvars(task=self.name):
            return super().__call__(*args, **kwargs)

    def run_step(self, step_id: str) -> None:
        """Claim this step and work on it. A step that is not free is left alone: the message was late or doubled."""
        database, worker = resources.database(), resources.worker()
        claim = pipeline.claim(database, worker, step_id=step_id)
        if claim is None:
            log.info("step.not_free", step=step_id)
            return
        due = pipeline.execute(database, claim, worker)
        send_steps(self.app, database, due, retry_after={step_id: worker.retry_seconds * claim.attempt})
        note_progress(database)


def send_steps(
    app: Any, database: Database, steps: Iterable[RunStep], retry_after: dict[str, float] | None = None
) -> int:
    """Send one message a step, after the commit that made them; returns how many the broker took.

    A hint only: a message that is lost here is sent again by the reconciler, which reads the database.
    """
    sent = []
    for step in steps:
        countdown = (retry_after or {}).get(step.id)
        try:
            app.send_task(f"slowwave.{step.stage}", args=[step.id], countdown=countdown, retry=False)
        except (OperationalError, OSError) as error:
            log.warning("broker.unreachable", error=type(error).__name__, left_to="reconciler")
            break
        sent.append(step.id)
    if sent:
        with database.write() as session:
            mark_enqueued(session, sent)
    return len(sent)


def note_progress(database: Database) -> None:
    """Tell the database that this worker gets work done: health is progress, not an answer to a ping."""
    host, pid, _ = identity.owner().rsplit("/", 2)
    with database.write() as session:
        beat_heart(session, "worker", {"host": host, "pid": int(pid)})
        beat_heart(session, f"worker:{host}")
