"""Runs and their ledger of steps, and what a run found."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from storage.tables.base import Row, episode_fk, json_field, one_of, time_field

RUN_STATES = ("running", "completed", "partial", "failed")
VERDICTS = (
    "confirmed", "unconfirmed", "insufficient", "confounded", "agent-confounded", "consequence", "hypothesis",
)  # fmt: skip
STEP_STATES = ("pending", "leased", "done", "parked")


class Run(Row, table=True):
    """One consolidation (``kind`` night, ``key`` the night's date) or one repair (``key`` rule@version) of a namespace.

    At most one run of a kind is open per namespace, so a request joins it.
    """

    __table_args__ = (
        sa.UniqueConstraint("namespace", "kind", "key", "seq"),
        sa.Index(
            "uq_run_open_night",
            "namespace",
            unique=True,
            sqlite_where=sa.text("state = 'running' AND kind = 'night'"),
            postgresql_where=sa.text("state = 'running' AND kind = 'night'"),
        ),
        one_of("state", RUN_STATES, "state"),
        one_of("kind", ("night", "repair"), "kind"),
    )

    id: str = Field(primary_key=True)
    namespace: str = Field(foreign_key="namespace.path", index=True)
    kind: str = "night"
    key: str
    seq: int = 1
    state: str = "running"
    requested_by: str
    started_at: datetime = time_field()
    finished_at: datetime | None = time_field(nullable=True)
    stats: dict[str, Any] = json_field()
    problems: list[dict[str, Any]] = json_field(list)


class RunStep(Row, table=True):
    """One shard of one stage. ``token`` fences: every write of a worker names the token it was given."""

    __tablename__ = "run_step"
    __table_args__ = (
        sa.UniqueConstraint("run_id", "stage", "shard"),
        sa.Index("ix_run_step_state_lease", "state", "lease_until"),
        one_of("state", STEP_STATES, "state"),
    )

    id: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="run.id")
    namespace: str = Field(foreign_key="namespace.path")
    stage: str
    shard: str = ""
    state: str = "pending"
    attempts: int = 0
    token: int = 0
    owner: str | None = None
    lease_until: datetime | None = time_field(nullable=True)
    enqueued_at: datetime | None = time_field(nullable=True)
    started_at: datetime | None = time_field(nullable=True)
    finished_at: datetime | None = time_field(nullable=True)
    result: dict[str, Any] = json_field()
    error: str | None = None


class RunEpisode(Row, table=True):
    """An episode that a night consumed: chosen and recorded together, so none is skipped or read twice."""

    __tablename__ = "run_episode"
    __table_args__ = (episode_fk(), sa.Index("ix_run_episode_run", "run_id"))

    namespace: str = Field(primary_key=True)
    episode_id: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="run.id")
    why: str = "new"


class Family(Row, table=True):
    """Episodes whose starting point is alike; it scopes a test."""

    __table_args__ = (sa.ForeignKeyConstraint(["namespace"], ["namespace.path"]),)

    namespace: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    label: str
    signature: dict[str, Any] = json_field()
    created_at: datetime = time_field()


class Cluster(Row, table=True):
    """A homogeneous group inside a family, for drafting and display. One that grew into an older one says which."""

    __table_args__ = (sa.ForeignKeyConstraint(["namespace", "family_id"], ["family.namespace", "family.id"]),)

    namespace: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    family_id: str
    label: str
    terms: list[str] = json_field(list)
    tools: list[str] = json_field(list)
    absorbed_by: str | None = None
    created_at: datetime = time_field()


class ClusterEpisode(Row, table=True):
    """Which cluster an episode is in, and its task: ``stratum`` is set where the episode's own key is derived."""

    __tablename__ = "cluster_episode"
    __table_args__ = (
        episode_fk(),
        sa.ForeignKeyConstraint(["namespace", "cluster_id"], ["cluster.namespace", "cluster.id"]),
        sa.Index("ix_cluster_episode_cluster", "namespace", "cluster_id"),
    )

    namespace: str = Field(primary_key=True)
    episode_id: str = Field(primary_key=True)
    cluster_id: str
    group_id: str
    stratum: str | None = None


class Observation(Row, table=True):
    """What a step shows: a place in an episode, never a quote."""

    __table_args__ = (episode_fk(),)

    namespace: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    episode_id: str
    step_ids: list[str] = json_field(list)
    start: int | None = None
    end: int | None = None
    what: str


class Inference(Row, table=True):
    """What was concluded from which observations, by one run. ``verdict`` says how far it may go.

    confirmed: may be drafted; unconfirmed, insufficient: needs more; confounded: strong without strata, gone with
    them; agent-confounded: gone when adjusted for the agent; consequence: follows from what was done; hypothesis: an
    untested cause with its next step.
    """

    __table_args__ = (
        sa.UniqueConstraint("namespace", "run_id", "predicate_id"),
        one_of(
            "verdict",
            VERDICTS,
            "verdict",
        ),
    )

    namespace: str = Field(primary_key=True, foreign_key="namespace.path")
    id: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    family_id: str
    predicate_id: str = Field(index=True)
    predicate: dict[str, Any] = json_field()
    verdict: str
    statement: str
    statistics: dict[str, Any] = json_field()
    next_step: str | None = None
    ruled_out: list[str] = json_field(list)


class InferenceObservation(Row, table=True):
    """Link from an inference to what it was concluded from."""

    __tablename__ = "inference_observation"
    __table_args__ = (
        sa.ForeignKeyConstraint(["namespace", "inference_id"], ["inference.namespace", "inference.id"]),
        sa.ForeignKeyConstraint(["namespace", "observation_id"], ["observation.namespace", "observation.id"]),
    )

    namespace: str = Field(primary_key=True)
    inference_id: str = Field(primary_key=True)
    observation_id: str = Field(primary_key=True)
    stance: str
    group_id: str


class Look(Row, table=True):
    """One confirmation look: what was tested, on which fold, at which alpha. A later look uses later groups only."""

    __table_args__ = (sa.UniqueConstraint("namespace", "predicate_id", "fold", "run_id"),)

    id: str = Field(primary_key=True)
    namespace: str = Field(foreign_key="namespace.path", index=True)
    predicate_id: str
    fold: int
    run_id: str = Field(foreign_key="run.id")
    number: int
    alpha: float
    p_value: float
    odds_ratio: float | None = None
    groups: list[str] = json_field(list)
    confirmed: bool
    at: datetime = time_field()


class Draft(Row, table=True):
    """What a drafter wrote this night: ephemeral, never input to another draft."""

    __table_args__ = (
        sa.UniqueConstraint("namespace", "run_id", "candidate_id"),
        sa.ForeignKeyConstraint(["namespace", "inference_id"], ["inference.namespace", "inference.id"]),
    )

    namespace: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="run.id")
    candidate_id: str
    inference_id: str
    cluster_id: str | None = None
    kind: str
    drafter: str
    mode: str
    content: dict[str, Any] = json_field()
    packet: dict[str, Any] = json_field()
    inputs: list[str] = json_field(list)
    prompt_hash: str
    cost: dict[str, Any] = json_field()
    conflicts: list[dict[str, Any]] = json_field(list)
    checks: list[dict[str, Any]] = json_field(list)
    created_at: datetime = time_field()
