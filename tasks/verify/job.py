"""The Celery door to the verify stage."""

from __future__ import annotations

from celery import shared_task

from tasks.door import StepTask


@shared_task(name="slowwave.verify", bind=True)
def verify(self: StepTask, step_id: str) -> None:
    """Check the night's drafts."""
    self.run_step(step_id)
