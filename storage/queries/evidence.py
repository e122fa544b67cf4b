"""Evidence: which episodes and steps a candidate's revision rests on, and what was observed this night."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlmodel import Session, col, select

from storage.tables import Candidate, Episode, Evidence, Inference, InferenceObservation, Observation


def episodes_cited(session: Session, namespace: str, candidate_id: str, number: int) -> set[str]:
    """The episodes that support one revision. It does not lean on those that speak against it."""
    statement = select(Evidence.episode_id).where(
        Evidence.namespace == namespace, Evidence.candidate_id == candidate_id, Evidence.number == number,
        Evidence.stance == "support",
    )  # fmt: skip
    return set(session.exec(statement.distinct()))


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


def open_candidates_citing(session: Session, namespace: str, episode_ids: Collection[str]) -> Sequence[Candidate]:
    """Candidates that wait for a decision and whose current revision cites any of these episodes."""
    if not episode_ids:
        return []
    cited = select(Evidence.candidate_id, Evidence.number).where(
        Evidence.namespace == namespace, col(Evidence.episode_id).in_(episode_ids)
    )
    pairs = set(session.exec(cited.distinct()))
    waiting = select(Candidate).where(
        Candidate.namespace == namespace, col(Candidate.state).in_(("staged", "approved"))
    )
    return [row for row in session.exec(waiting.order_by(col(Candidate.id))) if (row.id, row.number) in pairs]


def confirmed_inferences(session: Session, namespace: str, run_id: str) -> Sequence[Inference]:
    """What a run confirmed: the only conclusions that may be drafted."""
    statement = select(Inference).where(
        Inference.namespace == namespace, Inference.run_id == run_id, Inference.verdict == "confirmed"
    )
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
