"""Reserve a candidate for whoever reads it, so that a second reviewer takes another one; anybody may still decide."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from storage import reservations
from storage.engine import Database
from storage.queries.queue import Asked, Order, free_keys, reservations_on
from tasks.promote.people import Reviewer

HELD_FOR = timedelta(minutes=10)
PATIENCE_MS = 300
"""A reservation is a courtesy: a page does not wait longer than this for it."""


@dataclass(frozen=True)
class Holder:
    """Who reads a candidate: since when, and until when it is kept for them if they look no more."""

    user_id: str
    name: str
    since: datetime
    until: datetime

    def is_person(self, user_id: str) -> bool:
        """Whether it is this person."""
        return self.user_id == user_id


def holders(session: Session, keys: list[tuple[str, str]], now: datetime) -> dict[tuple[str, str], Holder]:
    """Who reads which of these candidates, by (namespace, id)."""
    return {
        key: Holder(held.reservation.user_id, held.name, held.reservation.since, held.reservation.until)
        for key, held in reservations_on(session, keys, now).items()
    }


def reserve(
    database: Database, namespace: str, candidate_id: str, *, reviewer: Reviewer, now: datetime
) -> Holder | None:
    """Hold a candidate for this person, or go on holding it; returns who holds it now, who may be somebody else.

    Nothing is written while their hold has more than half of its time left. None for somebody who may not decide here.

    Raises:
        sqlalchemy.exc.DBAPIError: if the database did not take the write, or not soon enough.
    """
    key = (namespace, candidate_id)
    with database.read() as session:
        held = holders(session, [key], now).get(key)
    if not reviewer.may_decide(namespace):
        return held
    if held is not None and (not held.is_person(reviewer.user_id) or held.until - now > HELD_FOR / 2):
        return held
    with database.write(patience_ms=PATIENCE_MS) as session:
        reservations.take(session, namespace, candidate_id, reviewer.user_id, now=now, until=now + HELD_FOR)
    with database.read() as session:
        return holders(session, [key], now).get(key)


def release(database: Database, namespace: str, candidate_id: str, *, reviewer: Reviewer) -> bool:
    """Let a candidate go; False if this person did not hold it."""
    with database.write() as session:
        return reservations.let_go(session, namespace, candidate_id, reviewer.user_id)


def take_next(database: Database, asked: Asked, order: Order, *, reviewer: Reviewer) -> tuple[str, str] | None:
    """Hold the first candidate of the queue that nobody reads and this person may still decide on: (namespace, id)."""
    with database.read() as session:
        free = [key for key in free_keys(session, asked, order, reviewer.user_id) if reviewer.may_decide(key[0])]
    for namespace, candidate_id in free:
        with database.write() as session:
            if reservations.take(
                session, namespace, candidate_id, reviewer.user_id, now=asked.now, until=asked.now + HELD_FOR
            ):
                return namespace, candidate_id
    return None
