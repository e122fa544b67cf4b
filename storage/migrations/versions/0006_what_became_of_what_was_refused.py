"""What became of what was refused, and which files were followed

Revision: 0006
Follows: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ADDED = ("source_scope", "principal_capped", "attempts", "tried_at", "resolution")


def upgrade() -> None:
    with op.batch_alter_table("dead_letter") as table:
        table.add_column(sa.Column("source_scope", sa.String(), nullable=False, server_default=""))
        table.add_column(sa.Column("principal_capped", sa.Boolean(), nullable=False, server_default=sa.false()))
        table.add_column(sa.Column("attempts", sa.Integer(), nullable=False, server_default="1"))
        table.add_column(sa.Column("tried_at", sa.DateTime(timezone=True), nullable=True))
        table.add_column(sa.Column("resolution", sa.String(), nullable=True))
    # Until now a letter did not say whether an agent had sent it: what came as a request is taken to be an agent's.
    op.execute(
        "UPDATE dead_letter SET tried_at = at, principal_capped = (file = 'request'),"
        " source_scope = CASE WHEN file LIKE '/%.gz' THEN substr(file, 1, length(file) - 3)"
        " WHEN file LIKE '/%' THEN file ELSE '' END"
    )
    with op.batch_alter_table("dead_letter") as table:
        table.alter_column("tried_at", existing_type=sa.DateTime(timezone=True), nullable=False)
    op.create_index("ix_dead_letter_namespace_scope", "dead_letter", ["namespace", "source_scope"], unique=False)
    op.create_table(
        "followed_file",
        sa.Column("namespace", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("mtime_ns", sa.BigInteger(), nullable=False),
        sa.Column("inode", sa.BigInteger(), nullable=False),
        sa.Column("generation", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("counts", JSON, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state IN ('read', 'joined', 'failed')", name=op.f("ck_followed_file_state")),
        sa.ForeignKeyConstraint(["namespace"], ["namespace.path"], name=op.f("fk_followed_file_namespace")),
        sa.PrimaryKeyConstraint("namespace", "path", name=op.f("pk_followed_file")),
    )


def downgrade() -> None:
    op.drop_table("followed_file")
    op.drop_index("ix_dead_letter_namespace_scope", table_name="dead_letter")
    with op.batch_alter_table("dead_letter") as table:
        for name in reversed(ADDED):
            table.drop_column(name)
