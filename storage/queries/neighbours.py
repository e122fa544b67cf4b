"""The candidates that wait before and after one, in the queue's own order."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col

from storage.queries.queue import Asked, filters_of
from storage.tables import Candidate

Key = tuple[str, str]
"""Namespace and id."""


class Neighbours(NamedTuple):
    """The one before and the one after; None at either end."""

    before: Key | None
    after: Key | None


def neighbours(session: Session, asked: Asked, candidate: Candidate) -> Neighbours:
    """What comes before and after a candidate among those asked for, the most worthwhile first.

    It need not be one of them itself: one that was decided still has its place by its rank.
    """
    place = sa.tuple_(col(Candidate.rank), col(Candidate.namespace), col(Candidate.id))
    here = sa.tuple_(sa.literal(candidate.rank), sa.literal(candidate.namespace), sa.literal(candidate.id))
    columns = (col(Candidate.rank), col(Candidate.namespace), col(Candidate.id))
    found = sa.select(col(Candidate.namespace), col(Candidate.id)).where(*filters_of(asked)).limit(1)
    before = session.execute(found.where(place > here).order_by(*columns)).first()
    after = session.execute(found.where(place < here).order_by(*(column.desc() for column in columns))).first()
    return Neighbours(*((row[0], row[1]) if row else None for row in (before, after)))
