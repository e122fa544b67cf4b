"""Finding by id alone, across namespaces: what the command line is given."""

from __future__ import annotations

from collections.abc import Sequence

from sqlmodel import Session, col, select

from storage.tables import Candidate, Rule


def candidates_named(session: Session, candidate_id: str, namespace: str | None = None) -> Sequence[Candidate]:
    """Candidates with this id, in one namespace or in all."""
    statement = select(Candidate).where(Candidate.id == candidate_id)
    if namespace is not None:
        statement = statement.where(Candidate.namespace == namespace)
    return session.exec(statement.order_by(col(Candidate.namespace))).all()


def rules_named(session: Session, rule_id: str, namespace: str | None = None) -> Sequence[Rule]:
    """Rules with this id, in one namespace or in all."""
    statement = select(Rule).where(Rule.id == rule_id)
    if namespace is not None:
        statement = statement.where(Rule.namespace == namespace)
    return session.exec(statement.order_by(col(Rule.namespace))).all()
