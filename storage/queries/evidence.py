"""Evidence: which episodes and steps a candidate's revision rests on, and what was observed this night."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import (
    Candidate,
    CandidateRevision,
    Cluster,
    ClusterEpisode,
    Episode,
    Evidence,
    Family,
    Inference,
    InferenceObservation,
    Observation,
    RunEpisode,
)

BATCH = 500
"""Most ids in one statement."""


def episodes_cited(session: Session, namespace: str, candidate_id: str, number: int) -> set[str]:
    """The episodes that support one revision. It does not lean on those that speak against it."""
    statement = select(Evidence.episode_id).where(
        Evidence.namespace == namespace, Evidence.candidate_id == candidate_id, Evidence.number == number,
        Evidence.stance == "support",
    )  # fmt: skip
    return set(session.exec(statement.distinct()))


def selected_for(session: Session, namespace: str, run_id: str, inference_id: str) -> set[str]:
    """Why a run took up the episodes that an inference rests on: the reasons that occur."""
    statement = (
        select(RunEpisode.why)
        .join(Observation, col(Observation.episode_id) == col(RunEpisode.episode_id))
        .join(
            InferenceObservation,
            (col(InferenceObservation.namespace) == col(Observation.namespace))
            & (col(InferenceObservation.observation_id) == col(Observation.id)),
        )
        .where(RunEpisode.namespace == namespace, RunEpisode.run_id == run_id, Observation.namespace == namespace)
        .where(InferenceObservation.namespace == namespace, InferenceObservation.inference_id == inference_id)
    )
    return set(session.exec(statement.distinct()))


def steps_cited(session: Session, namespace: str, candidate_id: str, number: int, limit: int) -> list[tuple[str, str]]:
    """Some (episode, first cited step) that support one revision; the step is empty where none is cited."""
    statement = select(Evidence.episode_id, Evidence.step_ids).where(
        Evidence.namespace == namespace, Evidence.candidate_id == candidate_id, Evidence.number == number,
        Evidence.stance == "support",
    )  # fmt: skip
    found = session.exec(statement.order_by(col(Evidence.episode_id)).limit(limit))
    return [(episode_id, steps[0] if steps else "") for episode_id, steps in found]


def evidence_of(session: Session, namespace: str, candidate_id: str, number: int) -> list[tuple[Evidence, Episode]]:
    """Every link of one revision with its episode, in a fixed order."""
    statement = (
        select(Evidence, Episode)
        .join(
            Episode,
            (col(Episode.namespace) == col(Evidence.namespace)) & (col(Episode.id) == col(Evidence.episode_id)),
        )
        .where(Evidence.namespace == namespace, Evidence.candidate_id == candidate_id, Evidence.number == number)
    )
    return list(session.exec(statement.order_by(col(Evidence.episode_id), col(Evidence.id))))


def stale_cited(session: Session, namespace: str, candidate_id: str, number: int) -> set[str]:
    """Cited episodes of a revision that have a newer revision by now, or were purged."""
    statement = (
        select(Evidence.episode_id)
        .join(
            Episode,
            (col(Episode.namespace) == col(Evidence.namespace)) & (col(Episode.id) == col(Evidence.episode_id)),
        )
        .where(Evidence.namespace == namespace, Evidence.candidate_id == candidate_id, Evidence.number == number)
        .where(col(Evidence.is_stale) | ~col(Episode.is_current) | col(Episode.purged_at).is_not(None))
    )
    return set(session.exec(statement.distinct()))


def open_candidates_leaning(
    session: Session, namespace: str, episode_ids: Collection[str], versions: Collection[tuple[str, int]]
) -> Sequence[Candidate]:
    """Candidates that wait for a decision and lean on any of these episodes, or on runs that read these versions.

    Evidence cites a sample of the runs behind a candidate; what all of them had read stands in its packet.
    """
    if not episode_ids and not versions:
        return []
    cited = select(Evidence.candidate_id, Evidence.number).where(
        Evidence.namespace == namespace, col(Evidence.episode_id).in_(episode_ids)
    )
    pairs = set(session.exec(cited.distinct())) if episode_ids else set()
    waiting = (
        select(Candidate, CandidateRevision.packet)
        .join(
            CandidateRevision,
            (col(CandidateRevision.namespace) == col(Candidate.namespace))
            & (col(CandidateRevision.candidate_id) == col(Candidate.id))
            & (col(CandidateRevision.number) == col(Candidate.number)),
        )
        .where(Candidate.namespace == namespace, col(Candidate.state).in_(("staged", "approved")))
    )
    return [
        row
        for row, packet in session.exec(waiting.order_by(col(Candidate.id)))
        if (row.id, row.number) in pairs or not read_by_support(packet).isdisjoint(versions)
    ]


def read_by_support(packet: Mapping[str, Any]) -> set[tuple[str, int]]:
    """The rule versions that the runs in support of a packet may have read, cited or not."""
    return {(str(rule_id), int(number)) for rule_id, number in (packet.get("evidence") or {}).get("read") or ()}


def confirmed_inferences(session: Session, namespace: str, run_id: str) -> Sequence[Inference]:
    """What a run confirmed: the only conclusions that may be drafted."""
    statement = select(Inference).where(
        Inference.namespace == namespace, Inference.run_id == run_id, Inference.verdict == "confirmed"
    )
    return session.exec(statement.order_by(col(Inference.predicate_id))).all()


def inference_of(session: Session, namespace: str, run_id: str | None, predicate_id: str) -> str | None:
    """The id of what a run concluded about a claim."""
    statement = select(Inference.id).where(
        Inference.namespace == namespace, Inference.run_id == run_id, Inference.predicate_id == predicate_id
    )
    return session.exec(statement.order_by(col(Inference.id))).first()


def conclusions_of_family(session: Session, namespace: str, run_id: str, family_id: str) -> Sequence[Inference]:
    """What a run's contrast concluded about a family, hypotheses aside."""
    statement = select(Inference).where(
        Inference.namespace == namespace, Inference.run_id == run_id, Inference.family_id == family_id,
        Inference.verdict != "hypothesis",
    )  # fmt: skip
    return session.exec(statement.order_by(col(Inference.predicate_id))).all()


