"""What reviewers do besides deciding: reserve, ask for evidence, merge, split; and how far each event got

Revision: 0008
Follows: 0007
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

WAITING = "parked_at IS NULL AND state IN ('staged', 'approved')"
PARKED = "parked_at IS NOT NULL AND state IN ('staged', 'approved')"
CLOSED = "state IN ('promoted', 'rejected', 'void')"
FILTERED = ["namespace", "id", "tier", "kind", "failing", "warning"]
COUNTED_BY = ["namespace", "tier", "kind", "failing", "warning"]
LISTED = (
    ("ix_candidate_by_rank", WAITING, ["rank", *FILTERED, "created_at"]),
    ("ix_candidate_by_age", WAITING, ["created_at", *FILTERED]),
    ("ix_candidate_by_reach", WAITING, ["reach", "rank", *FILTERED, "created_at"]),
    ("ix_candidate_by_doubts", WAITING, ["failing", "warning", "created_at", *FILTERED[:4]]),
    ("ix_candidate_closed", CLOSED, ["state", "updated_at", *FILTERED]),
    ("ix_candidate_facets", WAITING, [*COUNTED_BY, "created_at"]),
    ("ix_candidate_facets_parked", PARKED, [*COUNTED_BY, "created_at"]),
    ("ix_candidate_facets_closed", CLOSED, ["state", *COUNTED_BY, "updated_at"]),
)
# Checks that a waiting candidate's packet holds, so that a queue from before shows what is wrong with each at once.
# What no packet holds (reach, why it waits now) is the next night's to find: until then nothing is claimed.
COUNTED = {
    "sqlite": "SELECT count(*) FROM json_each(r.packet, '$.checks') AS c "
    "WHERE json_extract(c.value, '$.verdict') = '{verdict}'",
    "postgresql": "SELECT count(*) FROM jsonb_path_query(r.packet, '$.checks[*] ? (@.verdict == \"{verdict}\")')",
}

# Name, table, columns, and the columns that it had before, if it was there.
INDEXES: tuple[tuple[str, str, list[str], list[str]], ...] = (
    ("ix_ack_epoch", "ack", ["namespace", "epoch"], []),
    ("ix_ack_span_epoch", "ack_span", ["namespace", "epoch", "after_epoch"], []),
    ("ix_ack_span_at", "ack_span", ["namespace", "at"], []),
    ("ix_api_token_user_id", "api_token", ["user_id"], []),
    ("ix_audit_entry_at", "audit_entry", ["at", "seq", "target", "namespace"], []),
    ("ix_audit_entry_namespace", "audit_entry", ["namespace", "at", "seq", "target"], []),
    ("ix_audit_entry_actor", "audit_entry", ["actor", "at", "seq"], []),
    ("ix_audit_entry_action", "audit_entry", ["action", "at", "seq"], []),
    ("ix_audit_entry_target", "audit_entry", ["target", "at", "seq"], ["namespace", "target"]),
    ("ix_cache_grant_instance", "cache_grant", ["namespace", "client_instance", "until"],
     ["namespace", "client_instance"]),
    ("ix_outbox_event_created", "outbox_event", ["created_at", "namespace", "epoch"], []),
)  # fmt: skip


def upgrade() -> None:
    # Column by column: SQLite rebuilds a table for a batch, and other tables refer to this one.
    for column in (
        sa.Column("failing", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("warning", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("reach", sa.Integer(), nullable=False, server_default="-1"),
        sa.Column("why_now", sa.String(), nullable=False, server_default=""),
        sa.Column("wanted", JSON, nullable=False, server_default=sa.text("'{}'")),
        sa.Column("parked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("parked_by", sa.String(), nullable=True),
        sa.Column("taken_by", JSON, nullable=False, server_default=sa.text("'[]'")),
    ):
        op.add_column("candidate", column)
    for name, verdict in (("failing", "fail"), ("warning", "warn")):
        counted = COUNTED[op.get_bind().dialect.name].format(verdict=verdict)
        op.get_bind().exec_driver_sql(
            f"UPDATE candidate SET {name} = ({counted}) FROM candidate_revision AS r "  # noqa: S608 - all ours
            "WHERE r.namespace = candidate.namespace AND r.candidate_id = candidate.id AND r.number = candidate.number"
        )
    for name, where, columns in LISTED:
        condition = sa.text(where)
        op.create_index(name, "candidate", columns, sqlite_where=condition, postgresql_where=condition)
    op.create_index("ix_conflict_right_ref", "conflict", ["namespace", "right_ref"])
    is_open = sa.text("state = 'open'")
    op.create_index(
        "ix_conflict_open", "conflict", ["namespace", "left_ref", "right_ref"],
        sqlite_where=is_open, postgresql_where=is_open,
    )  # fmt: skip
    op.drop_index("ix_episode_namespace_family", "episode")
    op.create_index("ix_episode_namespace_family", "episode", ["namespace", "family_id", "started_at"])
    op.create_table(
        "reservation",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("candidate_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace", "candidate_id"],
            ["candidate.namespace", "candidate.id"],
            name=op.f("fk_reservation_namespace_candidate_id"),
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_reservation_user_id")),
        sa.PrimaryKeyConstraint("namespace", "candidate_id", name=op.f("pk_reservation")),
    )
    op.create_index(op.f("ix_reservation_user_id"), "reservation", ["user_id"], unique=False)
    op.create_table(
        "ack_span",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("consumer", sa.String(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("after_epoch", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_ack_span_namespace")),
        sa.PrimaryKeyConstraint("namespace", "consumer", "epoch", name=op.f("pk_ack_span")),
    )
    # With the time, so that a page counts a month of a rule's readers without reading all of them.
    op.drop_index("ix_exposure_version", "exposure")
    op.create_index("ix_exposure_version", "exposure", ["namespace", "rule_id", "version", "at"], unique=False)
    op.create_index("ix_cache_grant_version", "cache_grant", ["namespace", "rule_id", "version", "since"], unique=False)
    for name, of, columns, before in INDEXES:
        if before:
            op.drop_index(name, of)
        op.create_index(name, of, columns, unique=False)
    with op.batch_alter_table("web_session") as table:
        table.add_column(sa.Column("via", sa.String(), nullable=False, server_default="login"))


def downgrade() -> None:
    for name, of, _, before in INDEXES:
        op.drop_index(name, of)
        if before:
            op.create_index(name, of, before, unique=False)
    op.drop_index("ix_cache_grant_version", "cache_grant")
    op.drop_index("ix_exposure_version", "exposure")
    op.create_index("ix_exposure_version", "exposure", ["namespace", "rule_id", "version"], unique=False)
    with op.batch_alter_table("web_session") as table:
        table.drop_column("via")
    op.drop_table("ack_span")
    op.drop_index(op.f("ix_reservation_user_id"), "reservation")
    op.drop_table("reservation")
    op.drop_index("ix_episode_namespace_family", "episode")
    op.create_index("ix_episode_namespace_family", "episode", ["namespace", "family_id"])
    op.drop_index("ix_conflict_open", "conflict")
    op.drop_index("ix_conflict_right_ref", "conflict")
    for name, _, _ in LISTED:
        op.drop_index(name, "candidate")
    for name in ("taken_by", "parked_by", "parked_at", "wanted", "why_now", "reach", "warning", "failing"):
        op.drop_column("candidate", name)
