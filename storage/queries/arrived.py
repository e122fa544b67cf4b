"""Evidence that somebody asked for: the candidates that wait for it, and the runs that came in since."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.consolidation import KNOWN
from storage.queries.recoveries import OF_STEPS
from storage.tables import Candidate, ClusterEpisode, Episode
from storage.tables.review import PARKED


class Came(NamedTuple):
    """A current, unpurged run that came in. ``group`` is its independence group, once a night has looked at it."""

    id: str
    session_id: str | None
    agent: str | None
    environment: dict[str, Any]
    task_key: str
    outcome: str
    group: str | None


def candidates_parked(session: Session, namespace: str) -> Sequence[Candidate]:
    """Candidates that wait for evidence, the longest first."""
    statement = select(Candidate).where(Candidate.namespace == namespace, sa.text(PARKED))
    return session.exec(statement.order_by(col(Candidate.parked_at), col(Candidate.id))).all()


def came_since(
    session: Session, namespace: str, family_id: str | None, since: datetime, *, judged: bool = True
) -> list[Came]:
    """Runs of a family, or of the whole namespace, that came in after a moment; text from outside is no evidence.

    Args:
        judged: those with a verdict from elsewhere than the agent itself; else those without one.
    """
    verdict = col(Episode.outcome).in_(KNOWN)
    named = col(Episode.outcome_source)
    kind = verdict & (named != "self-reported") if judged else ~verdict | named.in_(OF_STEPS)
    own = (col(getattr(Episode, name)) for name in Came._fields[:-1])
    statement = (
        sa.select(*own, col(ClusterEpisode.group_id))
        .outerjoin(
            ClusterEpisode,
            (col(ClusterEpisode.namespace) == col(Episode.namespace))
            & (col(ClusterEpisode.episode_id) == col(Episode.id)),
        )
        .where(col(Episode.namespace) == namespace, col(Episode.ingested_at) > since, kind)
        .where(col(Episode.is_current), col(Episode.purged_at).is_(None), col(Episode.trust) != "external")
    )
    if family_id is not None:
        statement = statement.where(col(Episode.family_id) == family_id)
    return [Came._make(row) for row in session.execute(statement)]