def observations_of(
    session: Session, namespace: str, inference_id: str
) -> Sequence[tuple[InferenceObservation, Observation, Episode]]:
    """What an inference was concluded from, with the rows of the episodes, by episode id."""
    statement = (
        select(InferenceObservation, Observation, Episode)
        .join(
            Observation,
            (col(Observation.namespace) == col(InferenceObservation.namespace))
            & (col(Observation.id) == col(InferenceObservation.observation_id)),
        )
        .join(
            Episode,
            (col(Episode.namespace) == col(Observation.namespace)) & (col(Episode.id) == col(Observation.episode_id)),
        )
        .where(
            InferenceObservation.namespace == namespace,
            InferenceObservation.inference_id == inference_id,
        )
        .order_by(col(Observation.episode_id), col(Observation.id))
    )
    return session.exec(statement).all()


def clusters_of_episodes(
    session: Session, namespace: str, episode_ids: Collection[str]
) -> dict[str, tuple[str, str | None]]:
    """The label of the cluster that each of these episodes is in, and its derived task where it has one."""
    statement = (
        select(ClusterEpisode.episode_id, Cluster.label, ClusterEpisode.stratum)
        .join(
            Cluster,
            (col(Cluster.namespace) == col(ClusterEpisode.namespace))
            & (col(Cluster.id) == col(ClusterEpisode.cluster_id)),
        )
        .where(ClusterEpisode.namespace == namespace, col(ClusterEpisode.episode_id).in_(episode_ids))
    )
    return {episode_id: (label, stratum) for episode_id, label, stratum in session.exec(statement)}


def families_calling(session: Session, namespace: str, calls: Collection[str], but_family: str) -> list[str]:
    """Labels of other families of which some cluster makes all of these calls."""
    if not calls:
        return []
    statement = (
        select(Family.label, Cluster.tools)
        .join(
            Cluster,
            (col(Cluster.namespace) == col(Family.namespace)) & (col(Cluster.family_id) == col(Family.id)),
        )
        .where(Family.namespace == namespace, Family.id != but_family)
    )
    # A name that starts as a mark does is kept behind "agent:".
    wanted = {re.sub("^(agent:|user:)", "", call) for call in calls}
    return sorted({label for label, tools in session.exec(statement) if wanted <= set(tools)})


def count_in_family(session: Session, namespace: str, family_id: str, episode_ids: Collection[str]) -> int:
    """How many of these episodes are of a family."""
    ordered = sorted(episode_ids)
    found = 0
    for start in range(0, len(ordered), BATCH):
        statement = select(sa.func.count()).where(
            col(Episode.namespace) == namespace,
            col(Episode.family_id) == family_id,
            col(Episode.id).in_(ordered[start : start + BATCH]),
        )
        found += session.exec(statement).one()
    return found
