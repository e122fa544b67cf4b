"""Questions of the relay: which events no stream has yet."""

from __future__ import annotations

from collections.abc import Sequence

from sqlmodel import Session, col, select

from storage.tables import OutboxEvent


def namespaces_pending(session: Session) -> Sequence[str]:
    """Namespaces with events that were not relayed."""
    statement = select(OutboxEvent.namespace).where(col(OutboxEvent.relayed_at).is_(None)).distinct()
    return session.exec(statement.order_by(OutboxEvent.namespace)).all()


def events_pending(session: Session, namespace: str, limit: int) -> Sequence[OutboxEvent]:
    """The oldest events of a namespace that were not relayed, in epoch order."""
    statement = select(OutboxEvent).where(OutboxEvent.namespace == namespace, col(OutboxEvent.relayed_at).is_(None))
    return session.exec(statement.order_by(col(OutboxEvent.epoch)).limit(limit)).all()


def events_pending_count(session: Session) -> int:
    """How many events no stream has yet."""
    return len(session.exec(select(OutboxEvent.epoch).where(col(OutboxEvent.relayed_at).is_(None))).all())
