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


def upgrade() -> None:
    # Column by column: SQLite rebuilds a table for a batch, and other tables refer to this one.
    for column in (
        sa.Column("failing", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("warning", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("reach", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("why_now", sa.String(), nullable=False, server_default=""),
        sa.Column("wanted", JSON, nullable=False, server_default=sa.text("'{}'")),
        sa.Column("parked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("parked_by", sa.String(), nullable=True),
        sa.Column("taken_by", JSON, nullable=False, server_default=sa.text("'[]'")),
    ):
        op.add_column("candidate", column)
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
    with op.batch_alter_table("web_session") as table:
        table.add_column(sa.Column("via", sa.String(), nullable=False, server_default="login"))


def downgrade() -> None:
    with op.batch_alter_table("web_session") as table:
        table.drop_column("via")
    op.drop_table("ack_span")
    op.drop_index(op.f("ix_reservation_user_id"), "reservation")
    op.drop_table("reservation")
    for name in ("taken_by", "parked_by", "parked_at", "wanted", "why_now", "reach", "warning", "failing"):
        op.drop_column("candidate", name)
