"""The Celery door to the recheck of active rules."""

from __future__ import annotations

from celery import shared_task

from tasks.door import StepTask


@shared_task(name="slowwave.recheck", bind=True)
def recheck(self: StepTask, step_id: str) -> None:
    """Test the active rules again on what the night brought."""
    self.run_step(step_id)
