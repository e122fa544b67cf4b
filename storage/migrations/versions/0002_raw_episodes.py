"""Raw episodes

Revision: 0002
Follows: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "dead_letter",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("record_hash", sa.String(), nullable=False),
        sa.Column("file", sa.String(), nullable=False),
        sa.Column("line", sa.Integer(), nullable=True),
        sa.Column("importer", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=True),
        sa.Column("principal", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_dead_letter_namespace")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dead_letter")),
        sa.UniqueConstraint("namespace", "record_hash", name=op.f("uq_dead_letter_namespace_record_hash")),
    )
    op.create_index(op.f("ix_dead_letter_namespace"), "dead_letter", ["namespace"], unique=False)
    op.create_table(
        "episode",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("is_current", sa.Boolean(), nullable=False),
        sa.Column("supersedes_id", sa.String(), nullable=True),
        sa.Column("importer", sa.String(), nullable=False),
        sa.Column("importer_version", sa.Integer(), nullable=False),
        sa.Column("redactor_version", sa.Integer(), nullable=False),
        sa.Column("source_scope", sa.String(), nullable=False),
        sa.Column("source_file", sa.String(), nullable=True),
        sa.Column("source_line", sa.Integer(), nullable=True),
        sa.Column("source_id", sa.String(), nullable=True),
        sa.Column("source_hash", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=True),
        sa.Column("retry_of", sa.String(), nullable=True),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("task_key", sa.String(), nullable=False),
        sa.Column("task_key_derived", sa.Boolean(), nullable=False),
        sa.Column("family_id", sa.String(), nullable=True),
        sa.Column("agent", sa.String(), nullable=True),
        sa.Column("agent_version", sa.String(), nullable=True),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("environment", JSON, nullable=False),
        sa.Column("tools_offered", JSON, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("time_is_naive", sa.Boolean(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("outcome_source", sa.String(), nullable=False),
        sa.Column("reward", sa.Float(), nullable=True),
        sa.Column("trust", sa.String(), nullable=False),
        sa.Column("principal", sa.String(), nullable=False),
        sa.Column("principal_capped", sa.Boolean(), nullable=False),
        sa.Column("n_steps", sa.Integer(), nullable=False),
        sa.Column("n_calls", sa.Integer(), nullable=False),
        sa.Column("redactions", JSON, nullable=False),
        sa.Column("details", JSON, nullable=False),
        sa.Column("ingested_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("purged_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("outcome IN ('success', 'failure', 'partial', 'unknown')", name=op.f("ck_episode_outcome")),
        sa.ForeignKeyConstraint(
            ["namespace", "supersedes_id"],
            ["episode.namespace", "episode.id"],
            name=op.f("fk_episode_namespace_supersedes_id"),
        ),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_episode_namespace")),
        sa.PrimaryKeyConstraint("namespace", "id", name=op.f("pk_episode")),
        sa.UniqueConstraint("namespace", "source_hash", name=op.f("uq_episode_namespace_source_hash")),
    )
    op.create_index("ix_episode_namespace_family", "episode", ["namespace", "family_id"], unique=False)
    op.create_index("ix_episode_namespace_fingerprint", "episode", ["namespace", "fingerprint"], unique=False)
    op.create_index("ix_episode_namespace_session", "episode", ["namespace", "session_id"], unique=False)
    op.create_index(
        "uq_episode_current",
        "episode",
        ["namespace", "importer", "source_scope", "source_id"],
        unique=True,
        sqlite_where=sa.text("is_current AND source_id IS NOT NULL"),
        postgresql_where=sa.text("is_current AND source_id IS NOT NULL"),
    )
    op.create_table(
        "episode_body",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("episode_id", sa.String(), nullable=False),
        sa.Column("codec", sa.String(), nullable=False),
        sa.Column("nonce", sa.LargeBinary(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "episode_id"],
            ["episode.namespace", "episode.id"],
            name=op.f("fk_episode_body_namespace_episode_id"),
        ),
        sa.PrimaryKeyConstraint("namespace", "episode_id", name=op.f("pk_episode_body")),
    )
    op.create_table(
        "episode_key",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("episode_id", sa.String(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "episode_id"],
            ["episode.namespace", "episode.id"],
            name=op.f("fk_episode_key_namespace_episode_id"),
        ),
        sa.PrimaryKeyConstraint("namespace", "episode_id", name=op.f("pk_episode_key")),
    )


def downgrade() -> None:
    op.drop_table("episode_key")
    op.drop_table("episode_body")
    op.drop_index(
        "uq_episode_current",
        table_name="episode",
        sqlite_where=sa.text("is_current AND source_id IS NOT NULL"),
        postgresql_where=sa.text("is_current AND source_id IS NOT NULL"),
    )
    op.drop_index("ix_episode_namespace_session", table_name="episode")
    op.drop_index("ix_episode_namespace_fingerprint", table_name="episode")
    op.drop_index("ix_episode_namespace_family", table_name="episode")
    op.drop_table("episode")
    op.drop_index(op.f("ix_dead_letter_namespace"), table_name="dead_letter")
    op.drop_table("dead_letter")
