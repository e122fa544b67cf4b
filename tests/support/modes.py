"""Clusters on a desk: nights whose episodes belong somewhere, so that a mode is chosen for them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import col, select

from storage.engine import Database
from storage.queries.choices import choices_of_run
from storage.tables import Cluster, ClusterEpisode, Family, ModeChoice, Namespace, Run, RunEpisode
from support.reviewing import FAMILY, STAGES, Desk, Found

TERMS = {"orders": ["cancel", "order"], "trips": ["book", "trip"]}


def set_policy(desk: Desk, **policy: Any) -> None:
    """Put a policy in place."""
    with desk.database.write() as session:
        session.get_one(Namespace, desk.namespace).policy = policy


def put_in_cluster(desk: Desk, ids: Sequence[str], name: str = "orders") -> str:
    """A cluster of these episodes, each a group of its own."""
    with desk.database.write() as session:
        if session.get(Cluster, (desk.namespace, name)) is None:
            session.add(
                Cluster(namespace=desk.namespace, id=name, family_id=FAMILY, label=name, terms=TERMS[name],
                        tools=["look"], created_at=desk.now)
            )  # fmt: skip
            session.flush()
        session.add_all(
            ClusterEpisode(namespace=desk.namespace, episode_id=one, cluster_id=name, group_id=f"g{one}") for one in ids
        )
    return name


def open_night(desk: Desk, ids: Sequence[str], *findings: Found) -> Run:
    """A night that these episodes came in, and whose contrast concluded this."""
    run = desk.start(*findings)
    with desk.database.write() as session:
        came = sa.update(RunEpisode).where(col(RunEpisode.episode_id).in_(ids))
        session.execute(came.values(run_id=run.id))
    return run


def night_of(desk: Desk, ids: Sequence[str], *findings: Found) -> tuple[Run, dict[str, dict[str, Any]]]:
    """The same, worked to its end; returns each stage's result too."""
    run = open_night(desk, ids, *findings)
    return run, {stage: desk.do(run, stage) for stage in STAGES}


def choices(desk: Desk, run: Run) -> dict[str, ModeChoice]:
    """The choices of a run, by cluster."""
    with desk.database.read() as session:
        return {row.cluster_id: row for row in choices_of_run(session, desk.namespace, run.id)}


def make_choice(database: Database, namespace: str, run_id: str, now: datetime, name: str, **given: Any) -> None:
    """A choice of a run as a row, with one neighbour, for tests of pages; ``label`` is its cluster's."""
    values: dict[str, Any] = {
        "mode": "strategic", "action": "consolidate", "regime": "auto", "why": "4 new episodes", "calls": 2,
        "profile": {"successes": 12, "failures": 8, "other": 0},
        "scores": {
            "modes": [{"mode": "strategic", "n": 1, "mean": 0.62, "prior": 0.3, "bonus": 0.25, "score": 0.87}],
            "neighbours": [{"run_id": run_id, "cluster_id": name, "mode": "strategic", "similarity": 0.91, "age": 3,
                            "weight": 0.904, "reward": 0.62}],
            "prior_from": "both outcomes (12 successes, 8 failures)",
        },
    }  # fmt: skip
    label = given.pop("label", name)
    with database.write() as session:
        if session.get(Family, (namespace, "orders")) is None:
            session.add(Family(namespace=namespace, id="orders", label="orders", created_at=now))
            session.flush()
        session.add(Cluster(namespace=namespace, id=name, family_id="orders", label=label, created_at=now))
        session.flush()
        session.add(
            ModeChoice(namespace=namespace, run_id=run_id, cluster_id=name, family_id="orders", at=now,
                       **(values | given))
        )  # fmt: skip


def all_choices(desk: Desk) -> list[ModeChoice]:
    """Every choice there is, oldest first."""
    with desk.database.read() as session:
        return list(session.exec(select(ModeChoice).order_by(col(ModeChoice.run_id), col(ModeChoice.cluster_id))))
