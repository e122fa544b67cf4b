"""Writes of the night's first stages. Each may be done again: the same rows come out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.consolidation import clusters_by_id, families_known, inferences_of_run
from storage.tables import (
    Cluster,
    ClusterEpisode,
    Episode,
    Family,
    Inference,
    InferenceObservation,
    Look,
    Observation,
    Stratum,
)


def put_families(session: Session, namespace: str, drafts: Sequence[Family]) -> None:
    """Record the families that are new; one that is there keeps its name."""
    known = families_known(session, namespace, [draft.id for draft in drafts])
    session.add_all(draft for draft in drafts if draft.id not in known)
    session.flush()


def put_clusters(session: Session, namespace: str, drafts: Sequence[Cluster]) -> None:
    """Record the clusters that are new; one that is there keeps its name, so that people can speak of it."""
    known = clusters_by_id(session, namespace, [draft.id for draft in drafts])
    session.add_all(draft for draft in drafts if draft.id not in known)
    session.flush()


def put_tasks(session: Session, namespace: str, rows: Sequence[Stratum]) -> None:
    """Record the tasks of a family; of one that is there the texts that stand for it are renewed."""
    for row in rows:
        known = session.get(Stratum, (namespace, row.family_id, row.id))
        if known is None:
            session.add(row)
        else:
            known.leaders = row.leaders
    session.flush()


def put_members(session: Session, namespace: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Put episodes into their family, cluster and task.

    Args:
        rows: ``family_id`` beside the columns of ``ClusterEpisode``.
    """
    ids = [row["episode_id"] for row in rows]
    session.execute(
        sa.delete(ClusterEpisode).where(
            col(ClusterEpisode.namespace) == namespace, col(ClusterEpisode.episode_id).in_(ids)
        )
    )
    families: dict[str, list[str]] = {}
    for row in rows:
        families.setdefault(row["family_id"], []).append(row["episode_id"])
    for family_id, members in families.items():
        session.execute(
            sa.update(Episode)
            .where(col(Episode.namespace) == namespace, col(Episode.id).in_(members))
            .values(family_id=family_id)
            .execution_options(synchronize_session=False)
        )
    columns = ("episode_id", "cluster_id", "group_id", "stratum")
    session.execute(
        sa.insert(ClusterEpisode), [{"namespace": namespace, **{name: row[name] for name in columns}} for row in rows]
    )


def absorb_cluster(session: Session, namespace: str, young: str, old: str, limit: int) -> int:
    """Move at most ``limit`` episodes of a cluster into an older one; with none left, its tasks too, and say so on it.

    Returns how many episodes were moved; call it until it is 0.
    """
    members = select(ClusterEpisode.episode_id).where(
        ClusterEpisode.namespace == namespace, ClusterEpisode.cluster_id == young
    )
    ids = session.exec(members.limit(limit)).all()
    moves: list[tuple[Any, Any]] = [(ClusterEpisode, col(ClusterEpisode.episode_id).in_(ids))]
    if not ids:
        moves = [(Stratum, col(Stratum.cluster_id) == young)]
        named = sa.update(Cluster).where(col(Cluster.namespace) == namespace, col(Cluster.id) == young)
        session.execute(named.values(absorbed_by=old).execution_options(synchronize_session=False))
    for table, condition in moves:
        moved = sa.update(table).where(col(table.namespace) == namespace, condition).values(cluster_id=old)
        session.execute(moved.execution_options(synchronize_session=False))
    return len(ids)


def put_groups(session: Session, namespace: str, groups: Mapping[str, str]) -> None:
    """Move these episodes (id to group) into other independence groups."""
    statement = (
        sa.update(ClusterEpisode)
        .where(col(ClusterEpisode.namespace) == namespace, col(ClusterEpisode.episode_id) == sa.bindparam("of_episode"))
        .values(group_id=sa.bindparam("to_group"))
        .execution_options(synchronize_session=False)
    )
    rows = [{"of_episode": episode_id, "to_group": group} for episode_id, group in groups.items()]
    if rows:
        session.connection().execute(statement, rows)


def clear_conclusions(session: Session, namespace: str, run_id: str, family_id: str, limit: int) -> int:
    """Remove what an earlier try of this run concluded about a family, at most ``limit`` observations at a time.

    Returns how many were removed; call it until it is 0.
    """
    inferences = inferences_of_run(session, namespace, run_id, family_id)
    if not inferences:
        return 0
    linked = select(InferenceObservation.observation_id).where(
        InferenceObservation.namespace == namespace, col(InferenceObservation.inference_id).in_(inferences)
    )
    observations = session.exec(linked.limit(limit)).all()
    if observations:
        _delete(session, InferenceObservation, namespace, col(InferenceObservation.observation_id), observations)
        _delete(session, Observation, namespace, col(Observation.id), observations)
        return len(observations)
    _delete(session, Inference, namespace, col(Inference.id), inferences)
    return len(inferences)


def put_observations(session: Session, shown: Sequence[tuple[Observation, InferenceObservation]]) -> None:
    """Record observations, each with its link to an inference that is there already."""
    if shown:
        session.execute(sa.insert(Observation), [observation.model_dump() for observation, _ in shown])
        session.execute(sa.insert(InferenceObservation), [link.model_dump() for _, link in shown])


def put_looks(session: Session, looks: Sequence[Look]) -> None:
    """Record confirmation looks; one that is there already is written anew."""
    session.execute(sa.delete(Look).where(col(Look.id).in_([look.id for look in looks])))
    session.add_all(looks)


def _delete(session: Session, table: Any, namespace: str, column: Any, values: Collection[str]) -> None:
    session.execute(sa.delete(table).where(col(table.namespace) == namespace, column.in_(values)))
