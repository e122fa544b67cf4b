"""Writes of the night's first stages. Each may be done again: the same rows come out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.consolidation import clusters_by_id, families_known, inferences_of_run
from storage.tables import Cluster, ClusterEpisode, Episode, Family, Inference, InferenceObservation, Look, Observation


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


def put_members(session: Session, namespace: str, rows: Sequence[tuple[str, str, str, str]]) -> None:
    """Put episodes, as (episode, family, cluster, group), into their family and cluster."""
    ids = [episode_id for episode_id, *_ in rows]
    session.execute(
        sa.delete(ClusterEpisode).where(
            col(ClusterEpisode.namespace) == namespace, col(ClusterEpisode.episode_id).in_(ids)
        )
    )
    families: dict[str, list[str]] = {}
    for episode_id, family_id, _, _ in rows:
        families.setdefault(family_id, []).append(episode_id)
    for family_id, members in families.items():
        session.execute(
            sa.update(Episode)
            .where(col(Episode.namespace) == namespace, col(Episode.id).in_(members))
            .values(family_id=family_id)
        )
    session.add_all(
        ClusterEpisode(namespace=namespace, episode_id=episode_id, cluster_id=cluster_id, group_id=group_id)
        for episode_id, _, cluster_id, group_id in rows
    )


def put_groups(session: Session, namespace: str, groups: Mapping[str, str]) -> None:
    """Correct the independence groups of these episodes (id to group) where they changed."""
    statement = select(ClusterEpisode).where(
        ClusterEpisode.namespace == namespace, col(ClusterEpisode.episode_id).in_(groups)
    )
    for row in session.exec(statement):
        if row.group_id != groups[row.episode_id]:
            row.group_id = groups[row.episode_id]


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
    session.add_all(observation for observation, _ in shown)
    session.flush()
    session.add_all(link for _, link in shown)


def put_looks(session: Session, looks: Sequence[Look]) -> None:
    """Record confirmation looks; one that is there already is written anew."""
    session.execute(sa.delete(Look).where(col(Look.id).in_([look.id for look in looks])))
    session.add_all(looks)


def _delete(session: Session, table: Any, namespace: str, column: Any, values: Collection[str]) -> None:
    session.execute(sa.delete(table).where(col(table.namespace) == namespace, column.in_(values)))
