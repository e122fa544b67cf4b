"""What the review pages show of runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.pages import within
from storage.tables import (
    Candidate,
    CandidateRevision,
    Conflict,
    Draft,
    Inference,
    Namespace,
    Run,
    RunEpisode,
    RunStep,
)

MOST_COMPARED = 5000
"""Conclusions of one run that are held against another's."""


@dataclass(frozen=True)
class Progress:
    """How far one run is. ``steps``: how many by (stage, state)."""

    namespace: str
    kind: str
    state: str
    steps: Mapping[tuple[str, str], int]


class Figures(NamedTuple):
    """One conclusion with the figures that two runs are compared by. ``effect`` is empty where it has none."""

    predicate_id: str
    family_id: str
    verdict: str
    statement: str
    effect: Mapping[str, Any]


class Written(NamedTuple):
    """A candidate to which a run gave a revision; ``number`` 1 is its first."""

    candidate_id: str
    number: int
    title: str
    state: str
    kind: str


def runs_page(
    session: Session,
    granted: Sequence[str],
    *,
    namespace: str | None = None,
    state: str | None = None,
    kind: str | None = None,
    offset: int = 0,
    limit: int = 50,
) -> list[Run]:
    """Runs, the latest first. Ask for one more to know of a next page."""
    wanted = ((col(Run.namespace), namespace), (col(Run.state), state), (col(Run.kind), kind))
    statement = select(Run).where(
        within(col(Run.namespace), granted), *(column == value for column, value in wanted if value)
    )
    return list(session.exec(statement.order_by(col(Run.started_at).desc(), col(Run.id)).offset(offset).limit(limit)))


def runs_beside(session: Session, run: Run, limit: int = 20) -> list[Run]:
    """The latest other runs of the same kind and namespace, newest first; ids are in order of time."""
    statement = select(Run).where(Run.namespace == run.namespace, Run.kind == run.kind, Run.id != run.id)
    return list(session.exec(statement.order_by(col(Run.id).desc()).limit(limit)))


def run_before(session: Session, run: Run) -> str | None:
    """The id of the run of the same kind and namespace right before this one."""
    statement = select(sa.func.max(col(Run.id))).where(
        Run.namespace == run.namespace, Run.kind == run.kind, col(Run.id) < run.id
    )
    return session.exec(statement).one()


def progress_of_runs(session: Session, run_ids: Collection[str]) -> dict[str, Progress]:
    """How far each of these runs is, in one statement; unknown ids are absent."""
    statement = (
        sa.select(
            col(Run.id), col(Run.namespace), col(Run.kind), col(Run.state), col(RunStep.stage), col(RunStep.state),
            sa.func.count(col(RunStep.id)),
        )
        .outerjoin(RunStep, col(RunStep.run_id) == col(Run.id))
        .where(col(Run.id).in_(list(run_ids)))
        .group_by(
            col(Run.id), col(Run.namespace), col(Run.kind), col(Run.state), col(RunStep.stage), col(RunStep.state)
        )
    )  # fmt: skip
    found: dict[str, Progress] = {}
    for run_id, namespace, kind, state, stage, step_state, count in session.execute(statement):
        steps = {} if stage is None else {(stage, step_state): count}
        before = found[run_id].steps if run_id in found else {}
        found[run_id] = Progress(namespace, kind, state, {**before, **steps})
    return found


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


def figures_of_run(session: Session, namespace: str, run_id: str) -> list[Figures]:
    """Every conclusion of a run with its effect, to be held against another run's; at most ``MOST_COMPARED``."""
    statement = (
        sa.select(
            col(Inference.predicate_id), col(Inference.family_id), col(Inference.verdict), col(Inference.statement),
            col(Inference.statistics)["effect"],
        )
        .where(col(Inference.namespace) == namespace, col(Inference.run_id) == run_id)
        .order_by(col(Inference.predicate_id))
        .limit(MOST_COMPARED)
    )  # fmt: skip
    return [Figures(a, b, c, d, effect or {}) for a, b, c, d, effect in session.execute(statement)]


def written_by_run(session: Session, namespace: str, run_id: str, limit: int = 500) -> list[Written]:
    """The candidates that a run made or gave another revision, the highest rank first, with their state now."""
    statement = (
        sa.select(
            col(CandidateRevision.candidate_id), sa.func.min(col(CandidateRevision.number)), col(Candidate.title),
            col(Candidate.state), col(Candidate.kind),
        )
        .join(
            Candidate,
            (col(Candidate.namespace) == col(CandidateRevision.namespace))
            & (col(Candidate.id) == col(CandidateRevision.candidate_id)),
        )
        .where(col(CandidateRevision.namespace) == namespace, col(CandidateRevision.run_id) == run_id)
        .group_by(
            col(CandidateRevision.candidate_id), col(Candidate.title), col(Candidate.state), col(Candidate.kind),
            col(Candidate.rank),
        )
        .order_by(col(Candidate.rank).desc(), col(CandidateRevision.candidate_id))
        .limit(limit)
    )  # fmt: skip
    return [Written(*row) for row in session.execute(statement)]


def drafted_words(session: Session, namespace: str, run_id: str, candidate_ids: Collection[str]) -> dict[str, str]:
    """By candidate id, when a rule that this run drafted is to be used: it names a draft that became no candidate."""
    statement = sa.select(col(Draft.candidate_id), col(Draft.content)["when_to_use"].as_string()).where(
        col(Draft.namespace) == namespace, col(Draft.run_id) == run_id, col(Draft.candidate_id).in_(list(candidate_ids))
    )
    return {candidate_id: words or "" for candidate_id, words in session.execute(statement)}


def conflicts_of_run(session: Session, namespace: str, run_id: str) -> dict[str, int]:
    """How many conflicts a run noted for the first time, or opened again, by kind."""
    statement = (
        select(Conflict.kind, sa.func.count())
        .where(Conflict.namespace == namespace, Conflict.run_id == run_id)
        .group_by(Conflict.kind)
    )
    return dict(session.exec(statement).all())


def database_answers(session: Session) -> bool:
    """Whether the database answers and has our tables."""
    session.exec(select(Namespace.path).limit(1)).first()
    return True
