"""What the night keeps from one night to the next

Revision: 0007
Follows: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "text_vector",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("text_hash", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("dimensions", sa.Integer(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_text_vector_namespace")),
        sa.PrimaryKeyConstraint("namespace", "text_hash", "model", name=op.f("pk_text_vector")),
    )
    op.create_table(
        "facts_batch",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("family_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("reader_version", sa.Integer(), nullable=False),
        sa.Column("episodes", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "family_id"],
            ["family.namespace", "family.id"],
            name=op.f("fk_facts_batch_namespace_family_id"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_facts_batch_run_id")),
        sa.PrimaryKeyConstraint("namespace", "family_id", "run_id", "part", name=op.f("pk_facts_batch")),
    )
    op.create_table(
        "model_reply",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("prompt_hash", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("cluster_id", sa.String(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reply", sa.String(), nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("inputs", JSON, nullable=False),
        sa.Column("tokens_in", sa.Integer(), nullable=False),
        sa.Column("tokens_out", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state IN ('accepted', 'malformed', 'failed')", name=op.f("ck_model_reply_state")),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_model_reply_namespace")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_model_reply_run_id")),
        sa.PrimaryKeyConstraint("namespace", "prompt_hash", "model", "attempt", name=op.f("pk_model_reply")),
    )
    op.create_index("ix_model_reply_run", "model_reply", ["namespace", "run_id"], unique=False)

    op.create_table(
        "mode_choice",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("cluster_id", sa.String(), nullable=False),
        sa.Column("family_id", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("regime", sa.String(), nullable=False),
        sa.Column("why", sa.String(), nullable=False),
        sa.Column("profile", JSON, nullable=False),
        sa.Column("scores", JSON, nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("reward", sa.Float(), nullable=True),
        sa.Column("reward_why", sa.String(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("action IN ('keep', 'remove', 'consolidate')", name=op.f("ck_mode_choice_action")),
        sa.CheckConstraint(
            "mode IN ('none', 'imitation', 'strategic', 'corrective')", name=op.f("ck_mode_choice_mode")
        ),
        sa.CheckConstraint("regime IN ('auto', 'episodic', 'force')", name=op.f("ck_mode_choice_regime")),
        sa.ForeignKeyConstraint(
            ["namespace", "cluster_id"],
            ["cluster.namespace", "cluster.id"],
            name=op.f("fk_mode_choice_namespace_cluster_id"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_mode_choice_run_id")),
        sa.PrimaryKeyConstraint("namespace", "run_id", "cluster_id", name=op.f("pk_mode_choice")),
    )
    op.create_table(
        "stratum",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("family_id", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("leader", sa.String(), nullable=False),
        sa.Column("cluster_id", sa.String(), nullable=True),
        sa.Column("is_derived", sa.Boolean(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "cluster_id"],
            ["cluster.namespace", "cluster.id"],
            name=op.f("fk_stratum_namespace_cluster_id"),
        ),
        sa.ForeignKeyConstraint(
            ["namespace", "family_id"], ["family.namespace", "family.id"], name=op.f("fk_stratum_namespace_family_id")
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_stratum_run_id")),
        sa.PrimaryKeyConstraint("namespace", "family_id", "id", name=op.f("pk_stratum")),
    )
    op.create_table(
        "recheck",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("rule_id", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("words", sa.String(), nullable=False),
        sa.Column("statistics", JSON, nullable=False),
        sa.Column("candidate_id", sa.String(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "verdict IN ('stands', 'vanished', 'reversed', 'outside-scope', 'no-comparison', 'not-enough')",
            name=op.f("ck_recheck_verdict"),
        ),
        sa.ForeignKeyConstraint(
            ["namespace", "rule_id", "version"],
            ["rule_version.namespace", "rule_version.rule_id", "rule_version.version"],
            name=op.f("fk_recheck_namespace_rule_id_version"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_recheck_run_id")),
        sa.PrimaryKeyConstraint("namespace", "run_id", "rule_id", "version", name=op.f("pk_recheck")),
    )
    with op.batch_alter_table("cluster_episode") as table:
        table.add_column(sa.Column("stratum", sa.String(), nullable=True))

    with op.batch_alter_table("conflict") as table:
        table.add_column(sa.Column("sides", JSON, nullable=False, server_default=sa.text("'{}'")))
        table.add_column(sa.Column("resolution", sa.String(), nullable=True))
        table.add_column(sa.Column("reason", sa.String(), nullable=True))
        table.add_column(sa.Column("resolved_by", sa.String(), nullable=True))
        table.add_column(sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("conflict") as table:
        table.drop_column("resolved_at")
        table.drop_column("resolved_by")
        table.drop_column("reason")
        table.drop_column("resolution")
        table.drop_column("sides")

    with op.batch_alter_table("cluster_episode") as table:
        table.drop_column("stratum")

    op.drop_table("recheck")
    op.drop_table("stratum")
    op.drop_table("mode_choice")
    op.drop_index("ix_model_reply_run", "model_reply")

    op.drop_table("model_reply")
    op.drop_table("facts_batch")
    op.drop_table("text_vector")
