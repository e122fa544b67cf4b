"""The Celery door to the conflict stage."""

from __future__ import annotations

from celery import shared_task

from tasks.door import StepTask


@shared_task(name="slowwave.conflict", bind=True)
def conflict(self: StepTask, step_id: str) -> None:
    """Find what contradicts the night's drafts."""
    self.run_step(step_id)
