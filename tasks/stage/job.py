"""The Celery door to the last stage, which fills the staging area."""

from __future__ import annotations

from celery import shared_task

from tasks.door import StepTask


@shared_task(name="slowwave.stage", bind=True)
def stage(self: StepTask, step_id: str) -> None:
    """Put the night's checked drafts before the reviewers."""
    self.run_step(step_id)
