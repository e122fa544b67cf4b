"""Beat's scheduler: two static entries kept in memory, and a heartbeat for each message the broker took.

Nothing is kept on disk: what is due is computed from the database by the task that is sent.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import structlog
from celery.beat import Scheduler
from sqlalchemy.exc import SQLAlchemyError

from storage.runs import beat_heart
from worker import resources

log = structlog.get_logger()
HEART_SECONDS = 2.0


class HeartScheduler(Scheduler):
    """Celery's scheduler in memory, whose heartbeat says that messages go out."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._last_heart = 0.0
        super().__init__(*arguments, **options)

    def setup_schedule(self) -> None:
        """Every entry is due at the start: what came due while beat was down is looked at now, not a period later."""
        super().setup_schedule()
        for entry in self.schedule.values():
            entry.last_run_at = entry.default_now() - timedelta(days=1)

    def apply_async(self, *arguments: Any, **options: Any) -> Any:
        """Send one entry; the broker took it when this returns."""
        sent = super().apply_async(*arguments, **options)
        if time.monotonic() - self._last_heart >= HEART_SECONDS:
            self._beat()
        return sent

    def _beat(self) -> None:
        try:
            with resources.database().write() as session:
                beat_heart(session, "beat")
            self._last_heart = time.monotonic()
        except SQLAlchemyError as error:
            log.warning("beat.heart_failed", error=type(error).__name__)
