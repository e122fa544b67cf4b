"""Writes on candidates and decisions: conditional UPDATEs decide races."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.lifecycle import CANDIDATE_MOVES
from storage.tables import Candidate, CandidateRevision, Decision, Evidence

WAITING_STATES = frozenset({"staged", "approved"})
NOTHING_WANTED: dict[str, Any] = {"wanted": {}, "parked_at": None, "parked_by": None}
"""The columns of a candidate that waits for no evidence."""


def move_candidate(
    session: Session, candidate: Candidate, to: str, now: datetime, *, extra: dict[str, Any] | None = None
) -> bool:
    """Move a candidate that still is exactly what was loaded: same state, same revision, same content.

    Staying in its state (a refresh) is a move too. ``extra`` are further columns to set. What no longer waits for a
    decision waits for no evidence either. False if somebody else was faster.
    """
    if to != candidate.state and to not in CANDIDATE_MOVES[candidate.state]:
        return False
    values = {"state": to, "updated_at": now, **({} if to in WAITING_STATES else NOTHING_WANTED), **(extra or {})}
    statement = (
        sa.update(Candidate)
        .where(
            col(Candidate.namespace) == candidate.namespace,
            col(Candidate.id) == candidate.id,
            col(Candidate.state) == candidate.state,
            col(Candidate.number) == candidate.number,
            col(Candidate.content_hash) == candidate.content_hash,
        )
        .values(**values)
        .execution_options(synchronize_session=False)
    )
    moved = session.execute(statement).rowcount == 1  # type: ignore[attr-defined]
    session.refresh(candidate)
    return moved


def set_reach(session: Session, namespace: str, reaches: Sequence[tuple[str, int]]) -> None:
    """Set how many sessions each of these candidates would have reached of late, by id; nothing else of them moves."""
    statement = sa.update(sa.table("candidate", sa.column("namespace"), sa.column("id"), sa.column("reach")))
    statement = statement.where(sa.column("namespace") == namespace, sa.column("id") == sa.bindparam("candidate_id"))
    given = [{"candidate_id": name, "sessions": sessions} for name, sessions in reaches]
    session.connection().execute(statement.values(reach=sa.bindparam("sessions")), given)


def void_decisions(
    session: Session,
    namespace: str,
    candidate_id: str,
    *,
    why: str,
    now: datetime,
    verdict: str | None = None,
    reviewer_id: str | None = None,
    content_hash: str | None = None,
) -> int:
    """Void the live decisions on a candidate, of one verdict, reviewer or content where named; returns how many."""
    statement = sa.update(Decision).where(
        col(Decision.namespace) == namespace,
        col(Decision.candidate_id) == candidate_id,
        col(Decision.voided_at).is_(None),
    )
    if verdict is not None:
        statement = statement.where(col(Decision.verdict) == verdict)
    if reviewer_id is not None:
        statement = statement.where(col(Decision.reviewer_id) == reviewer_id)
    if content_hash is not None:
        statement = statement.where(col(Decision.content_hash) == content_hash)
    statement = statement.values(voided_at=now, void_reason=why).execution_options(synchronize_session=False)
    return int(session.execute(statement).rowcount)  # type: ignore[attr-defined]


def add_revision(session: Session, revision: CandidateRevision, evidence: Sequence[Evidence]) -> None:
    """Append one exact text with its evidence snapshot."""
    session.add(revision)
    session.flush()
    if evidence:
        session.execute(sa.insert(Evidence), [row.model_dump() for row in evidence])


def revisions_by_run(session: Session, namespace: str, run_id: str) -> tuple[int, int]:
    """How many candidates a run created, and how many it gave another revision."""
    statement = select(CandidateRevision.number).where(
        CandidateRevision.namespace == namespace, CandidateRevision.run_id == run_id
    )
    numbers = list(session.exec(statement))
    return sum(number == 1 for number in numbers), sum(number > 1 for number in numbers)
