"""Mode choices: the clusters of a night, what is known of them, and what became of what was drafted under a choice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import (
    Candidate,
    Cluster,
    ClusterEpisode,
    Draft,
    Episode,
    Inference,
    InferenceObservation,
    ModeChoice,
    Observation,
    RuleVersion,
    Run,
    RunEpisode,
)

BATCH = 500
"""Most ids in one statement."""

TRUSTED_OUTCOMES = ("verifier", "environment", "human")
"""Who must have said that a run succeeded before it may stand as an example."""


class DraftFate(NamedTuple):
    """A draft of a choice, the candidate it went to, and whether the rule made of it was taken back."""

    checks: list[dict[str, str]]
    state: str | None
    moved_at: datetime | None
    revoked: bool


def clusters_touched(session: Session, namespace: str, run_id: str) -> dict[str, int]:
    """The clusters of the episodes that a run consumed, with how many of them."""
    statement = (
        select(ClusterEpisode.cluster_id, sa.func.count())
        .join(
            RunEpisode,
            (col(RunEpisode.namespace) == col(ClusterEpisode.namespace))
            & (col(RunEpisode.episode_id) == col(ClusterEpisode.episode_id)),
        )
        .where(ClusterEpisode.namespace == namespace, RunEpisode.run_id == run_id)
        .group_by(col(ClusterEpisode.cluster_id))
    )
    return dict(session.exec(statement).all())


def clusters_of(session: Session, namespace: str, ids: Collection[str]) -> dict[str, Cluster]:
    """Clusters by id."""
    found: dict[str, Cluster] = {}
    for batch in _batches(ids):
        statement = select(Cluster).where(Cluster.namespace == namespace, col(Cluster.id).in_(batch))
        found.update({row.id: row for row in session.exec(statement)})
    return found


def outcomes_of_clusters(
    session: Session, namespace: str, ids: Collection[str], but: Collection[str] = ()
) -> dict[str, dict[str, int]]:
    """By cluster, its current runs by outcome; what an agent said of itself is ``unknown``. ``but`` are left out."""
    found: dict[str, dict[str, int]] = {cluster_id: {} for cluster_id in ids}
    for batch in _batches(ids):
        _count(session, found, 1, namespace, col(ClusterEpisode.cluster_id).in_(batch))
    for batch in _batches(but):
        _count(session, found, -1, namespace, col(ClusterEpisode.episode_id).in_(batch))
    return found


def _count(
    session: Session, found: dict[str, dict[str, int]], sign: int, namespace: str, which: sa.ColumnElement[bool]
) -> None:
    outcome = sa.case((col(Episode.outcome_source) == "self-reported", "unknown"), else_=col(Episode.outcome))
    statement = (
        sa.select(col(ClusterEpisode.cluster_id), outcome, sa.func.count())
        .join(Episode, _same_episode(ClusterEpisode))
        .where(col(ClusterEpisode.namespace) == namespace, which)
        .where(col(Episode.is_current), col(Episode.purged_at).is_(None))
        .group_by(col(ClusterEpisode.cluster_id), outcome)
    )
    for cluster_id, named, number in session.execute(statement):
        if cluster_id in found:
            counts = found[cluster_id]
            counts[named] = counts.get(named, 0) + sign * int(number)


def homes_of(session: Session, namespace: str, inference_ids: Collection[str]) -> dict[str, str]:
    """By inference, the cluster that most of the runs behind it are in."""
    votes: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for batch in _batches(inference_ids):
        statement = (
            select(InferenceObservation.inference_id, ClusterEpisode.cluster_id, sa.func.count())
            .join(
                Observation,
                (col(Observation.namespace) == col(InferenceObservation.namespace))
                & (col(Observation.id) == col(InferenceObservation.observation_id)),
            )
            .join(
                ClusterEpisode,
                (col(ClusterEpisode.namespace) == col(Observation.namespace))
                & (col(ClusterEpisode.episode_id) == col(Observation.episode_id)),
            )
            .where(InferenceObservation.namespace == namespace, col(InferenceObservation.inference_id).in_(batch))
            .group_by(col(InferenceObservation.inference_id), col(ClusterEpisode.cluster_id))
        )
        for inference_id, cluster_id, number in session.exec(statement):
            votes[inference_id].append((-number, cluster_id))
    return {inference_id: min(cast)[1] for inference_id, cast in votes.items()}


def choices_of_run(session: Session, namespace: str, run_id: str) -> Sequence[ModeChoice]:
    """The choices of one run, by cluster."""
    statement = select(ModeChoice).where(ModeChoice.namespace == namespace, ModeChoice.run_id == run_id)
    return session.exec(statement.order_by(col(ModeChoice.cluster_id))).all()


def choices_shown(
    session: Session, namespace: str, run_id: str, *, offset: int = 0, limit: int | None = None
) -> Sequence[tuple[ModeChoice, Cluster]]:
    """The choices of one run with their clusters: removals first, then consolidations, then what is kept."""
    order = sa.case({"remove": 0, "consolidate": 1}, value=col(ModeChoice.action), else_=2)
    statement = (
        select(ModeChoice, Cluster)
        .join(
            Cluster,
            (col(Cluster.namespace) == col(ModeChoice.namespace)) & (col(Cluster.id) == col(ModeChoice.cluster_id)),
        )
        .where(ModeChoice.namespace == namespace, ModeChoice.run_id == run_id)
        .order_by(order, col(Cluster.label), col(ModeChoice.cluster_id))
        .offset(offset)
    )
    return session.exec(statement if limit is None else statement.limit(limit)).all()


def count_choices(session: Session, namespace: str, run_id: str) -> int:
    """How many clusters a run took up."""
    statement = select(sa.func.count()).select_from(ModeChoice)
    return int(session.exec(statement.where(ModeChoice.namespace == namespace, ModeChoice.run_id == run_id)).one())


def choices_before(session: Session, namespace: str, run_id: str, limit: int) -> Sequence[tuple[ModeChoice, str]]:
    """The latest choices of closed nights other than ``run_id``, each with the night's date, newest first."""
    statement = (
        select(ModeChoice, Run.key)
        .join(Run, col(Run.id) == col(ModeChoice.run_id))
        .where(ModeChoice.namespace == namespace, ModeChoice.run_id != run_id, Run.state != "running")
        .order_by(col(ModeChoice.at).desc(), col(ModeChoice.run_id).desc(), col(ModeChoice.cluster_id))
        .limit(limit)
    )
    return session.exec(statement).all()


