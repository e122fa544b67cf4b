"""The Celery door to the select stage."""

from __future__ import annotations

from celery import shared_task

from tasks.door import StepTask


@shared_task(name="slowwave.select", bind=True)
def select(self: StepTask, step_id: str) -> None:
    """Choose the episodes of one night and record them as consumed."""
    self.run_step(step_id)
