"""What the night keeps from one night to the next: facts read once, derived tasks, vectors, model replies, choices."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from storage.tables.base import Row, episode_fk, json_field, one_of, time_field
from storage.tables.rules import version_fk

REPLY_STATES = ("accepted", "malformed", "failed")
MODES = ("none", "imitation", "strategic", "corrective")
ACTIONS = ("keep", "remove", "consolidate")
REGIMES = ("auto", "episodic", "force")
RECHECK_VERDICTS = ("stands", "vanished", "reversed", "outside-scope", "no-comparison", "not-enough")


class FactsBatch(Row, table=True):
    """What some episodes of a family did, as columns: read from the bodies once, so that a night only adds.

    ``run_id`` is the run that consumed them. Whatever is missing here is read anew from the bodies: it is a cache.
    """

    __tablename__ = "facts_batch"
    __table_args__ = (sa.ForeignKeyConstraint(["namespace", "family_id"], ["family.namespace", "family.id"]),)

    namespace: str = Field(primary_key=True)
    family_id: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True, foreign_key="run.id")
    part: int = Field(primary_key=True)
    reader_version: int
    episodes: int
    body: bytes


class Stratum(Row, table=True):
    """One task of a family: given by its key, or derived from texts that are alike.

    ``leaders`` are the first episodes of it, whose texts stand for it. ``run_id`` is the run that founded it, so that a
    step done again founds the same.
    """

    __table_args__ = (
        sa.ForeignKeyConstraint(["namespace", "family_id"], ["family.namespace", "family.id"]),
        sa.ForeignKeyConstraint(["namespace", "cluster_id"], ["cluster.namespace", "cluster.id"]),
    )

    namespace: str = Field(primary_key=True)
    family_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    leaders: list[str] = json_field(list)
    cluster_id: str | None = None
    is_derived: bool = False
    run_id: str = Field(foreign_key="run.id")
    created_at: datetime = time_field()


class TextVector(Row, table=True):
    """The vector of one text by one embedder. Little-endian float32; ``text_hash`` is keyed, and tells nothing."""

    __tablename__ = "text_vector"

    namespace: str = Field(primary_key=True, foreign_key="namespace.path")
    text_hash: str = Field(primary_key=True)
    model: str = Field(primary_key=True)
    dimensions: int
    vector: bytes


class ModelReply(Row, table=True):
    """What a model answered to one prompt, so that the same prompt is never paid for twice, and no reply is lost.

    ``inputs`` are the episodes whose text was in the prompt: a purge of one of them erases the row.
    """

    __tablename__ = "model_reply"
    __table_args__ = (one_of("state", REPLY_STATES, "state"), sa.Index("ix_model_reply_run", "namespace", "run_id"))

    namespace: str = Field(primary_key=True, foreign_key="namespace.path")
    prompt_hash: str = Field(primary_key=True)
    model: str = Field(primary_key=True)
    attempt: int = Field(primary_key=True)
    run_id: str = Field(foreign_key="run.id")
    cluster_id: str | None = None
    state: str
    reply: str
    error: str | None = None
    inputs: list[str] = json_field(list)
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    at: datetime = time_field()


class ModeChoice(Row, table=True):
    """How one cluster was taken up by one night, with the numbers that decided, and later the reward.

    ``profile`` describes the cluster for likeness with later ones; ``scores`` is the bandit's table of the four modes.
    """

    __tablename__ = "mode_choice"
    __table_args__ = (
        sa.ForeignKeyConstraint(["namespace", "cluster_id"], ["cluster.namespace", "cluster.id"]),
        one_of("mode", MODES, "mode"),
        one_of("action", ACTIONS, "action"),
        one_of("regime", REGIMES, "regime"),
    )

    namespace: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True, foreign_key="run.id")
    cluster_id: str = Field(primary_key=True)
    family_id: str
    mode: str
    action: str
    regime: str
    why: str
    profile: dict[str, Any] = json_field()
    scores: dict[str, Any] = json_field()
    calls: int = 0
    reward: float | None = None
    reward_why: str | None = None
    at: datetime = time_field()


class Statement(Row, table=True):
    """One fact that one step states, short and in plain words, so that the next night compares without reading bodies.

    ``subject_key`` is what it is found by. ``attribute`` is empty where a change names only values; ``previous`` is the
    value that a change ends. ``single``: one value at a time. A purge of the episode erases the row.
    """

    __table_args__ = (episode_fk(), sa.Index("ix_statement_subject", "namespace", "subject_key", "said_at"))

    namespace: str = Field(primary_key=True)
    episode_id: str = Field(primary_key=True)
    step_id: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    subject_key: str
    subject: str
    attribute: str
    value: str
    previous: str = ""
    denied: bool = False
    single: bool = False
    valid_from: datetime | None = time_field(nullable=True)
    valid_to: datetime | None = time_field(nullable=True)
    said_at: datetime = time_field()
    session: str = ""
    trust: str = ""


class Recheck(Row, table=True):
    """One active rule tested again by one night on all untainted evidence."""

    __table_args__ = (version_fk(), one_of("verdict", RECHECK_VERDICTS, "verdict"))

    namespace: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True, foreign_key="run.id")
    rule_id: str = Field(primary_key=True)
    version: int = Field(primary_key=True)
    verdict: str
    words: str
    statistics: dict[str, Any] = json_field()
    candidate_id: str | None = None
    at: datetime = time_field()
