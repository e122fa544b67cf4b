"""The two tasks that beat sends: open the nights that are due, and send again what got lost."""

from __future__ import annotations

from celery import Task, shared_task

from tasks.pipeline import utc_now
from tasks.revoke.expire_step import expire
from worker import identity, resources, schedule
from worker.base_task import note_progress, send_steps
from worker.reconcile import reconcile


@shared_task(name="slowwave.tick", bind=True)
def tick(self: Task) -> None:
    """Open every scheduled night that is due and absent, and send its first step; withdraw what is past its end."""
    database = resources.database()
    expire(database, utc_now())
    for run in schedule.tick(database):
        send_steps(self.app, database, schedule.first_steps(database, run))


@shared_task(name="slowwave.reconcile", bind=True)
def sweep(self: Task) -> None:
    """Compare the ledger with what is under way, and put it right."""
    database = resources.database()
    reconcile(
        database,
        max_attempts=resources.settings().step_attempts,
        is_dead=identity.is_dead,
        send=lambda steps: send_steps(self.app, database, steps),
    )
    note_progress(database)