def fates_of(session: Session, namespace: str, run_ids: Collection[str]) -> dict[tuple[str, str], list[DraftFate]]:
    """By (run, cluster), what became of everything drafted there: rules, and exemplars."""
    found: defaultdict[tuple[str, str], list[DraftFate]] = defaultdict(list)
    back = _taken_back(session, namespace)
    same = (col(Candidate.namespace) == col(Draft.namespace)) & (col(Candidate.id) == col(Draft.candidate_id))
    for batch in _batches(run_ids):
        drafted = (
            select(Draft, Candidate)
            .join(Candidate, same, isouter=True)
            .where(Draft.namespace == namespace, col(Draft.run_id).in_(batch), col(Draft.cluster_id).is_not(None))
            .order_by(col(Draft.id))
        )
        for draft, held in session.exec(drafted):
            state, moved = (held.state, held.updated_at) if held else (None, None)
            taken = draft.candidate_id in back
            found[draft.run_id, str(draft.cluster_id)].append(DraftFate(draft.checks, state, moved, taken))
        shown = select(Candidate).where(
            Candidate.namespace == namespace, Candidate.kind == "exemplar", col(Candidate.run_id).in_(batch)
        )
        for one in session.exec(shown.order_by(col(Candidate.id))):
            key = (str(one.run_id), str(one.cluster_id))
            found[key].append(DraftFate([], one.state, one.updated_at, one.id in back))
    return dict(found)


def _taken_back(session: Session, namespace: str) -> set[str]:
    """Candidates of which a version was revoked and none is served."""
    statement = select(RuleVersion.candidate_id, RuleVersion.state).where(
        RuleVersion.namespace == namespace, col(RuleVersion.state).in_(("revoked", "active"))
    )
    states: defaultdict[str, set[str]] = defaultdict(set)
    for candidate_id, state in session.exec(statement.distinct()):
        states[candidate_id].add(state)
    return {candidate_id for candidate_id, seen in states.items() if seen == {"revoked"}}


def conclusions_with(session: Session, namespace: str, run_id: str, verdicts: Collection[str]) -> Sequence[Inference]:
    """What a run concluded with one of these verdicts."""
    statement = select(Inference).where(
        Inference.namespace == namespace, Inference.run_id == run_id, col(Inference.verdict).in_(verdicts)
    )
    return session.exec(statement.order_by(col(Inference.predicate_id))).all()


def successes_of(session: Session, namespace: str, cluster_id: str, limit: int) -> Sequence[tuple[Episode, str]]:
    """Runs of a cluster that somebody other than the agent said succeeded, with their independence group, newest first.

    One an independent group; nothing of external trust, revised or purged.
    """
    rank = sa.func.row_number().over(
        partition_by=col(ClusterEpisode.group_id), order_by=(col(Episode.ingested_at), col(Episode.id))
    )
    first = (
        sa.select(col(Episode.id).label("id"), col(ClusterEpisode.group_id).label("group_id"), rank.label("place"))
        .join(ClusterEpisode, _same_episode(ClusterEpisode))
        .where(col(Episode.namespace) == namespace, col(ClusterEpisode.cluster_id) == cluster_id)
        .where(col(Episode.is_current), col(Episode.purged_at).is_(None), col(Episode.trust) != "external")
        .where(col(Episode.outcome) == "success", col(Episode.outcome_source).in_(TRUSTED_OUTCOMES))
        .subquery()
    )
    statement = (
        select(Episode, first.c.group_id)
        .join(first, first.c.id == col(Episode.id))
        .where(Episode.namespace == namespace, first.c.place == 1)
        .order_by(col(Episode.ingested_at).desc(), col(Episode.id))
        .limit(limit)
    )
    return [(episode, str(group)) for episode, group in session.exec(statement)]


def exemplars_of(session: Session, namespace: str, cluster_id: str) -> int:
    """How many exemplars of a cluster wait or are served."""
    statement = select(sa.func.count()).select_from(Candidate)
    statement = statement.where(Candidate.namespace == namespace, Candidate.kind == "exemplar")
    open_ = col(Candidate.state).in_(("staged", "approved", "promoted"))
    return int(session.exec(statement.where(Candidate.cluster_id == cluster_id, open_)).one())


def exemplars_by_run(session: Session, namespace: str, run_id: str) -> int:
    """How many exemplars a run proposed."""
    statement = select(sa.func.count()).select_from(Candidate)
    statement = statement.where(Candidate.namespace == namespace, Candidate.kind == "exemplar")
    return int(session.exec(statement.where(Candidate.run_id == run_id)).one())


def _same_episode(table: type[ClusterEpisode]) -> sa.ColumnElement[bool]:
    return (col(table.namespace) == col(Episode.namespace)) & (col(table.episode_id) == col(Episode.id))


def _batches(ids: Collection[str]) -> list[list[str]]:
    ordered = sorted(ids)
    return [ordered[start : start + BATCH] for start in range(0, len(ordered), BATCH)]
