"""The promoted store and its readers

Revision: 0005
Follows: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_entry",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("detail", JSON, nullable=False),
        sa.Column("previous_hash", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_audit_entry")),
    )
    op.create_index("ix_audit_entry_target", "audit_entry", ["namespace", "target"], unique=False)
    op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_audit_head_single")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_head")),
    )
    op.create_table(
        "ack",
        sa.Column("consumer", sa.String(), nullable=False),
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("token_id", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_ack_namespace")),
        sa.PrimaryKeyConstraint("consumer", "namespace", name=op.f("pk_ack")),
    )
    op.create_table(
        "client_session",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("client_instance", sa.String(), nullable=False),
        sa.Column("token_id", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reported", JSON, nullable=False),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_client_session_namespace")),
        sa.PrimaryKeyConstraint("namespace", "session_id", "client_instance", name=op.f("pk_client_session")),
    )
    op.create_table(
        "outbox_event",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("changes", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("relayed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_outbox_event_namespace")),
        sa.PrimaryKeyConstraint("namespace", "epoch", name=op.f("pk_outbox_event")),
    )
    op.create_index(
        "ix_outbox_event_pending",
        "outbox_event",
        ["namespace", "epoch"],
        unique=False,
        sqlite_where=sa.text("relayed_at IS NULL"),
        postgresql_where=sa.text("relayed_at IS NULL"),
    )
    op.create_table(
        "rule",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("predicate_id", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_rule_namespace")),
        sa.PrimaryKeyConstraint("namespace", "id", name=op.f("pk_rule")),
    )
    op.create_index(op.f("ix_rule_predicate_id"), "rule", ["predicate_id"], unique=False)
    op.create_table(
        "search_miss",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_search_miss_namespace")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_search_miss")),
    )
    op.create_index(op.f("ix_search_miss_namespace"), "search_miss", ["namespace"], unique=False)
    op.create_table(
        "rule_version",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("rule_id", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("tier", sa.String(), nullable=False),
        sa.Column("content", JSON, nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("evidence", JSON, nullable=False),
        sa.Column("candidate_id", sa.String(), nullable=False),
        sa.Column("candidate_number", sa.Integer(), nullable=False),
        sa.Column("promoted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("promoted_epoch", sa.BigInteger(), nullable=False),
        sa.Column("state_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state_epoch", sa.BigInteger(), nullable=False),
        sa.Column("state_reason", sa.String(), nullable=False),
        sa.Column("recheck_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('active', 'superseded', 'quarantined', 'revoked', 'expired')", name=op.f("ck_rule_version_state")
        ),
        sa.ForeignKeyConstraint(
            ["namespace", "candidate_id", "candidate_number"],
            ["candidate_revision.namespace", "candidate_revision.candidate_id", "candidate_revision.number"],
            name=op.f("fk_rule_version_namespace_candidate_id_candidate_number"),
        ),
        sa.ForeignKeyConstraint(
            ["namespace", "rule_id"], ["rule.namespace", "rule.id"], name=op.f("fk_rule_version_namespace_rule_id")
        ),
        sa.PrimaryKeyConstraint("namespace", "rule_id", "version", name=op.f("pk_rule_version")),
    )
    op.create_index("ix_rule_version_namespace_state", "rule_version", ["namespace", "state"], unique=False)
    op.create_index(
        "uq_rule_version_active",
        "rule_version",
        ["namespace", "rule_id"],
        unique=True,
        sqlite_where=sa.text("state = 'active'"),
        postgresql_where=sa.text("state = 'active'"),
    )
    op.create_table(
        "cache_grant",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("client_instance", sa.String(), nullable=False),
        sa.Column("token_id", sa.String(), nullable=False),
        sa.Column("rule_id", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "rule_id", "version"],
            ["rule_version.namespace", "rule_version.rule_id", "rule_version.version"],
            name=op.f("fk_cache_grant_namespace_rule_id_version"),
        ),
        sa.PrimaryKeyConstraint("namespace", "id", name=op.f("pk_cache_grant")),
    )
    op.create_index("ix_cache_grant_instance", "cache_grant", ["namespace", "client_instance"], unique=False)
    op.create_table(
        "exposure",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=True),
        sa.Column("token_id", sa.String(), nullable=False),
        sa.Column("rule_id", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=False),
        sa.Column("client_instance", sa.String(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "rule_id", "version"],
            ["rule_version.namespace", "rule_version.rule_id", "rule_version.version"],
            name=op.f("fk_exposure_namespace_rule_id_version"),
        ),
        sa.PrimaryKeyConstraint("namespace", "id", name=op.f("pk_exposure")),
    )
    op.create_index("ix_exposure_session", "exposure", ["namespace", "session_id"], unique=False)
    op.create_index("ix_exposure_version", "exposure", ["namespace", "rule_id", "version"], unique=False)
    op.create_table(
        "version_ancestor",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("rule_id", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("ancestor_rule_id", sa.String(), nullable=False),
        sa.Column("ancestor_version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "ancestor_rule_id", "ancestor_version"],
            ["rule_version.namespace", "rule_version.rule_id", "rule_version.version"],
            name=op.f("fk_version_ancestor_namespace_ancestor_rule_id_ancestor_version"),
        ),
        sa.ForeignKeyConstraint(
            ["namespace", "rule_id", "version"],
            ["rule_version.namespace", "rule_version.rule_id", "rule_version.version"],
            name=op.f("fk_version_ancestor_namespace_rule_id_version"),
        ),
        sa.PrimaryKeyConstraint(
            "namespace", "rule_id", "version", "ancestor_rule_id", "ancestor_version", name=op.f("pk_version_ancestor")
        ),
    )
    op.create_index(
        "ix_version_ancestor_up",
        "version_ancestor",
        ["namespace", "ancestor_rule_id", "ancestor_version"],
        unique=False,
    )
    op.execute("INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, '')")


def downgrade() -> None:
    op.drop_index("ix_version_ancestor_up", table_name="version_ancestor")
    op.drop_table("version_ancestor")
    op.drop_index("ix_exposure_version", table_name="exposure")
    op.drop_index("ix_exposure_session", table_name="exposure")
    op.drop_table("exposure")
    op.drop_index("ix_cache_grant_instance", table_name="cache_grant")
    op.drop_table("cache_grant")
    op.drop_index(
        "uq_rule_version_active",
        table_name="rule_version",
        sqlite_where=sa.text("state = 'active'"),
        postgresql_where=sa.text("state = 'active'"),
    )
    op.drop_index("ix_rule_version_namespace_state", table_name="rule_version")
    op.drop_table("rule_version")
    op.drop_index(op.f("ix_search_miss_namespace"), table_name="search_miss")
    op.drop_table("search_miss")
    op.drop_index(op.f("ix_rule_predicate_id"), table_name="rule")
    op.drop_table("rule")
    op.drop_index(
        "ix_outbox_event_pending",
        table_name="outbox_event",
        sqlite_where=sa.text("relayed_at IS NULL"),
        postgresql_where=sa.text("relayed_at IS NULL"),
    )
    op.drop_table("outbox_event")
    op.drop_table("client_session")
    op.drop_table("ack")
    op.drop_table("audit_head")
    op.drop_index("ix_audit_entry_target", table_name="audit_entry")
    op.drop_table("audit_entry")
