"""The Celery door to the draft stage."""

from __future__ import annotations

from celery import shared_task

from tasks.door import StepTask


@shared_task(name="slowwave.draft", bind=True)
def draft(self: StepTask, step_id: str) -> None:
    """Draft what the night's confirmed findings say."""
    self.run_step(step_id)
