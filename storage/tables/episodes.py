"""Raw episodes: first-class evidence, immutable, one body each, encrypted under a key of its own."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from storage.tables.base import Row, episode_fk, json_field, one_of, time_field

OUTCOMES = ("success", "failure", "partial", "unknown")


class Episode(Row, table=True):
    """One recorded run.

    ``source_hash`` is a keyed hash of namespace and raw record: the idempotence key.
    ``fingerprint`` is a keyed hash of what happened (session, task, steps, outcome): the same run from another file.
    A new raw content under one (importer, source_scope, source_id) is a new ``revision``; one of them is current.
    """

    __table_args__ = (
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"]),
        sa.ForeignKeyConstraint(["namespace", "supersedes_id"], ["episode.namespace", "episode.id"]),
        sa.UniqueConstraint("namespace", "source_hash"),
        sa.Index(
            "uq_episode_current",
            "namespace",
            "importer",
            "source_scope",
            "source_id",
            unique=True,
            sqlite_where=sa.text("is_current AND source_id IS NOT NULL"),
            postgresql_where=sa.text("is_current AND source_id IS NOT NULL"),
        ),
        sa.Index("ix_episode_namespace_fingerprint", "namespace", "fingerprint"),
        sa.Index("ix_episode_namespace_session", "namespace", "session_id"),
        sa.Index("ix_episode_namespace_family", "namespace", "family_id", "started_at"),
        one_of("outcome", OUTCOMES, "outcome"),
    )

    namespace: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    revision: int = 1
    is_current: bool = True
    supersedes_id: str | None = None
    importer: str
    importer_version: int
    redactor_version: int
    source_scope: str = ""
    source_file: str | None = None
    source_line: int | None = None
    source_id: str | None = None
    source_hash: str
    fingerprint: str
    session_id: str | None = None
    retry_of: str | None = None
    task: str
    task_key: str
    task_key_derived: bool = False
    family_id: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    environment: dict[str, Any] = json_field()
    tools_offered: list[str] = json_field(list)
    started_at: datetime | None = time_field(nullable=True)
    ended_at: datetime | None = time_field(nullable=True)
    time_is_naive: bool = False
    outcome: str
    outcome_source: str
    reward: float | None = None
    trust: str = "internal"
    principal: str
    principal_capped: bool = False
    n_steps: int
    n_calls: int
    redactions: dict[str, int] = json_field()
    details: dict[str, Any] = json_field()
    ingested_at: datetime = time_field()
    purged_at: datetime | None = time_field(nullable=True)


class EpisodeKey(Row, table=True):
    """The key of one episode's body. Erasing this row erases the text, backups included."""

    __tablename__ = "episode_key"
    __table_args__ = (episode_fk(),)

    namespace: str = Field(primary_key=True)
    episode_id: str = Field(primary_key=True)
    key: bytes


class EpisodeBody(Row, table=True):
    """Steps and metadata of one episode: compressed, then encrypted."""

    __tablename__ = "episode_body"
    __table_args__ = (episode_fk(),)

    namespace: str = Field(primary_key=True)
    episode_id: str = Field(primary_key=True)
    codec: str
    nonce: bytes
    data: bytes
    size: int


class DeadLetter(Row, table=True):
    """A record refused at the door, with place and reason, kept for a retry.

    One for each place: refused again, ``attempts`` and ``tried_at`` move on, and reason and bytes are the newest.
    ``resolution`` says in words what became of it. ``principal_capped`` marks what an agent's token sent.
    """

    __tablename__ = "dead_letter"
    __table_args__ = (
        sa.UniqueConstraint("namespace", "record_hash"),
        sa.Index("ix_dead_letter_namespace_scope", "namespace", "source_scope"),
    )

    id: str = Field(primary_key=True)
    namespace: str = Field(foreign_key="namespace.path", index=True)
    record_hash: str
    source_scope: str = ""
    file: str
    line: int | None = None
    importer: str | None = None
    reason: str
    data: bytes | None = None
    principal: str
    principal_capped: bool = False
    at: datetime = time_field()
    attempts: int = 1
    tried_at: datetime = time_field()
    resolved_at: datetime | None = time_field(nullable=True)
    resolution: str | None = None


FOLLOWED_STATES = ("read", "joined", "failed")


class FollowedFile(Row, table=True):
    """What ``slowwave ingest --follow`` remembers of a file: as it was when it was read, and how that went.

    A hint that spares work, never a claim: losing it means reading the file again, which changes nothing.
    ``generation`` names the importers and the redactor it was read with; ``owner`` the file that it is a part of.
    """

    __tablename__ = "followed_file"
    __table_args__ = (
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"]),
        one_of("state", FOLLOWED_STATES, "state"),
    )

    namespace: str = Field(primary_key=True)
    path: str = Field(primary_key=True)
    size: int = Field(sa_type=sa.BigInteger)
    mtime_ns: int = Field(sa_type=sa.BigInteger)
    inode: int = Field(sa_type=sa.BigInteger)
    generation: str
    state: str
    owner: str | None = None
    attempts: int = 0
    error: str | None = None
    counts: dict[str, Any] = json_field()
    at: datetime = time_field()
