"""What a ``job.py`` sees of the process it runs in. The process side is the worker's base task."""

from __future__ import annotations

from typing import Protocol


class StepTask(Protocol):
    """A Celery task bound to the worker's base class."""

    def run_step(self, step_id: str) -> None:
        """Claim this step of the ledger and work on it; nothing happens if it is not free."""
