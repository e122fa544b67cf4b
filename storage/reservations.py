"""Who is reading which candidate: one conditional upsert to take it, one delete to let it go."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlmodel import Session, col

from storage.tables import Reservation


def take(session: Session, namespace: str, candidate_id: str, user_id: str, *, now: datetime, until: datetime) -> bool:
    """Hold a candidate that nobody else holds, or hold it longer; False if somebody else was faster.

    ``since`` stays what it was while the same person goes on reading.
    """
    insert: Any = sqlite_insert if session.get_bind().dialect.name == "sqlite" else postgres_insert
    statement = insert(Reservation).values(
        namespace=namespace, candidate_id=candidate_id, user_id=user_id, since=now, until=until
    )
    mine = col(Reservation.user_id) == user_id
    ended = col(Reservation.until) <= now
    statement = statement.on_conflict_do_update(
        index_elements=["namespace", "candidate_id"],
        set_={
            "user_id": user_id,
            "since": sa.case((mine & ~ended, col(Reservation.since)), else_=statement.excluded.since),
            "until": until,
        },
        where=mine | ended,
    ).returning(col(Reservation.user_id))
    return session.execute(statement).first() is not None


def let_go(session: Session, namespace: str, candidate_id: str, user_id: str) -> bool:
    """End this person's hold on a candidate; False if they had none."""
    statement = sa.delete(Reservation).where(
        col(Reservation.namespace) == namespace,
        col(Reservation.candidate_id) == candidate_id,
        col(Reservation.user_id) == user_id,
    )
    return session.execute(statement).rowcount == 1  # type: ignore[attr-defined]
