"""Candidates that were split or merged: what took their place, whether it still stands, and what was tested of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.candidates import OPEN_STATES, candidates_by_ids
from storage.tables import Candidate, Episode, Look, RuleVersion

GONE_VERSIONS = ("revoked", "expired")
BATCH = 500
"""Most ids in one statement."""


def looks_at(session: Session, namespace: str, predicate_id: str) -> Sequence[Look]:
    """Every confirmation look at a claim, oldest first."""
    statement = select(Look).where(Look.namespace == namespace, Look.predicate_id == predicate_id)
    return session.exec(statement.order_by(col(Look.run_id), col(Look.fold))).all()


def nights_that_looked_at(session: Session, namespace: str, fold: int, but_run: str) -> int:
    """How many other runs of the namespace looked at anything on a fold."""
    statement = select(sa.func.count(sa.distinct(col(Look.run_id)))).where(
        Look.namespace == namespace, Look.fold == fold, Look.run_id != but_run
    )
    return int(session.exec(statement).one())


def agents_of_family(session: Session, namespace: str, family_id: str) -> set[str]:
    """The agents that made the runs of a family, as far as those name one."""
    statement = select(Episode.agent).where(
        Episode.namespace == namespace, Episode.family_id == family_id, col(Episode.agent).is_not(None)
    )
    return {agent for agent in session.exec(statement.distinct()) if agent}


def episodes_by_ids(session: Session, namespace: str, ids: Collection[str]) -> dict[str, Episode]:
    """Rows of episodes by id; unknown ids are absent."""
    ordered, found = sorted(ids), {}
    for start in range(0, len(ordered), BATCH):
        part = col(Episode.id).in_(ordered[start : start + BATCH])
        found.update({row.id: row for row in session.exec(select(Episode).where(Episode.namespace == namespace, part))})
    return found


def taken_in_families(session: Session, namespace: str, family_ids: Collection[str]) -> Sequence[Candidate]:
    """Void candidates of these families whose place others took, by id."""
    statement = select(Candidate).where(
        Candidate.namespace == namespace,
        Candidate.state == "void",
        col(Candidate.family_id).in_(family_ids),
        sa.cast(col(Candidate.taken_by), sa.String) != "[]",
    )
    # In an order that no index gives, so that what is void is read and not all of the namespace.
    return session.exec(statement.order_by(col(Candidate.id) + "")).all()


def still_taken(session: Session, namespace: str, ids: Collection[str]) -> set[str]:
    """Of these candidates those whose place somebody has: one of ``taken_by`` waits, or is a rule, or is so taken.

    A part that was split again or merged into another stands for as long as what took its own place does.
    """
    rows = candidates_by_ids(session, namespace, ids)
    return {one for one, row in rows.items() if row.taken_by and _stand(session, namespace, row.taken_by, {one})}


def _stand(session: Session, namespace: str, ids: Sequence[str], seen: set[str]) -> bool:
    rows = candidates_by_ids(session, namespace, set(ids) - seen)
    seen |= set(rows)
    if any(row.state in OPEN_STATES for row in rows.values()):
        return True
    if _served(session, namespace, [one for one, row in rows.items() if row.state == "promoted"]):
        return True
    below = [taker for row in rows.values() if row.state == "void" for taker in row.taken_by]
    return bool(below) and _stand(session, namespace, below, seen)


def _served(session: Session, namespace: str, ids: Collection[str]) -> bool:
    """Whether a rule made of one of these was not taken away since: what a later version replaced still stands."""
    statement = select(RuleVersion.rule_id).where(
        RuleVersion.namespace == namespace,
        col(RuleVersion.candidate_id).in_(ids),
        col(RuleVersion.state).not_in(GONE_VERSIONS),
    )
    return bool(ids) and session.exec(statement.limit(1)).first() is not None


def titles_of(session: Session, namespace: str, ids: Collection[str]) -> Mapping[str, str]:
    """Titles of candidates by id; unknown ids are absent."""
    statement = select(Candidate.id, Candidate.title).where(
        Candidate.namespace == namespace, col(Candidate.id).in_(ids)
    )
    return dict(session.exec(statement).all())
