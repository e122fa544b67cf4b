"""Writes of drills: their results are kept, so that a slow release shows beside the ones before it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlmodel import Session

from storage.ids import uuid7
from storage.tables import DrillResult


def keep_result(
    session: Session,
    *,
    mode: str,
    condition: str,
    during: str,
    database: str,
    readers: int,
    lease_seconds: float,
    limit_seconds: float,
    passed: bool,
    summary: dict[str, Any],
    now: datetime,
) -> str:
    """Keep what one drill found; returns its id."""
    row = DrillResult(
        id=uuid7(),
        at=now,
        mode=mode,
        condition=condition,
        during=during,
        database=database,
        readers=readers,
        lease_seconds=lease_seconds,
        limit_seconds=limit_seconds,
        passed=passed,
        summary=summary,
    )
    session.add(row)
    return row.id
