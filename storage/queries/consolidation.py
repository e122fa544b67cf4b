"""What the night's first stages ask: which episodes wait, which belong together, what was tested before."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import (
    Cluster,
    ClusterEpisode,
    Episode,
    Family,
    Inference,
    Look,
    RunEpisode,
    RunStep,
    SearchMiss,
    Stratum,
)

KNOWN = ("success", "failure")
LOOK_FOLDS = 12


def episodes_unconsumed(session: Session, namespace: str, after: str, limit: int) -> Sequence[Episode]:
    """A page of current episodes that no run has consumed, by id from ``after``."""
    consumed = sa.exists().where(
        col(RunEpisode.namespace) == col(Episode.namespace), col(RunEpisode.episode_id) == col(Episode.id)
    )
    statement = (
        select(Episode)
        .where(Episode.namespace == namespace, col(Episode.is_current), col(Episode.purged_at).is_(None), ~consumed)
        .where(col(Episode.id) > after)
        .order_by(col(Episode.id))
        .limit(limit)
    )
    return session.exec(statement).all()


def sessions_that_missed(session: Session, namespace: str, sessions: Collection[str]) -> set[str]:
    """Which of these sessions searched the store and found nothing."""
    statement = select(SearchMiss.session_id).where(
        SearchMiss.namespace == namespace, col(SearchMiss.session_id).in_(sessions)
    )
    return set(session.exec(statement))


def tasks_failed_before(session: Session, namespace: str, but_run: str) -> set[str]:
    """The tasks that an earlier night saw fail."""
    statement = (
        select(Episode.task_key)
        .join(RunEpisode, _consumption())
        .where(Episode.namespace == namespace, Episode.outcome == "failure", RunEpisode.run_id != but_run)
    )
    return set(session.exec(statement.distinct()))


class Start(NamedTuple):
    """The starting point of one episode, as the cluster stage wants it."""

    id: str
    task: str
    task_key: str
    task_key_derived: bool
    session_id: str | None
    environment: dict[str, Any]
    tools_offered: list[str]


def starts_of_run(session: Session, namespace: str, run_id: str) -> list[Start]:
    """Every episode a run consumed, in the order of arrival."""
    statement = sa.select(*(col(getattr(Episode, name)) for name in Start._fields)).join(RunEpisode, _consumption())
    statement = statement.where(col(Episode.namespace) == namespace, col(RunEpisode.run_id) == run_id)
    return [Start._make(row) for row in session.execute(statement.order_by(*_ARRIVAL))]


def count_of_run(session: Session, run_id: str) -> int:
    """How many episodes a run consumed."""
    return int(session.exec(select(sa.func.count()).where(col(RunEpisode.run_id) == run_id)).one())


class Arrival(NamedTuple):
    """One consumed episode as the comparison of its family wants it. ``claims`` are the reads its own record claims."""

    id: str
    source_id: str | None
    task_key: str
    session_id: str | None
    started_at: datetime | None
    retry_of: str | None
    outcome: str
    outcome_source: str
    agent: str | None
    model: str | None
    principal: str
    principal_capped: bool
    trust: str
    ingested_at: datetime
    claims: Any
    consumed_by: str
    group_id: str | None
    stratum: str | None


def arrivals_of_family(session: Session, namespace: str, family_id: str) -> list[Arrival]:
    """Every consumed, current, unpurged episode of a family, in the order of arrival."""
    own = (col(getattr(Episode, name)) for name in Arrival._fields[: Arrival._fields.index("claims")])
    claims = col(Episode.details)["memory_reads"].as_string()
    statement = (
        sa.select(*own, claims, col(RunEpisode.run_id), col(ClusterEpisode.group_id), col(ClusterEpisode.stratum))
        .join(RunEpisode, _consumption())
        .outerjoin(ClusterEpisode, _membership())
        .where(col(Episode.namespace) == namespace, col(Episode.family_id) == family_id)
        .where(col(Episode.is_current), col(Episode.purged_at).is_(None))
        .order_by(col(RunEpisode.run_id), *_ARRIVAL)
    )
    return [Arrival._make(row) for row in session.execute(statement)]


def last_run_contrasted(session: Session, namespace: str, family_id: str, but_run: str | None) -> str | None:
    """The last other run that compared a family to the end: the groups of what it could see are settled."""
    statement = select(sa.func.max(col(RunStep.run_id))).where(
        RunStep.namespace == namespace, RunStep.stage == "contrast", RunStep.shard == family_id, RunStep.state == "done"
    )
    return session.exec(statement.where(col(RunStep.run_id) != but_run) if but_run else statement).one()


def families_by_text(session: Session, namespace: str) -> Sequence[tuple[str, str, str]]:
    """Text families as (family id, founding episode, its task text)."""
    statement = select(Family).where(Family.namespace == namespace).order_by(col(Family.created_at), col(Family.id))
    founders = {
        family.id: str(family.signature["leader"])
        for family in session.exec(statement)
        if family.signature.get("kind") == "text"
    }
    texts = dict(
        session.exec(
            select(Episode.id, Episode.task).where(
                Episode.namespace == namespace, col(Episode.id).in_(founders.values()), col(Episode.purged_at).is_(None)
            )
        ).all()
    )
    return [(family, leader, texts[leader]) for family, leader in founders.items() if leader in texts]


def families_known(session: Session, namespace: str, ids: Collection[str]) -> set[str]:
    """Which of these families there are already."""
    return set(session.exec(select(Family.id).where(Family.namespace == namespace, col(Family.id).in_(ids))))


def clusters_by_id(session: Session, namespace: str, ids: Collection[str]) -> dict[str, Cluster]:
    """Clusters by id."""
    statement = select(Cluster).where(Cluster.namespace == namespace, col(Cluster.id).in_(ids))
    return {cluster.id: cluster for cluster in session.exec(statement)}


class KnownTask(NamedTuple):
    """A task that an earlier run found. ``texts`` are of its first episodes, as far as they were not erased."""

    id: str
    cluster_id: str | None
    is_derived: bool
    leaders: list[str]
    texts: list[str]


def tasks_known(session: Session, namespace: str, family_id: str, but_run: str) -> list[KnownTask]:
    """Tasks of a family that other runs founded, oldest first, without what this run added to them."""
    statement = select(Stratum).where(
        Stratum.namespace == namespace, Stratum.family_id == family_id, Stratum.run_id != but_run
    )
    rows = session.exec(statement.order_by(col(Stratum.run_id), col(Stratum.id))).all()
    texts = _texts_before(session, namespace, [one for row in rows for one in row.leaders], but_run)
    return [
        KnownTask(
            row.id, row.cluster_id, row.is_derived, [one for one in row.leaders if one in texts],
            [texts[one] for one in row.leaders if one in texts],
        )
        for row in rows
    ]  # fmt: skip


def _texts_before(session: Session, namespace: str, episode_ids: Sequence[str], but_run: str) -> dict[str, str]:
    """Task texts of these episodes, but of those that a run consumed or that were purged."""
    found: dict[str, str] = {}
    for start in range(0, len(episode_ids), 500):
        statement = (
            select(Episode.id, Episode.task)
            .join(RunEpisode, _consumption())
            .where(Episode.namespace == namespace, col(Episode.id).in_(episode_ids[start : start + 500]))
            .where(col(Episode.purged_at).is_(None), RunEpisode.run_id != but_run)
        )
        found.update(session.exec(statement).all())
    return found


def families_tested(session: Session, run_id: str) -> set[str]:
    """The families of a run's contrast: they share the night's alpha."""
    return set(session.exec(select(RunStep.shard).where(RunStep.run_id == run_id, RunStep.stage == "contrast")))


def informative_tasks(session: Session, namespace: str, family_ids: Collection[str]) -> dict[str, int]:
    """By family, how many tasks have a success and a failure among consumed episodes, self-reported outcomes aside."""
    task = sa.func.coalesce(col(ClusterEpisode.stratum), col(Episode.task_key))
    both = (
        sa.select(col(Episode.family_id), task)
        .join(RunEpisode, _consumption())
        .outerjoin(ClusterEpisode, _membership())
        .where(col(Episode.namespace) == namespace, col(Episode.family_id).in_(family_ids))
        .where(col(Episode.outcome).in_(KNOWN), col(Episode.outcome_source) != "self-reported")
        .group_by(col(Episode.family_id), task)
        .having(sa.func.min(col(Episode.outcome)) != sa.func.max(col(Episode.outcome)))
        .subquery()
    )
    statement = sa.select(both.c.family_id, sa.func.count()).group_by(both.c.family_id)
    return {str(family): int(number) for family, number in session.execute(statement)}


def last_looks(session: Session, namespace: str, but_run: str) -> dict[str, list[str]]:
    """By predicate, the last other run that tested it on each of its ``LOOK_FOLDS`` folds; empty for never."""
    statement = (
        select(Look.predicate_id, Look.fold, sa.func.max(col(Look.run_id)))
        .where(Look.namespace == namespace, Look.run_id != but_run, col(Look.fold).between(0, LOOK_FOLDS - 1))
        .group_by(col(Look.predicate_id), col(Look.fold))
    )
    found: dict[str, list[str]] = {}
    for predicate, fold, run in session.exec(statement):
        found.setdefault(predicate, [""] * LOOK_FOLDS)[fold] = run
    return found


def looks_confirmed(session: Session, namespace: str, but_run: str) -> Sequence[Look]:
    """Confirmations of other runs, oldest first."""
    statement = select(Look).where(Look.namespace == namespace, Look.run_id != but_run, col(Look.confirmed))
    return session.exec(statement.order_by(col(Look.run_id), col(Look.predicate_id), col(Look.fold))).all()


def nights_that_looked(session: Session, namespace: str, but_run: str) -> int:
    """How many other runs of the namespace spent alpha."""
    statement = select(sa.func.count(sa.distinct(col(Look.run_id)))).where(
        Look.namespace == namespace, Look.run_id != but_run
    )
    return int(session.exec(statement).one())


def inferences_of_run(session: Session, namespace: str, run_id: str, family_id: str) -> Sequence[str]:
    """Ids of what a run concluded about a family."""
    statement = select(Inference.id).where(
        Inference.namespace == namespace, Inference.run_id == run_id, Inference.family_id == family_id
    )
    return session.exec(statement.order_by(col(Inference.id))).all()


def _membership() -> sa.ColumnElement[bool]:
    return (col(ClusterEpisode.namespace) == col(Episode.namespace)) & (
        col(ClusterEpisode.episode_id) == col(Episode.id)
    )


def _consumption() -> sa.ColumnElement[bool]:
    return (col(RunEpisode.namespace) == col(Episode.namespace)) & (col(RunEpisode.episode_id) == col(Episode.id))


_ARRIVAL = (
    col(Episode.ingested_at),
    col(Episode.source_file),
    col(Episode.source_line),
    col(Episode.source_id),
    col(Episode.id),
)
