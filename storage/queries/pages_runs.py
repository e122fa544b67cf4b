"""What the review pages show of runs and of the audit log."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.pages import within
from storage.tables import AuditEntry, Candidate, Draft, Inference, Namespace, Run, RunEpisode, RunStep


def runs_page(
    session: Session, granted: Sequence[str], *, namespace: str | None = None, offset: int = 0, limit: int = 50
) -> list[Run]:
    """Runs, the latest first. Ask for one more to know of a next page."""
    statement = select(Run).where(within(col(Run.namespace), granted))
    if namespace:
        statement = statement.where(Run.namespace == namespace)
    return list(session.exec(statement.order_by(col(Run.started_at).desc(), col(Run.id)).offset(offset).limit(limit)))


def run_by_id(session: Session, granted: Sequence[str], run_id: str) -> Run | None:
    """One run, if the viewer may see its namespace."""
    return session.exec(select(Run).where(within(col(Run.namespace), granted), Run.id == run_id)).first()


def steps_of_run(session: Session, run_id: str) -> list[RunStep]:
    """The ledger of a run in the order its steps were added."""
    return list(session.exec(select(RunStep).where(RunStep.run_id == run_id).order_by(col(RunStep.id))))


def step_counts(session: Session, run_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Steps of each run by state."""
    found: dict[str, dict[str, int]] = {run_id: {} for run_id in run_ids}
    if not run_ids:
        return found
    statement = (
        select(RunStep.run_id, RunStep.state, sa.func.count())
        .where(col(RunStep.run_id).in_(list(run_ids)))
        .group_by(col(RunStep.run_id), col(RunStep.state))
    )
    for run_id, state, count in session.exec(statement):
        found[run_id][state] = count
    return found


def episodes_of_run(session: Session, run_id: str) -> int:
    """How many episodes a night consumed."""
    return session.exec(select(sa.func.count()).select_from(RunEpisode).where(RunEpisode.run_id == run_id)).one()


def findings_of_run(
    session: Session, namespace: str, run_id: str, verdicts: Sequence[str], *, offset: int = 0, limit: int = 50
) -> list[Inference]:
    """What a run concluded with one of these verdicts, in their order."""
    order = sa.case({verdict: place for place, verdict in enumerate(verdicts)}, value=col(Inference.verdict))
    statement = select(Inference).where(
        Inference.namespace == namespace, Inference.run_id == run_id, col(Inference.verdict).in_(verdicts)
    )
    return list(session.exec(statement.order_by(order, col(Inference.id)).offset(offset).limit(limit)))


def drafts_of_findings(
    session: Session, namespace: str, inference_ids: Sequence[str]
) -> dict[str, tuple[Draft, Candidate | None]]:
    """The rule drafted of each of these conclusions, with the candidate it is part of; without a draft it is absent."""
    statement = (
        select(Draft, Candidate)
        .outerjoin(
            Candidate,
            sa.and_(
                col(Candidate.namespace) == col(Draft.namespace),
                col(Candidate.id) == col(Draft.candidate_id),
                col(Candidate.run_id) == col(Draft.run_id),
            ),
        )
        .where(Draft.namespace == namespace, Draft.kind == "rule", col(Draft.inference_id).in_(list(inference_ids)))
        .order_by(col(Draft.id))
    )
    return {draft.inference_id: (draft, candidate) for draft, candidate in session.exec(statement)}


def verdicts_of_run(session: Session, namespace: str, run_id: str) -> dict[str, int]:
    """How many conclusions of a run came out which way."""
    statement = (
        select(Inference.verdict, sa.func.count())
        .where(Inference.namespace == namespace, Inference.run_id == run_id)
        .group_by(Inference.verdict)
    )
    return dict(session.exec(statement).all())


def candidates_of_run(session: Session, namespace: str, run_id: str, limit: int = 200) -> list[Candidate]:
    """Candidates that a run staged or refreshed last."""
    statement = select(Candidate).where(Candidate.namespace == namespace, Candidate.run_id == run_id)
    return list(session.exec(statement.order_by(col(Candidate.rank).desc(), col(Candidate.id)).limit(limit)))


def audit_page(
    session: Session,
    granted: Sequence[str],
    *,
    namespace: str | None = None,
    action: str | None = None,
    target: str | None = None,
    offset: int = 0,
    limit: int = 50,
) -> list[AuditEntry]:
    """Audit entries, the latest first. Entries without a namespace are for those who see every namespace."""
    statement = select(AuditEntry).where(within(col(AuditEntry.namespace), granted))
    if namespace:
        statement = statement.where(AuditEntry.namespace == namespace)
    if action:
        statement = statement.where(AuditEntry.action == action)
    if target:
        statement = statement.where(AuditEntry.target == target)
    return list(session.exec(statement.order_by(col(AuditEntry.seq).desc()).offset(offset).limit(limit)))


def audit_actions(session: Session, granted: Sequence[str]) -> list[str]:
    """Kinds of act that the log holds, for a filter."""
    statement = select(AuditEntry.action).where(within(col(AuditEntry.namespace), granted)).distinct()
    return sorted(session.exec(statement))


def database_answers(session: Session) -> bool:
    """Whether the database answers and has our tables."""
    session.exec(select(Namespace.path).limit(1)).first()
    return True
