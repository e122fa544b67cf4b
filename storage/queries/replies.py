"""What models answered, what that cost, and the episodes of a cluster that a model may be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from storage.queries.runs import nights_closed_before
from storage.tables import (
    Candidate,
    CandidateRevision,
    ClusterEpisode,
    Episode,
    ModelReply,
    RuleVersion,
    Run,
    RunEpisode,
)


class Costs(NamedTuple):
    """Calls, tokens both ways, and seconds waited."""

    calls: int
    tokens: int
    seconds: float


class Member(NamedTuple):
    """An episode of a cluster with what a choice among them looks at."""

    id: str
    outcome: str
    outcome_source: str
    stratum: str
    group: str


def replies_to(session: Session, namespace: str, prompt_hash: str, model: str) -> Sequence[ModelReply]:
    """Every reply of a model to a prompt, oldest first."""
    statement = select(ModelReply).where(
        ModelReply.namespace == namespace, ModelReply.prompt_hash == prompt_hash, ModelReply.model == model
    )
    return session.exec(statement.order_by(col(ModelReply.attempt))).all()


def spent_tonight(session: Session, namespace: str, run_id: str) -> Costs:
    """What all runs of the same night as this one have spent on models in its namespace."""
    mine = aliased(Run)
    same_night = (col(Run.kind) == col(mine.kind)) & (col(Run.key) == col(mine.key))
    statement = _costs(namespace).join(Run, col(Run.id) == col(ModelReply.run_id)).join(mine, same_night)
    return _read(session, statement.where(col(mine.id) == run_id))


def spent_on_cluster(session: Session, namespace: str, run_id: str, cluster_id: str) -> Costs:
    """What a run has spent on one cluster."""
    statement = _costs(namespace).where(col(ModelReply.run_id) == run_id, col(ModelReply.cluster_id) == cluster_id)
    return _read(session, statement)


def clusters_unanswered(session: Session, namespace: str, run_id: str) -> set[str]:
    """Clusters for which the endpoint gave this run no answer at all."""
    rows = session.exec(
        select(ModelReply.cluster_id, ModelReply.state).where(
            ModelReply.namespace == namespace, ModelReply.run_id == run_id
        )
    ).all()
    answered = {cluster for cluster, state in rows if state != "failed"}
    return {str(cluster) for cluster, _ in rows if cluster is not None} - {str(cluster) for cluster in answered}


def clusters_undrafted(session: Session, namespace: str, before_run: str) -> dict[str, int]:
    """Clusters that the last night before this run could not draft, with how many episodes had been new in each."""
    last = next(iter(nights_closed_before(session, namespace, before_run)), None)
    left = {str(one["shard"]) for one in (last.problems if last else ()) if one["stage"] == "draft" and "family" in one}
    statement = (
        select(ClusterEpisode.cluster_id, RunEpisode.run_id, sa.func.count())
        .join(RunEpisode, _of_one_episode())
        .where(ClusterEpisode.namespace == namespace, col(ClusterEpisode.cluster_id).in_(left))
        .group_by(col(ClusterEpisode.cluster_id), col(RunEpisode.run_id))
        .order_by(col(RunEpisode.run_id))
    )
    return {cluster_id: number for cluster_id, _, number in session.exec(statement)}


def members_of_cluster(session: Session, namespace: str, cluster_id: str, limit: int) -> list[Member]:
    """Current, unpurged episodes of a cluster, those consumed last first."""
    stratum = sa.func.coalesce(col(ClusterEpisode.stratum), col(Episode.task_key))
    columns: Any = [Episode.id, Episode.outcome, Episode.outcome_source, stratum, ClusterEpisode.group_id]
    statement = (
        sa.select(*columns)
        .join(ClusterEpisode, _same(ClusterEpisode))
        .join(RunEpisode, _same(RunEpisode))
        .where(col(Episode.namespace) == namespace, col(ClusterEpisode.cluster_id) == cluster_id)
        .where(col(Episode.is_current), col(Episode.purged_at).is_(None))
        .order_by(col(RunEpisode.run_id).desc(), col(Episode.id))
        .limit(limit)
    )
    return [Member(*row) for row in session.execute(statement)]


def newest_revision(session: Session, namespace: str, candidate_id: str) -> CandidateRevision | None:
    """The current revision of a candidate; None where nothing was staged for the claim."""
    statement = (
        select(CandidateRevision)
        .join(
            Candidate,
            (col(Candidate.namespace) == col(CandidateRevision.namespace))
            & (col(Candidate.id) == col(CandidateRevision.candidate_id))
            & (col(Candidate.number) == col(CandidateRevision.number)),
        )
        .where(CandidateRevision.namespace == namespace, CandidateRevision.candidate_id == candidate_id)
    )
    return session.exec(statement).one_or_none()


def contents_written(session: Session, namespace: str) -> list[dict[str, Any]]:
    """Every text that was ever staged or promoted: what a prompt must not hold."""
    staged = select(CandidateRevision.content).where(CandidateRevision.namespace == namespace)
    promoted = select(RuleVersion.content).where(RuleVersion.namespace == namespace)
    return [dict(content) for statement in (staged, promoted) for content in session.exec(statement)]


def _costs(namespace: str) -> Any:
    both_ways = sa.func.sum(col(ModelReply.tokens_in) + col(ModelReply.tokens_out))
    waited = sa.func.sum(col(ModelReply.seconds))
    counts = (sa.func.count(), sa.func.coalesce(both_ways, 0), sa.func.coalesce(waited, 0.0))
    return sa.select(*counts).select_from(ModelReply).where(col(ModelReply.namespace) == namespace)


def _read(session: Session, statement: Any) -> Costs:
    calls, tokens, seconds = session.execute(statement).one()
    return Costs(int(calls), int(tokens), float(seconds))


def _of_one_episode() -> sa.ColumnElement[bool]:
    same_namespace = col(RunEpisode.namespace) == col(ClusterEpisode.namespace)
    return same_namespace & (col(RunEpisode.episode_id) == col(ClusterEpisode.episode_id))


def _same(table: Any) -> sa.ColumnElement[bool]:
    return (col(table.namespace) == col(Episode.namespace)) & (col(table.episode_id) == col(Episode.id))
