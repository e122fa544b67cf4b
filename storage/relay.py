"""Writes of the relay: what was sent, and what could not be."""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa
from sqlmodel import Session, col

from storage.engine import database_now
from storage.tables import OutboxEvent


def mark_relayed(session: Session, namespace: str, epochs: Collection[int]) -> None:
    """These events are in their stream."""
    statement = sa.update(OutboxEvent).where(
        col(OutboxEvent.namespace) == namespace, col(OutboxEvent.epoch).in_(epochs)
    )
    session.execute(statement.values(relayed_at=database_now(session)))


def mark_refused(session: Session, namespace: str, epoch: int, error: str, give_up_after: int) -> bool:
    """Count a refusal; True once the event is given up, which readers see as a gap and answer with a full refresh."""
    event = session.get(OutboxEvent, (namespace, epoch), with_for_update=True)
    assert event is not None, "events are never deleted"
    event.attempts, event.last_error = event.attempts + 1, error[:500]
    if event.attempts >= give_up_after:
        event.relayed_at = database_now(session)
    return event.relayed_at is not None
