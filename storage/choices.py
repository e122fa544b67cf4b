"""Writes on mode choices. A choice that is there keeps its numbers: only cost and reward are added later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col

from storage.consolidation import put_observations
from storage.tables import Inference, InferenceObservation, ModeChoice, Observation


def put_choices(session: Session, choices: Sequence[ModeChoice]) -> None:
    """Record choices that are not there yet."""
    for choice in choices:
        if session.get(ModeChoice, (choice.namespace, choice.run_id, choice.cluster_id)) is None:
            session.add(choice)
    session.flush()


def put_reward(session: Session, choice: ModeChoice, reward: float | None, why: str) -> None:
    """Say what a choice was worth, as far as that is known now."""
    _set(session, choice, reward=reward, reward_why=why)


def put_cost(session: Session, choice: ModeChoice, calls: int, asked: Mapping[str, Any]) -> None:
    """Note what the model did about a cluster, and the calls that took."""
    _set(session, choice, calls=calls, scores={**choice.scores, "model": dict(asked)})


def put_hypothesis(
    session: Session, inference: Inference, shown: Sequence[tuple[Observation, InferenceObservation]] = ()
) -> bool:
    """Record a hypothesis with what it rests on; False if it is there already."""
    if session.get(Inference, (inference.namespace, inference.id)) is not None:
        return False
    session.add(inference)
    session.flush()
    put_observations(session, shown)
    return True


def _set(session: Session, choice: ModeChoice, **values: Any) -> None:
    statement = sa.update(ModeChoice).where(
        col(ModeChoice.namespace) == choice.namespace,
        col(ModeChoice.run_id) == choice.run_id,
        col(ModeChoice.cluster_id) == choice.cluster_id,
    )
    session.execute(statement.values(**values).execution_options(synchronize_session=False))
