"""Events written with the change they tell of, numbered under the namespace row's lock."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import Namespace, OutboxEvent

EventKind = Literal["promoted", "superseded", "quarantined", "restored", "revoked", "expired", "purged"]


class NamespaceUnknown(LookupError):
    """Nothing was ever ingested into this namespace; check its spelling, or ingest into it first."""


def change(kind: EventKind, rule_id: str, version: int, reason: str = "") -> dict[str, Any]:
    """One entry of an event's list of changes."""
    return {"event": kind, "rule": rule_id, "version": version, "reason": reason}


def lock_namespace(session: Session, namespace: str) -> int:
    """Take the namespace row's lock and return its epoch: the first act of a decision, a revocation or a restoration.

    With it they follow one another, so that nothing is promoted on a version while it is being revoked; the epoch they
    will publish is the next one. Order of locks: namespace, rows, audit head. On PostgreSQL the lock lets rows that
    only refer to the namespace pass.

    Raises:
        NamespaceUnknown: if the namespace has no row.
    """
    statement = select(Namespace.epoch).where(Namespace.path == namespace).with_for_update(key_share=True)
    epoch = session.exec(statement).one_or_none()
    if epoch is None:
        raise NamespaceUnknown(f"namespace {namespace!r} is unknown: nothing was ingested into it; check its spelling")
    return int(epoch)


def current_epoch(session: Session, namespace: str) -> int:
    """The epoch of the newest event, without a lock; 0 for a namespace that has none."""
    return int(session.exec(select(Namespace.epoch).where(Namespace.path == namespace)).one_or_none() or 0)


def publish(session: Session, namespace: str, changes: list[dict[str, Any]], now: datetime) -> int:
    """Take the next epoch and write its event. The last act of a transaction: commit order is epoch order.

    Raises:
        NamespaceUnknown: if the namespace has no row.
    """
    session.flush()
    statement = (
        sa.update(Namespace)
        .where(col(Namespace.path) == namespace)
        .values(epoch=col(Namespace.epoch) + 1)
        .returning(col(Namespace.epoch))
    )
    epoch = session.execute(statement).scalar_one_or_none()
    if epoch is None:
        raise NamespaceUnknown(f"namespace {namespace!r} is unknown: nothing was ingested into it")
    session.add(OutboxEvent(namespace=namespace, epoch=epoch, changes=changes, created_at=now))
    return int(epoch)
