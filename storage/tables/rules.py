"""The promoted store, its readers' traces, and the events that tell them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from storage.tables.base import Row, json_field, one_of, time_field

VERSION_STATES = ("active", "superseded", "quarantined", "revoked", "expired")


def version_fk(prefix: str = "") -> sa.ForeignKeyConstraint:
    """The composite key to a rule version."""
    return sa.ForeignKeyConstraint(
        ["namespace", f"{prefix}rule_id", f"{prefix}version"],
        ["rule_version.namespace", "rule_version.rule_id", "rule_version.version"],
    )


class Rule(Row, table=True):
    """What was promoted; its text lives in its versions."""

    namespace: str = Field(primary_key=True, foreign_key="namespace.path")
    id: str = Field(primary_key=True)
    predicate_id: str = Field(index=True)
    title: str
    created_at: datetime = time_field()


class RuleVersion(Row, table=True):
    """One immutable version. Only ``state`` and its trail change; at most one version of a rule is active."""

    __tablename__ = "rule_version"
    __table_args__ = (
        sa.ForeignKeyConstraint(["namespace", "rule_id"], ["rule.namespace", "rule.id"]),
        sa.ForeignKeyConstraint(
            ["namespace", "candidate_id", "candidate_number"],
            ["candidate_revision.namespace", "candidate_revision.candidate_id", "candidate_revision.number"],
        ),
        one_of("state", VERSION_STATES, "state"),
        sa.Index(
            "uq_rule_version_active",
            "namespace",
            "rule_id",
            unique=True,
            sqlite_where=sa.text("state = 'active'"),
            postgresql_where=sa.text("state = 'active'"),
        ),
        sa.Index("ix_rule_version_namespace_state", "namespace", "state"),
    )

    namespace: str = Field(primary_key=True)
    rule_id: str = Field(primary_key=True)
    version: int = Field(primary_key=True)
    state: str
    kind: str = "rule"
    tier: str
    content: dict[str, Any] = json_field()
    content_hash: str
    evidence: dict[str, Any] = json_field()
    candidate_id: str
    candidate_number: int
    promoted_at: datetime = time_field()
    promoted_epoch: int = Field(sa_type=sa.BigInteger)
    state_at: datetime = time_field()
    state_epoch: int = Field(sa_type=sa.BigInteger)
    state_reason: str = ""
    recheck_at: datetime | None = time_field(nullable=True)


class VersionAncestor(Row, table=True):
    """Closure of lineage, kept at promotion, so that a barrier is one UPDATE."""

    __tablename__ = "version_ancestor"
    __table_args__ = (
        version_fk(),
        version_fk("ancestor_"),
        sa.Index("ix_version_ancestor_up", "namespace", "ancestor_rule_id", "ancestor_version"),
    )

    namespace: str = Field(primary_key=True)
    rule_id: str = Field(primary_key=True)
    version: int = Field(primary_key=True)
    ancestor_rule_id: str = Field(primary_key=True)
    ancestor_version: int = Field(primary_key=True)


class Exposure(Row, table=True):
    """A session may have read a version: the row is written before the answer leaves."""

    __table_args__ = (
        version_fk(),
        sa.Index("ix_exposure_session", "namespace", "session_id"),
        sa.Index("ix_exposure_version", "namespace", "rule_id", "version", "at"),
    )

    namespace: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    session_id: str
    agent: str | None = None
    token_id: str
    rule_id: str
    version: int
    epoch: int = Field(sa_type=sa.BigInteger)
    position: int
    request_id: str
    client_instance: str | None = None
    at: datetime = time_field()


class CacheGrant(Row, table=True):
    """A client instance may answer from its cache with these versions until ``until``: hits are covered by it."""

    __tablename__ = "cache_grant"
    __table_args__ = (
        version_fk(),
        sa.Index("ix_cache_grant_instance", "namespace", "client_instance", "until"),
        sa.Index("ix_cache_grant_version", "namespace", "rule_id", "version", "since"),
    )

    namespace: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    client_instance: str
    token_id: str
    rule_id: str
    version: int
    epoch: int = Field(sa_type=sa.BigInteger)
    since: datetime = time_field()
    until: datetime = time_field()


class ClientSession(Row, table=True):
    """A session says which client instance it reads through."""

    __tablename__ = "client_session"

    namespace: str = Field(primary_key=True, foreign_key="namespace.path")
    session_id: str = Field(primary_key=True)
    client_instance: str = Field(primary_key=True)
    token_id: str
    started_at: datetime = time_field()
    ended_at: datetime | None = time_field(nullable=True)
    reported: list[dict[str, Any]] = json_field(list)


class SearchMiss(Row, table=True):
    """A search that found nothing: a reason for tonight."""

    __tablename__ = "search_miss"

    id: str = Field(primary_key=True)
    namespace: str = Field(foreign_key="namespace.path", index=True)
    task: str
    session_id: str
    at: datetime = time_field()


class OutboxEvent(Row, table=True):
    """One transaction's changes to what readers see: one epoch, one row, the whole list."""

    __tablename__ = "outbox_event"
    __table_args__ = (
        sa.Index(
            "ix_outbox_event_pending",
            "namespace",
            "epoch",
            sqlite_where=sa.text("relayed_at IS NULL"),
            postgresql_where=sa.text("relayed_at IS NULL"),
        ),
        sa.Index("ix_outbox_event_created", "created_at", "namespace", "epoch"),
    )

    namespace: str = Field(primary_key=True, foreign_key="namespace.path")
    epoch: int = Field(primary_key=True, sa_type=sa.BigInteger)
    changes: list[dict[str, Any]] = json_field(list)
    created_at: datetime = time_field()
    relayed_at: datetime | None = time_field(nullable=True)
    attempts: int = 0
    last_error: str | None = None


