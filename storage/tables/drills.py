"""What drills found."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlmodel import Field

from storage.tables.base import Row, json_field, time_field


class DrillResult(Row, table=True):
    """One drill under one condition. Seconds throughout; ``summary`` is the whole report as the command prints it."""

    __tablename__ = "drill_result"

    id: str = Field(primary_key=True)
    at: datetime = time_field(index=True)
    mode: str
    condition: str
    during: str
    database: str
    readers: int
    lease_seconds: float
    limit_seconds: float
    passed: bool
    summary: dict[str, Any] = json_field()
