"""The staging area: candidates, their revisions, decisions and conflicts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import ApiToken, Candidate, CandidateRevision, Conflict, Decision, Draft

OPEN_STATES = ("staged", "approved")


def candidate_by_id(session: Session, namespace: str, candidate_id: str, *, lock: bool = False) -> Candidate | None:
    """One candidate as it is now; with ``lock`` its row is held until commit."""
    statement = select(Candidate).where(Candidate.namespace == namespace, Candidate.id == candidate_id)
    statement = statement.execution_options(populate_existing=True)
    return session.exec(statement.with_for_update() if lock else statement).one_or_none()


def candidates_by_ids(session: Session, namespace: str, ids: Collection[str]) -> dict[str, Candidate]:
    """Candidates by id; unknown ids are absent."""
    statement = select(Candidate).where(Candidate.namespace == namespace, col(Candidate.id).in_(ids))
    return {row.id: row for row in session.exec(statement)}


def candidates_in(
    session: Session, namespace: str, states: Collection[str] = OPEN_STATES, limit: int | None = None
) -> Sequence[Candidate]:
    """Candidates in any of these states, best rank first: the queue."""
    statement = (
        select(Candidate)
        .where(Candidate.namespace == namespace, col(Candidate.state).in_(states))
        .order_by(col(Candidate.rank).desc(), col(Candidate.id))
    )
    return session.exec(statement.limit(limit) if limit is not None else statement).all()


def queue(
    session: Session, namespace: str, states: Collection[str] = OPEN_STATES, limit: int | None = None
) -> Sequence[tuple[Candidate, CandidateRevision]]:
    """Candidates with their current revisions, best rank first."""
    found = candidates_in(session, namespace, states, limit)
    revisions = current_revisions(session, namespace, [candidate.id for candidate in found])
    return [(candidate, revisions[candidate.id]) for candidate in found if candidate.id in revisions]


def current_revisions(session: Session, namespace: str, ids: Collection[str]) -> dict[str, CandidateRevision]:
    """The current revision of each candidate, by candidate id."""
    statement = (
        select(CandidateRevision)
        .join(
            Candidate,
            (col(Candidate.namespace) == col(CandidateRevision.namespace))
            & (col(Candidate.id) == col(CandidateRevision.candidate_id))
            & (col(Candidate.number) == col(CandidateRevision.number)),
        )
        .where(CandidateRevision.namespace == namespace, col(CandidateRevision.candidate_id).in_(ids))
    )
    return {row.candidate_id: row for row in session.exec(statement)}


def revision(session: Session, namespace: str, candidate_id: str, number: int) -> CandidateRevision | None:
    """One revision."""
    return session.get(CandidateRevision, (namespace, candidate_id, number))


def revisions_of(session: Session, namespace: str, candidate_id: str) -> Sequence[CandidateRevision]:
    """Every revision of a candidate, newest first."""
    statement = select(CandidateRevision).where(
        CandidateRevision.namespace == namespace, CandidateRevision.candidate_id == candidate_id
    )
    return session.exec(statement.order_by(col(CandidateRevision.number).desc())).all()


def authors_of(session: Session, namespace: str, candidate_id: str) -> set[str]:
    """Whoever wrote or edited any revision: drafters' names and user ids, an author's token resolved to its owner.

    A part of a split has the authors of the whole as well, and whoever split it: its packet names them.
    """
    before = col(CandidateRevision.packet)[("part", "authors")]
    statement = sa.select(col(CandidateRevision.author), before).where(
        col(CandidateRevision.namespace) == namespace, col(CandidateRevision.candidate_id) == candidate_id
    )
    rows = [(author, earlier) for author, earlier in session.execute(statement)]
    authors = {author for author, _ in rows} | {one for _, earlier in rows for one in earlier or ()}
    owners = session.exec(select(ApiToken.user_id).where(col(ApiToken.id).in_(authors)))
    return authors | {owner for owner in owners if owner is not None}


def decisions_of(session: Session, namespace: str, candidate_id: str, *, live: bool = True) -> Sequence[Decision]:
    """Decisions on a candidate, oldest first; voided ones too unless ``live``."""
    statement = select(Decision).where(Decision.namespace == namespace, Decision.candidate_id == candidate_id)
    if live:
        statement = statement.where(col(Decision.voided_at).is_(None))
    return session.exec(statement.order_by(col(Decision.at), col(Decision.id))).all()


def rejected_hashes(session: Session, namespace: str, ids: Collection[str]) -> set[tuple[str, str]]:
    """(candidate id, content hash) of every rejection that stands: the same text does not come back by itself."""
    statement = select(Decision.candidate_id, Decision.content_hash).where(
        Decision.namespace == namespace,
        Decision.verdict == "reject",
        col(Decision.candidate_id).in_(ids),
        col(Decision.voided_at).is_(None),
    )
    return set(session.exec(statement.distinct()))


def conflicts_touching(
    session: Session, namespace: str, refs: Collection[str], *, state: str | None = "open"
) -> Sequence[Conflict]:
    """Conflicts with any of these refs (``candidate:<id>`` or ``rule:<id>@<version>``) on either side."""
    sides = col(Conflict.left_ref).in_(refs) | col(Conflict.right_ref).in_(refs)
    statement = select(Conflict).where(Conflict.namespace == namespace, sides)
    if state is not None:
        statement = statement.where(Conflict.state == state)
    return session.exec(statement.order_by(col(Conflict.at), col(Conflict.id))).all()


def drafts_of(session: Session, namespace: str, run_id: str) -> Sequence[Draft]:
    """What was drafted in a run, in a fixed order."""
    statement = select(Draft).where(Draft.namespace == namespace, Draft.run_id == run_id)
    return session.exec(statement.order_by(col(Draft.candidate_id))).all()
