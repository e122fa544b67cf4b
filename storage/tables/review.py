"""The staging area and the decisions on it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from storage.tables.base import Row, episode_fk, json_field, one_of, time_field

CANDIDATE_STATES = ("staged", "approved", "promoted", "rejected", "void")
TIERS = ("low", "standard", "high")
NOT_MEASURED = -1
"""The reach of a candidate for which no night has looked yet."""

OPEN = "state IN ('staged', 'approved')"
WAITING = f"parked_at IS NULL AND {OPEN}"
PARKED = f"parked_at IS NOT NULL AND {OPEN}"
CLOSED = "state IN ('promoted', 'rejected', 'void')"
FILTERED = ("namespace", "id", "tier", "kind", "failing", "warning")
COUNTED = ("namespace", "tier", "kind", "failing", "warning")


def _listed(name: str, where: str, *columns: str) -> sa.Index:
    """An index that a page of the queue is read from alone, filtered and in order. Queries repeat ``where`` as it is:
    a database takes a partial index only where it sees the same words."""
    condition = sa.text(where)
    return sa.Index(name, *columns, sqlite_where=condition, postgresql_where=condition)


def candidate_fk() -> sa.ForeignKeyConstraint:
    """The composite key to a candidate."""
    return sa.ForeignKeyConstraint(["namespace", "candidate_id"], ["candidate.namespace", "candidate.id"])


class Candidate(Row, table=True):
    """A draft in the staging area. Its id comes from namespace and canonical predicate.

    ``number`` names the current revision; ``content_hash`` and ``packet_hash`` are that revision's. ``approved`` means
    part of a quorum: at least one approval, not enough yet. ``failing``, ``warning`` and ``reach`` (sessions that would
    have been served it of late) are of its packet, here for the queue, as is ``glance``: its figures that a row shows;
    ``why_now`` says why it waits tonight.
    ``wanted`` is the evidence that somebody asked for at ``parked_at``: while that is set it waits for it, not for a
    decision. ``taken_by`` are the candidates that took its place: it was merged into one, or split into several.
    """

    __table_args__ = (
        one_of("state", CANDIDATE_STATES, "state"),
        one_of("tier", TIERS, "tier"),
        sa.Index("ix_candidate_namespace_state", "namespace", "state", "rank"),
        _listed("ix_candidate_by_rank", WAITING, "rank", *FILTERED, "created_at"),
        _listed("ix_candidate_by_age", WAITING, "created_at", *FILTERED),
        _listed("ix_candidate_by_reach", WAITING, "reach", "rank", *FILTERED, "created_at"),
        _listed("ix_candidate_by_doubts", WAITING, "failing", "warning", "created_at", *FILTERED[:4]),
        _listed("ix_candidate_closed", CLOSED, "state", "updated_at", *FILTERED),
        _listed("ix_candidate_facets", WAITING, *COUNTED, "created_at"),
        _listed("ix_candidate_facets_parked", PARKED, *COUNTED, "created_at"),
        _listed("ix_candidate_facets_closed", CLOSED, "state", *COUNTED, "updated_at"),
    )

    namespace: str = Field(primary_key=True, foreign_key="namespace.path")
    id: str = Field(primary_key=True)
    kind: str
    state: str = "staged"
    tier: str
    tier_why: str = ""
    number: int = 1
    content_hash: str
    packet_hash: str
    title: str
    predicate_id: str
    family_id: str | None = None
    cluster_id: str | None = None
    run_id: str | None = Field(default=None, foreign_key="run.id")
    replaces_rule_id: str | None = None
    replaces_version: int | None = None
    revoked_before: bool = False
    rank: float = 0.0
    failing: int = 0
    warning: int = 0
    reach: int = NOT_MEASURED
    glance: dict[str, Any] = json_field()
    why_now: str = ""
    wanted: dict[str, Any] = json_field()
    parked_at: datetime | None = time_field(nullable=True)
    parked_by: str | None = None
    taken_by: list[str] = json_field(list)
    created_at: datetime = time_field()
    updated_at: datetime = time_field()


class CandidateRevision(Row, table=True):
    """One exact text with its evidence snapshot. Append-only.

    ``content`` is what agents would receive (no figures); ``packet`` is what the reviewer sees.
    ``author`` is a drafter's name or a user's id: who edited may not approve.
    """

    __tablename__ = "candidate_revision"
    __table_args__ = (candidate_fk(),)

    namespace: str = Field(primary_key=True)
    candidate_id: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    run_id: str | None = None
    content: dict[str, Any] = json_field()
    content_hash: str
    packet: dict[str, Any] = json_field()
    packet_hash: str
    author: str
    drafter: str
    mode: str
    inputs: list[str] = json_field(list)
    prompt_hash: str
    cost: dict[str, Any] = json_field()
    created_at: datetime = time_field()


class Evidence(Row, table=True):
    """Link from a candidate revision to an episode and its steps, with stance and independence group."""

    __table_args__ = (
        candidate_fk(),
        episode_fk(),
        one_of("stance", ("support", "counter"), "stance"),
        sa.Index("ix_evidence_candidate", "namespace", "candidate_id", "number"),
        sa.Index("ix_evidence_episode", "namespace", "episode_id"),
    )

    namespace: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    candidate_id: str
    number: int
    episode_id: str
    step_ids: list[str] = json_field(list)
    stance: str
    group_id: str
    stratum: str = ""
    is_stale: bool = False


class Reservation(Row, table=True):
    """Who is reading a candidate, so that a second reviewer takes another one. It keeps nobody from deciding."""

    __table_args__ = (candidate_fk(),)

    namespace: str = Field(primary_key=True)
    candidate_id: str = Field(primary_key=True)
    user_id: str = Field(foreign_key="user_account.id", index=True)
    since: datetime = time_field()
    until: datetime = time_field()


class Conflict(Row, table=True):
    """Two texts that cannot both be followed in one place, or two sets of raw episodes that contradict each other.

    Its id is of what it is about, so that it is the same one from night to night. Both sides are kept, with what each
    rests on in ``sides``. Resolving one is a person's decision with a reason.
    """

    __table_args__ = (
        one_of("state", ("open", "resolved"), "state"),
        sa.Index("ix_conflict_left_ref", "namespace", "left_ref"),
        sa.Index("ix_conflict_right_ref", "namespace", "right_ref"),
        _listed("ix_conflict_open", "state = 'open'", "namespace", "left_ref", "right_ref"),
    )

    namespace: str = Field(primary_key=True, foreign_key="namespace.path")
    id: str = Field(primary_key=True)
    kind: str
    left_ref: str
    right_ref: str
    detail: str
    sides: dict[str, Any] = json_field()
    state: str = "open"
    run_id: str | None = None
    at: datetime = time_field()
    resolution: str | None = None
    reason: str | None = None
    resolved_by: str | None = None
    resolved_at: datetime | None = time_field(nullable=True)


class Decision(Row, table=True):
    """One reviewer's verdict on one exact content hash, with the packet hash they saw."""

    __table_args__ = (
        candidate_fk(),
        one_of("verdict", ("approve", "reject"), "verdict"),
        sa.Index(
            "uq_decision_live",
            "namespace",
            "candidate_id",
            "content_hash",
            "reviewer_id",
            unique=True,
            sqlite_where=sa.text("voided_at IS NULL"),
            postgresql_where=sa.text("voided_at IS NULL"),
        ),
    )

    namespace: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    candidate_id: str
    number: int
    content_hash: str
    packet_hash: str
    verdict: str
    reviewer_id: str = Field(foreign_key="user_account.id")
    reason: str
    at: datetime = time_field()
    voided_at: datetime | None = time_field(nullable=True)
    void_reason: str | None = None
