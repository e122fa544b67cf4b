"""What the review pages show of candidates. ``granted`` are the viewer's namespace prefixes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlmodel import Session, col, select

from storage.tables import (
    Candidate,
    CandidateRevision,
    Decision,
    Episode,
    Evidence,
    Namespace,
    User,
)


def within(column: Any, granted: Sequence[str]) -> sa.ColumnElement[bool]:
    """A namespace column lies in a grant: itself or below it, by whole segments. No grant listed means all."""
    if not granted:
        return sa.true()
    below = [column.startswith(f"{prefix}/", autoescape=True) for prefix in granted]
    return sa.or_(column.in_(list(granted)), *below)


def among(session: Session, values: Collection[str]) -> Callable[[Any], sa.ColumnElement[bool]]:
    """The condition that a column has one of these texts.

    PostgreSQL gets them as one array: its driver neither keeps nor prepares a statement with a parameter for each.
    """
    if session.get_bind().dialect.name == "postgresql":
        array = sa.literal(sorted(values), postgresql.ARRAY(sa.String))
        return lambda column: column == sa.func.any(array)
    return lambda column: column.in_(sorted(values))


def visible_namespaces(session: Session, granted: Sequence[str]) -> list[str]:
    """Paths of the namespaces that a viewer may know of."""
    return list(
        session.exec(select(Namespace.path).where(within(col(Namespace.path), granted)).order_by(Namespace.path))
    )


def candidate_with_revision(
    session: Session, granted: Sequence[str], namespace: str, candidate_id: str
) -> tuple[Candidate, CandidateRevision] | None:
    """A candidate and the revision that stands now, if the viewer may see it."""
    statement = (
        select(Candidate, CandidateRevision)
        .join(
            CandidateRevision,
            sa.and_(
                col(CandidateRevision.namespace) == col(Candidate.namespace),
                col(CandidateRevision.candidate_id) == col(Candidate.id),
                col(CandidateRevision.number) == col(Candidate.number),
            ),
        )
        .where(
            within(col(Candidate.namespace), granted), Candidate.namespace == namespace, Candidate.id == candidate_id
        )
    )
    return session.exec(statement).first()


def evidence_counts(session: Session, namespace: str, candidate_id: str, number: int) -> dict[str, int]:
    """How many links a revision has, by stance."""
    statement = (
        select(Evidence.stance, sa.func.count())
        .where(Evidence.namespace == namespace, Evidence.candidate_id == candidate_id, Evidence.number == number)
        .group_by(Evidence.stance)
    )
    return dict(session.exec(statement).all())


def evidence_page(
    session: Session, namespace: str, candidate_id: str, number: int, stance: str, offset: int, limit: int
) -> list[tuple[Evidence, Episode]]:
    """Links of one stance with their episodes, one of each independence group before a second of any."""
    nth = (
        sa.func.row_number()
        .over(partition_by=col(Evidence.group_id), order_by=col(Evidence.id))
        .label("nth")
    )  # fmt: skip
    statement = (
        select(Evidence, Episode)
        .join(
            Episode,
            sa.and_(col(Episode.namespace) == col(Evidence.namespace), col(Episode.id) == col(Evidence.episode_id)),
        )
        .where(
            Evidence.namespace == namespace,
            Evidence.candidate_id == candidate_id,
            Evidence.number == number,
            Evidence.stance == stance,
        )
        .order_by(nth, col(Evidence.stratum), col(Evidence.id))
        .offset(offset)
        .limit(limit)
    )
    return list(session.exec(statement))


def decisions_on(session: Session, namespace: str, candidate_ids: Sequence[str]) -> list[tuple[Decision, str]]:
    """Every decision on these candidates with the reviewer's name, oldest first."""
    statement = (
        select(Decision, User.name)
        .join(User, col(User.id) == col(Decision.reviewer_id))
        .where(Decision.namespace == namespace, col(Decision.candidate_id).in_(list(candidate_ids)))
        .order_by(col(Decision.at), col(Decision.id))
    )
    return list(session.exec(statement))
