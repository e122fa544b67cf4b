"""The Celery door to the repair that follows a revocation."""

from __future__ import annotations

from celery import shared_task

from tasks.door import StepTask


@shared_task(name="slowwave.repair", bind=True)
def repair(self: StepTask, step_id: str) -> None:
    """Restore what still stands after a revocation, and draft again what does not."""
    self.run_step(step_id)
