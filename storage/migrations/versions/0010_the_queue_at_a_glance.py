"""What a row of the queue shows of a candidate's packet, beside the candidate

Revision: 0010
Follows: 0009
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
GLANCED = {
    "effect": ("odds_ratio", "low", "high"),
    "held_out": ("p_value", "alpha", "same_direction"),
    "evidence": ("independent_groups",),
}
BATCH = 500

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

CANDIDATE = sa.table(
    "candidate", sa.column("namespace", sa.String), sa.column("id", sa.String), sa.column("number", sa.Integer),
    sa.column("glance", JSON),
)  # fmt: skip
REVISION = sa.table(
    "candidate_revision", sa.column("namespace", sa.String), sa.column("candidate_id", sa.String),
    sa.column("number", sa.Integer), sa.column("packet", JSON),
)  # fmt: skip


def upgrade() -> None:
    op.add_column("candidate", sa.Column("glance", JSON, nullable=False, server_default=sa.text("'{}'")))
    bind, after = op.get_bind(), ("", "")
    key = sa.tuple_(CANDIDATE.c.namespace, CANDIDATE.c.id)
    packets = (
        sa.select(CANDIDATE.c.namespace, CANDIDATE.c.id, REVISION.c.packet)
        .join(
            REVISION,
            sa.and_(
                REVISION.c.namespace == CANDIDATE.c.namespace,
                REVISION.c.candidate_id == CANDIDATE.c.id,
                REVISION.c.number == CANDIDATE.c.number,
            ),
        )
        .order_by(CANDIDATE.c.namespace, CANDIDATE.c.id)
        .limit(BATCH)
    )
    glance = (
        sa.update(CANDIDATE)
        .where(CANDIDATE.c.namespace == sa.bindparam("space"), CANDIDATE.c.id == sa.bindparam("name"))
        .values(glance=sa.bindparam("kept", type_=JSON))
    )
    while rows := bind.execute(packets.where(key > sa.tuple_(sa.literal(after[0]), sa.literal(after[1])))).all():
        bind.execute(glance, [{"space": row[0], "name": row[1], "kept": _glance(row[2])} for row in rows])
        after = (rows[-1][0], rows[-1][1])


def _glance(packet: Mapping[str, Any]) -> dict[str, Any]:
    kept = {
        part: {name: found[name] for name in names if name in found}
        for part, names in GLANCED.items()
        if isinstance(found := packet.get(part), Mapping)
    }
    return kept | ({"forced": True} if packet.get("forced") else {})


def downgrade() -> None:
    op.drop_column("candidate", "glance")
