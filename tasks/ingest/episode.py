"""The canonical episode: what every importer returns and every later stage reads.

Pure: no SQL, no clock. Times are UTC; a naive time is taken as UTC and ``time_is_naive`` says so.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

StepKind = Literal[
    "user", "plan", "claim", "tool_call", "observation", "answer", "memory_read", "memory_write", "system"
]
Outcome = Literal["success", "failure", "partial", "unknown"]
OutcomeSource = Literal["verifier", "environment", "exit-code", "human", "recorded", "self-reported"]
Trust = Literal["internal", "user", "tool", "external"]

STATING: frozenset[StepKind] = frozenset({"claim", "memory_write"})
"""Kinds of steps that state facts: what an agent says it holds to be so, and what it writes down."""

MOST_VERSION = 2**31 - 1
"""The largest rule version a database column holds: a greater one names no version, and would not be read back."""
LONGEST_ID = 300
"""Characters of an id that episodes are looked up by: PostgreSQL keeps no more than 2,700 bytes in one index entry."""


class Step(BaseModel):
    """One typed event of an episode.

    ``requestor`` tells a user's own tool call (``"user"``) from the agent's (``"agent"``).
    ``raw_arguments`` keeps arguments that were not a JSON object, as they were written. ``agent`` names who made the
    step where a run has several. ``is_copied_context`` marks what was carried over from an earlier run: it is shown and
    never counted again. ``uri`` points to a protected source whose text was not copied. ``exit_code`` is that of the
    command an observation reports.
    """

    model_config = ConfigDict(extra="forbid")

    id: str
    kind: StepKind
    text: str = ""
    name: str | None = None
    arguments: dict[str, Any] | None = None
    raw_arguments: str | None = None
    requestor: Literal["agent", "user"] = "agent"
    of: str | None = None
    is_error: bool | None = None
    exit_code: int | None = Field(None, ge=-(2**31), lt=2**32)
    agent: str | None = None
    is_copied_context: bool = False
    uri: str | None = None
    source: str | None = None
    trust: Trust | None = None
    at: datetime | None = None
    # memory reads carry what was read
    rule: str | None = None
    version: int | None = Field(None, ge=0, le=MOST_VERSION)
    snapshot: str | None = None
    # relations of the typed memory-to-action graph, by step id (or memory id for memory relations)
    initiated_by: list[str] = Field(default_factory=list)
    cites: list[str] = Field(default_factory=list)
    supports: list[str] = Field(default_factory=list)
    produces: list[str] = Field(default_factory=list)
    creates: list[str] = Field(default_factory=list)
    updates: list[str] = Field(default_factory=list)
    deletes: list[str] = Field(default_factory=list)
    consolidates: list[str] = Field(default_factory=list)
    supersedes: list[str] = Field(default_factory=list)
    derived_from: list[str] = Field(default_factory=list)

    @field_validator("at")
    @classmethod
    def _utc(cls, value: datetime | None) -> datetime | None:
        return as_utc(value)


class Episode(BaseModel):
    """One recorded run: task, steps, outcome. Only ``task`` and ``steps`` are required.

    ``source_id`` is the id the source gave; the store derives its own key from content.
    """

    model_config = ConfigDict(extra="forbid")

    source_id: str | None = Field(default=None, alias="id", max_length=LONGEST_ID)
    task: str
    task_key: str | None = None
    session_id: str | None = Field(default=None, max_length=LONGEST_ID)
    retry_of: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    environment: dict[str, str] = Field(default_factory=dict)
    tools_offered: list[str] = Field(default_factory=list)
    started_at: datetime | None = None
    ended_at: datetime | None = None
    time_is_naive: bool = False
    outcome: Outcome = "unknown"
    outcome_source: OutcomeSource | None = None
    reward: float | None = Field(None, allow_inf_nan=False)
    trust: Trust = "internal"
    steps: list[Step]
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _mark_naive(cls, data: Any) -> Any:
        """A time without an offset marks the episode, before validation turns it into UTC."""
        if not isinstance(data, dict) or data.get("time_is_naive"):
            return data
        steps = data.get("steps")
        times = [data.get("started_at"), data.get("ended_at")]
        times += [step.get("at") for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
        naive = any(is_naive(time) for time in times)
        return {**data, "time_is_naive": True} if naive else data

    @field_validator("started_at", "ended_at")
    @classmethod
    def _utc(cls, value: datetime | None) -> datetime | None:
        return as_utc(value)


def as_utc(value: datetime | None) -> datetime | None:
    """``value`` in UTC; a naive time is taken as UTC.

    Raises:
        ValueError: for a time that UTC would put outside the calendar.
    """
    if value is None:
        return None
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is outside the calendar once in UTC") from error


def is_naive(value: object) -> bool:
    """Whether a written or parsed time carries no offset."""
    if isinstance(value, datetime):
        return value.tzinfo is None
    if not isinstance(value, str):
        return False
    try:
        return datetime.fromisoformat(value.replace("Z", "+00:00")).tzinfo is None
    except ValueError:
        return False
