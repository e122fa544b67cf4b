"""What a policy would be tried on: the candidates that wait, and what is served."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.candidates import OPEN_STATES, current_revisions
from storage.tables import Candidate, CandidateRevision, RuleVersion


def waiting_candidates(
    session: Session, namespace: str, batch: int = 200
) -> Iterator[tuple[Candidate, CandidateRevision]]:
    """Candidates that wait for a decision or for evidence, by id, with their current revisions; a batch at a time."""
    last = ""
    while True:
        statement = (
            select(Candidate)
            .where(
                Candidate.namespace == namespace, col(Candidate.state).in_(OPEN_STATES), col(Candidate.id) > last
            )
            .order_by(col(Candidate.id))
            .limit(batch)
        )  # fmt: skip
        found = session.exec(statement).all()
        revisions = current_revisions(session, namespace, [candidate.id for candidate in found])
        yield from ((candidate, revisions[candidate.id]) for candidate in found if candidate.id in revisions)
        if len(found) < batch:
            return
        last = found[-1].id
        session.expunge_all()


def active_by_tier(session: Session, namespace: str) -> dict[str, int]:
    """How many rules are served, by tier; exemplars are none."""
    statement = (
        select(RuleVersion.tier, sa.func.count())
        .where(RuleVersion.namespace == namespace, RuleVersion.state == "active", RuleVersion.kind == "rule")
        .group_by(RuleVersion.tier)
    )
    return dict(session.exec(statement).all())
