"""What drills found: how long after a revocation each reader had stopped

Revision: 0009
Follows: 0008
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "drill_result",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("condition", sa.String(), nullable=False),
        sa.Column("during", sa.String(), nullable=False),
        sa.Column("database", sa.String(), nullable=False),
        sa.Column("readers", sa.Integer(), nullable=False),
        sa.Column("lease_seconds", sa.Float(), nullable=False),
        sa.Column("limit_seconds", sa.Float(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("summary", JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drill_result")),
    )
    op.create_index(op.f("ix_drill_result_at"), "drill_result", ["at"], unique=False)


def downgrade() -> None:
    op.drop_table("drill_result")
