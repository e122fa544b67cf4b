"""The staging area

Revision: 0004
Follows: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "conflict",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("left_ref", sa.String(), nullable=False),
        sa.Column("right_ref", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state IN ('open', 'resolved')", name=op.f("ck_conflict_state")),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_conflict_namespace")),
        sa.PrimaryKeyConstraint("namespace", "id", name=op.f("pk_conflict")),
        sa.UniqueConstraint(
            "namespace", "left_ref", "right_ref", "kind", name=op.f("uq_conflict_namespace_left_ref_right_ref_kind")
        ),
    )
    op.create_table(
        "candidate",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("tier", sa.String(), nullable=False),
        sa.Column("tier_why", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("packet_hash", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("predicate_id", sa.String(), nullable=False),
        sa.Column("family_id", sa.String(), nullable=True),
        sa.Column("cluster_id", sa.String(), nullable=True),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("replaces_rule_id", sa.String(), nullable=True),
        sa.Column("replaces_version", sa.Integer(), nullable=True),
        sa.Column("revoked_before", sa.Boolean(), nullable=False),
        sa.Column("rank", sa.Float(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state IN ('staged', 'approved', 'promoted', 'rejected', 'void')", name=op.f("ck_candidate_state")
        ),
        sa.CheckConstraint("tier IN ('low', 'standard', 'high')", name=op.f("ck_candidate_tier")),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_candidate_namespace")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_candidate_run_id")),
        sa.PrimaryKeyConstraint("namespace", "id", name=op.f("pk_candidate")),
    )
    op.create_index("ix_candidate_namespace_state", "candidate", ["namespace", "state", "rank"], unique=False)
    op.create_table(
        "candidate_revision",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("candidate_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("content", JSON, nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("packet", JSON, nullable=False),
        sa.Column("packet_hash", sa.String(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("drafter", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("inputs", JSON, nullable=False),
        sa.Column("prompt_hash", sa.String(), nullable=False),
        sa.Column("cost", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "candidate_id"],
            ["candidate.namespace", "candidate.id"],
            name=op.f("fk_candidate_revision_namespace_candidate_id"),
        ),
        sa.PrimaryKeyConstraint("namespace", "candidate_id", "number", name=op.f("pk_candidate_revision")),
    )
    op.create_table(
        "decision",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("candidate_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("packet_hash", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("reviewer_id", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("voided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("void_reason", sa.String(), nullable=True),
        sa.CheckConstraint("verdict IN ('approve', 'reject')", name=op.f("ck_decision_verdict")),
        sa.ForeignKeyConstraint(
            ["namespace", "candidate_id"],
            ["candidate.namespace", "candidate.id"],
            name=op.f("fk_decision_namespace_candidate_id"),
        ),
        sa.ForeignKeyConstraint(["reviewer_id"], ["user_account.id"], name=op.f("fk_decision_reviewer_id")),
        sa.PrimaryKeyConstraint("namespace", "id", name=op.f("pk_decision")),
    )
    op.create_index(
        "uq_decision_live",
        "decision",
        ["namespace", "candidate_id", "content_hash", "reviewer_id"],
        unique=True,
        sqlite_where=sa.text("voided_at IS NULL"),
        postgresql_where=sa.text("voided_at IS NULL"),
    )
    op.create_table(
        "evidence",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("candidate_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("episode_id", sa.String(), nullable=False),
        sa.Column("step_ids", JSON, nullable=False),
        sa.Column("stance", sa.String(), nullable=False),
        sa.Column("group_id", sa.String(), nullable=False),
        sa.Column("stratum", sa.String(), nullable=False),
        sa.Column("is_stale", sa.Boolean(), nullable=False),
        sa.CheckConstraint("stance IN ('support', 'counter')", name=op.f("ck_evidence_stance")),
        sa.ForeignKeyConstraint(
            ["namespace", "candidate_id"],
            ["candidate.namespace", "candidate.id"],
            name=op.f("fk_evidence_namespace_candidate_id"),
        ),
        sa.ForeignKeyConstraint(
            ["namespace", "episode_id"],
            ["episode.namespace", "episode.id"],
            name=op.f("fk_evidence_namespace_episode_id"),
        ),
        sa.PrimaryKeyConstraint("namespace", "id", name=op.f("pk_evidence")),
    )
    op.create_index("ix_evidence_candidate", "evidence", ["namespace", "candidate_id", "number"], unique=False)
    op.create_index("ix_evidence_episode", "evidence", ["namespace", "episode_id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_evidence_episode", table_name="evidence")
    op.drop_index("ix_evidence_candidate", table_name="evidence")
    op.drop_table("evidence")
    op.drop_index(
        "uq_decision_live",
        table_name="decision",
        sqlite_where=sa.text("voided_at IS NULL"),
        postgresql_where=sa.text("voided_at IS NULL"),
    )
    op.drop_table("decision")
    op.drop_table("candidate_revision")
    op.drop_index("ix_candidate_namespace_state", table_name="candidate")
    op.drop_table("candidate")
    op.drop_table("conflict")