class Ack(Row, table=True):
    """A consumer has applied everything up to ``epoch``."""

    __table_args__ = (sa.Index("ix_ack_epoch", "namespace", "epoch"),)

    consumer: str = Field(primary_key=True)
    namespace: str = Field(primary_key=True, foreign_key="namespace.path")
    epoch: int = Field(sa_type=sa.BigInteger)
    token_id: str
    at: datetime = time_field()


class AckSpan(Row, table=True):
    """One step forward of a consumer: with this ack it had applied what came after ``after_epoch``, up to ``epoch``."""

    __tablename__ = "ack_span"
    __table_args__ = (
        sa.Index("ix_ack_span_epoch", "namespace", "epoch", "after_epoch"),
        sa.Index("ix_ack_span_at", "namespace", "at"),
    )

    namespace: str = Field(primary_key=True, foreign_key="namespace.path")
    consumer: str = Field(primary_key=True)
    epoch: int = Field(primary_key=True, sa_type=sa.BigInteger)
    after_epoch: int = Field(sa_type=sa.BigInteger)
    at: datetime = time_field()


class AuditHead(Row, table=True):
    """The single row whose lock keeps the chain from forking."""

    __tablename__ = "audit_head"
    __table_args__ = (sa.CheckConstraint("id = 1", name="single"),)

    id: int = Field(default=1, primary_key=True)
    seq: int = Field(default=0, sa_type=sa.BigInteger)
    hash: str = ""


class AuditEntry(Row, table=True):
    """One act: append-only, hash-chained. Text enters as keyed digests only."""

    __tablename__ = "audit_entry"
    # Along time, so that a search reads no more than it shows; with the target, which is searched for parts of it.
    __table_args__ = (
        sa.Index("ix_audit_entry_at", "at", "seq", "target", "namespace"),
        sa.Index("ix_audit_entry_namespace", "namespace", "at", "seq", "target"),
        sa.Index("ix_audit_entry_actor", "actor", "at", "seq"),
        sa.Index("ix_audit_entry_action", "action", "at", "seq"),
        sa.Index("ix_audit_entry_target", "target", "at", "seq"),
    )

    seq: int = Field(primary_key=True, sa_type=sa.BigInteger, sa_column_kwargs={"autoincrement": False})
    at: datetime = time_field()
    actor: str
    action: str
    namespace: str = ""
    target: str = ""
    detail: dict[str, Any] = json_field()
    previous_hash: str
    hash: str
