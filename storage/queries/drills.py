"""Questions about drills: what the last ones found, and how long acknowledgements took."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import AckSpan, DrillResult, Episode, OutboxEvent

LONGEST_SPAN = 200
"""Events of one acknowledgement that are looked at: whoever comes back after more was away, not slow."""


def results_newest(session: Session, limit: int) -> Sequence[DrillResult]:
    """The last results, newest first."""
    return session.exec(
        select(DrillResult).order_by(col(DrillResult.at).desc(), col(DrillResult.id)).limit(limit)
    ).all()


def events_covered(session: Session, namespace: str, consumer: str, epoch: int) -> Sequence[datetime]:
    """When the events were written that a consumer's step to ``epoch`` covered; none for its first word."""
    step = session.get(AckSpan, (namespace, consumer, epoch))
    if step is None or step.after_epoch >= epoch:
        return []
    after = max(step.after_epoch, epoch - LONGEST_SPAN)
    covered = (OutboxEvent.namespace == namespace, col(OutboxEvent.epoch) > after, col(OutboxEvent.epoch) <= epoch)
    return session.exec(select(OutboxEvent.created_at).where(*covered)).all()


def calls_of(session: Session, namespace: str, episode_ids: Collection[str]) -> int:
    """How many tool calls these episodes hold together. At most some thousand ids: a drill has no more sessions."""
    total = sa.select(sa.func.coalesce(sa.func.sum(col(Episode.n_calls)), 0))
    mine = (col(Episode.namespace) == namespace) & col(Episode.id).in_(episode_ids)
    return int(session.execute(total.where(mine)).scalar_one())
