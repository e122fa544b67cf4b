"""Runs and what they find

Revision: 0003
Follows: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "family",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("signature", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_family_namespace")),
        sa.PrimaryKeyConstraint("namespace", "id", name=op.f("pk_family")),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("requested_by", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("stats", JSON, nullable=False),
        sa.Column("problems", JSON, nullable=False),
        sa.CheckConstraint("kind IN ('night', 'repair')", name=op.f("ck_run_kind")),
        sa.CheckConstraint("state IN ('running', 'completed', 'partial', 'failed')", name=op.f("ck_run_state")),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_run_namespace")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint("namespace", "kind", "key", "seq", name=op.f("uq_run_namespace_kind_key_seq")),
    )
    op.create_index(op.f("ix_run_namespace"), "run", ["namespace"], unique=False)
    op.create_index(
        "uq_run_open_night",
        "run",
        ["namespace"],
        unique=True,
        sqlite_where=sa.text("state = 'running' AND kind = 'night'"),
        postgresql_where=sa.text("state = 'running' AND kind = 'night'"),
    )
    op.create_table(
        "cluster",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("family_id", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("terms", JSON, nullable=False),
        sa.Column("tools", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "family_id"], ["family.namespace", "family.id"], name=op.f("fk_cluster_namespace_family_id")
        ),
        sa.PrimaryKeyConstraint("namespace", "id", name=op.f("pk_cluster")),
    )
    op.create_table(
        "inference",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("family_id", sa.String(), nullable=False),
        sa.Column("predicate_id", sa.String(), nullable=False),
        sa.Column("predicate", JSON, nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("statement", sa.String(), nullable=False),
        sa.Column("statistics", JSON, nullable=False),
        sa.Column("next_step", sa.String(), nullable=True),
        sa.Column("ruled_out", JSON, nullable=False),
        sa.CheckConstraint(
            "verdict IN ('confirmed', 'unconfirmed', 'insufficient', 'confounded', 'agent-confounded', 'hypothesis')",
            name=op.f("ck_inference_verdict"),
        ),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_inference_namespace")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_inference_run_id")),
        sa.PrimaryKeyConstraint("namespace", "id", name=op.f("pk_inference")),
        sa.UniqueConstraint(
            "namespace", "run_id", "predicate_id", name=op.f("uq_inference_namespace_run_id_predicate_id")
        ),
    )
    op.create_index(op.f("ix_inference_predicate_id"), "inference", ["predicate_id"], unique=False)
    op.create_index(op.f("ix_inference_run_id"), "inference", ["run_id"], unique=False)
    op.create_table(
        "look",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("predicate_id", sa.String(), nullable=False),
        sa.Column("fold", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("alpha", sa.Float(), nullable=False),
        sa.Column("p_value", sa.Float(), nullable=False),
        sa.Column("odds_ratio", sa.Float(), nullable=True),
        sa.Column("groups", JSON, nullable=False),
        sa.Column("confirmed", sa.Boolean(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_look_namespace")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_look_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_look")),
        sa.UniqueConstraint(
            "namespace", "predicate_id", "fold", "run_id", name=op.f("uq_look_namespace_predicate_id_fold_run_id")
        ),
    )
    op.create_index(op.f("ix_look_namespace"), "look", ["namespace"], unique=False)
    op.create_table(
        "observation",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("episode_id", sa.String(), nullable=False),
        sa.Column("step_ids", JSON, nullable=False),
        sa.Column("start", sa.Integer(), nullable=True),
        sa.Column("end", sa.Integer(), nullable=True),
        sa.Column("what", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "episode_id"],
            ["episode.namespace", "episode.id"],
            name=op.f("fk_observation_namespace_episode_id"),
        ),
        sa.PrimaryKeyConstraint("namespace", "id", name=op.f("pk_observation")),
    )
    op.create_table(
        "run_episode",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("episode_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("why", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "episode_id"],
            ["episode.namespace", "episode.id"],
            name=op.f("fk_run_episode_namespace_episode_id"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_run_episode_run_id")),
        sa.PrimaryKeyConstraint("namespace", "episode_id", name=op.f("pk_run_episode")),
    )
    op.create_index("ix_run_episode_run", "run_episode", ["run_id"], unique=False)
    op.create_table(
        "run_step",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("shard", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("enqueued_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("result", JSON, nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.CheckConstraint("state IN ('pending', 'leased', 'done', 'parked')", name=op.f("ck_run_step_state")),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_run_step_namespace")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_run_step_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_step")),
        sa.UniqueConstraint("run_id", "stage", "shard", name=op.f("uq_run_step_run_id_stage_shard")),
    )
    op.create_index("ix_run_step_state_lease", "run_step", ["state", "lease_until"], unique=False)
    op.create_table(
        "cluster_episode",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("episode_id", sa.String(), nullable=False),
        sa.Column("cluster_id", sa.String(), nullable=False),
        sa.Column("group_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "cluster_id"],
            ["cluster.namespace", "cluster.id"],
            name=op.f("fk_cluster_episode_namespace_cluster_id"),
        ),
        sa.ForeignKeyConstraint(
            ["namespace", "episode_id"],
            ["episode.namespace", "episode.id"],
            name=op.f("fk_cluster_episode_namespace_episode_id"),
        ),
        sa.PrimaryKeyConstraint("namespace", "episode_id", name=op.f("pk_cluster_episode")),
    )
    op.create_index("ix_cluster_episode_cluster", "cluster_episode", ["namespace", "cluster_id"], unique=False)
    op.create_table(
        "draft",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("candidate_id", sa.String(), nullable=False),
        sa.Column("inference_id", sa.String(), nullable=False),
        sa.Column("cluster_id", sa.String(), nullable=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("drafter", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("content", JSON, nullable=False),
        sa.Column("packet", JSON, nullable=False),
        sa.Column("inputs", JSON, nullable=False),
        sa.Column("prompt_hash", sa.String(), nullable=False),
        sa.Column("cost", JSON, nullable=False),
        sa.Column("conflicts", JSON, nullable=False),
        sa.Column("checks", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "inference_id"],
            ["inference.namespace", "inference.id"],
            name=op.f("fk_draft_namespace_inference_id"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_draft_run_id")),
        sa.PrimaryKeyConstraint("namespace", "id", name=op.f("pk_draft")),
        sa.UniqueConstraint("namespace", "run_id", "candidate_id", name=op.f("uq_draft_namespace_run_id_candidate_id")),
    )
    op.create_table(
        "inference_observation",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("inference_id", sa.String(), nullable=False),
        sa.Column("observation_id", sa.String(), nullable=False),
        sa.Column("stance", sa.String(), nullable=False),
        sa.Column("group_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "inference_id"],
            ["inference.namespace", "inference.id"],
            name=op.f("fk_inference_observation_namespace_inference_id"),
        ),
        sa.ForeignKeyConstraint(
            ["namespace", "observation_id"],
            ["observation.namespace", "observation.id"],
            name=op.f("fk_inference_observation_namespace_observation_id"),
        ),
        sa.PrimaryKeyConstraint("namespace", "inference_id", "observation_id", name=op.f("pk_inference_observation")),
    )


def downgrade() -> None:
    op.drop_table("inference_observation")
    op.drop_table("draft")
    op.drop_index("ix_cluster_episode_cluster", table_name="cluster_episode")
    op.drop_table("cluster_episode")
    op.drop_index("ix_run_step_state_lease", table_name="run_step")
    op.drop_table("run_step")
    op.drop_index("ix_run_episode_run", table_name="run_episode")
    op.drop_table("run_episode")
    op.drop_table("observation")
    op.drop_index(op.f("ix_look_namespace"), table_name="look")
    op.drop_table("look")
    op.drop_index(op.f("ix_inference_run_id"), table_name="inference")
    op.drop_index(op.f("ix_inference_predicate_id"), table_name="inference")
    op.drop_table("inference")
    op.drop_table("cluster")
    op.drop_index(
        "uq_run_open_night",
        table_name="run",
        sqlite_where=sa.text("state = 'running' AND kind = 'night'"),
        postgresql_where=sa.text("state = 'running' AND kind = 'night'"),
    )
    op.drop_index(op.f("ix_run_namespace"), table_name="run")
    op.drop_table("run")
    op.drop_table("family")
