"""What the night keeps from one night to the next

Revision: 0007
Follows: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

VERDICTS = "'confirmed', 'unconfirmed', 'insufficient', 'confounded', 'agent-confounded'"

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
        sa.Column("leaders", JSON, nullable=False),
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
        "statement",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("episode_id", sa.String(), nullable=False),
        sa.Column("step_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("subject_key", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("attribute", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.Column("previous", sa.String(), nullable=False),
        sa.Column("denied", sa.Boolean(), nullable=False),
        sa.Column("single", sa.Boolean(), nullable=False),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_to", sa.DateTime(timezone=True), nullable=True),
        sa.Column("said_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("session", sa.String(), nullable=False),
        sa.Column("trust", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "episode_id"],
            ["episode.namespace", "episode.id"],
            name=op.f("fk_statement_namespace_episode_id"),
        ),
        sa.PrimaryKeyConstraint("namespace", "episode_id", "step_id", "number", name=op.f("pk_statement")),
    )
    op.create_index("ix_statement_subject", "statement", ["namespace", "subject_key", "said_at"], unique=False)
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
    with op.batch_alter_table("inference") as table:
        table.drop_constraint(op.f("ck_inference_verdict"), type_="check")
        table.create_check_constraint(
            op.f("ck_inference_verdict"), f"verdict IN ({VERDICTS}, 'consequence', 'hypothesis')"
        )
    with op.batch_alter_table("cluster") as table:
        table.add_column(sa.Column("absorbed_by", sa.String(), nullable=True))
    with op.batch_alter_table("cluster_episode") as table:
        table.add_column(sa.Column("stratum", sa.String(), nullable=True))

    with op.batch_alter_table("conflict") as table:
        table.add_column(sa.Column("sides", JSON, nullable=False, server_default=sa.text("'{}'")))
        table.add_column(sa.Column("resolution", sa.String(), nullable=True))
        table.add_column(sa.Column("reason", sa.String(), nullable=True))
        table.add_column(sa.Column("resolved_by", sa.String(), nullable=True))
        table.add_column(sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True))
        # Two matters may be stated in one pair of steps; what a conflict is about is in its id.
        table.drop_constraint("uq_conflict_namespace_left_ref_right_ref_kind", type_="unique")
    op.create_index("ix_conflict_left_ref", "conflict", ["namespace", "left_ref"], unique=False)


def downgrade() -> None:
    op.execute("UPDATE inference SET verdict = 'insufficient' WHERE verdict = 'consequence'")
    with op.batch_alter_table("inference") as table:
        table.drop_constraint(op.f("ck_inference_verdict"), type_="check")
        table.create_check_constraint(op.f("ck_inference_verdict"), f"verdict IN ({VERDICTS}, 'hypothesis')")
    op.drop_index("ix_conflict_left_ref", "conflict")
    op.execute(
        "DELETE FROM conflict WHERE EXISTS (SELECT 1 FROM conflict AS kept WHERE kept.namespace = conflict.namespace "
        "AND kept.left_ref = conflict.left_ref AND kept.right_ref = conflict.right_ref "
        "AND kept.kind = conflict.kind AND kept.id < conflict.id)"
    )
    with op.batch_alter_table("conflict") as table:
        table.create_unique_constraint(
            "uq_conflict_namespace_left_ref_right_ref_kind", ["namespace", "left_ref", "right_ref", "kind"]
        )
        table.drop_column("resolved_at")
        table.drop_column("resolved_by")
        table.drop_column("reason")
        table.drop_column("resolution")
        table.drop_column("sides")

    with op.batch_alter_table("cluster_episode") as table:
        table.drop_column("stratum")
    with op.batch_alter_table("cluster") as table:
        table.drop_column("absorbed_by")

    op.drop_table("recheck")
    op.drop_index("ix_statement_subject", "statement")
    op.drop_table("statement")
    op.drop_table("stratum")
    op.drop_table("mode_choice")
    op.drop_index("ix_model_reply_run", "model_reply")

    op.drop_table("model_reply")
    op.drop_table("facts_batch")
    op.drop_table("text_vector")
