"""What the comparison of retries asks: sessions that nobody judged, whose steps are all there is to learn from."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.consolidation import KNOWN
from storage.tables import Episode, RunEpisode


class Unjudged(NamedTuple):
    """One consumed episode without a verdict from outside. ``claims``: the reads its record claims."""

    id: str
    source_id: str | None
    task_key: str
    session_id: str | None
    started_at: datetime | None
    retry_of: str | None
    agent: str | None
    model: str | None
    principal: str
    principal_capped: bool
    trust: str
    ingested_at: datetime
    claims: Any
    consumed_by: str


def unjudged_episodes(session: Session, namespace: str) -> list[Unjudged]:
    """Every consumed, current, unpurged episode that nobody judged, in the order of arrival."""
    own = (col(getattr(Episode, name)) for name in Unjudged._fields[: Unjudged._fields.index("claims")])
    statement = (
        sa.select(*own, col(Episode.details)["memory_reads"].as_string(), col(RunEpisode.run_id))
        .join(RunEpisode, _consumption())
        .where(col(Episode.namespace) == namespace, _unjudged())
        .where(col(Episode.is_current), col(Episode.purged_at).is_(None))
        .order_by(col(RunEpisode.run_id), col(Episode.ingested_at), col(Episode.id))
    )
    return [Unjudged._make(row) for row in session.execute(statement)]


def count_unjudged_of_run(session: Session, namespace: str, run_id: str) -> int:
    """How many of the episodes that a run consumed nobody judged."""
    statement = (
        select(sa.func.count())
        .select_from(Episode)
        .join(RunEpisode, _consumption())
        .where(RunEpisode.run_id == run_id, Episode.namespace == namespace, _unjudged())
    )
    return int(session.exec(statement).one())


OF_STEPS = ("self-reported", "exit-code")
"""Sources of an outcome that are no verdict on the session: its own word, or the exit code of one of its steps."""


def _unjudged() -> sa.ColumnElement[bool]:
    return col(Episode.outcome).not_in(KNOWN) | col(Episode.outcome_source).in_(OF_STEPS)


def _consumption() -> sa.ColumnElement[bool]:
    return (col(RunEpisode.namespace) == col(Episode.namespace)) & (col(RunEpisode.episode_id) == col(Episode.id))
