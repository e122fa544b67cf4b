"""The Celery door to the contrast stage."""

from __future__ import annotations

from celery import shared_task

from tasks.door import StepTask


@shared_task(name="slowwave.contrast", bind=True)
def contrast(self: StepTask, step_id: str) -> None:
    """Compare successes with failures inside one family."""
    self.run_step(step_id)
