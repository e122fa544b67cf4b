"""The Celery door to the cluster stage."""

from __future__ import annotations

from celery import shared_task

from tasks.door import StepTask


@shared_task(name="slowwave.cluster", bind=True)
def cluster(self: StepTask, step_id: str) -> None:
    """Put a night's episodes into families, strata and clusters."""
    self.run_step(step_id)
