"""Facts that were read once: a night needs the bodies of new episodes only. A cache: losing it costs time."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import FactsBatch


def facts_of_family(session: Session, namespace: str, family_id: str) -> Sequence[tuple[bytes, int]]:
    """The packed facts of a family, each with the version of the reader that made it, in the order they were read."""
    statement = select(FactsBatch.body, FactsBatch.reader_version).where(
        FactsBatch.namespace == namespace, FactsBatch.family_id == family_id
    )
    return session.exec(statement.order_by(col(FactsBatch.run_id), col(FactsBatch.part))).all()


def put_facts(
    session: Session, namespace: str, family_id: str, run_id: str, reader_version: int, *, episodes: int, body: bytes
) -> None:
    """Add the facts of some episodes, behind those that are there."""
    last = select(sa.func.max(FactsBatch.part)).where(
        FactsBatch.namespace == namespace, FactsBatch.family_id == family_id, FactsBatch.run_id == run_id
    )
    part = session.exec(last).one()
    session.add(
        FactsBatch(
            namespace=namespace, family_id=family_id, run_id=run_id, part=0 if part is None else part + 1,
            reader_version=reader_version, episodes=episodes, body=body,
        )
    )  # fmt: skip
    session.flush()


def forget_facts(session: Session, namespace: str, family_ids: Collection[str]) -> int:
    """Remove all facts of these families, as when an episode of theirs was erased. Returns how many rows."""
    statement = sa.delete(FactsBatch).where(
        col(FactsBatch.namespace) == namespace, col(FactsBatch.family_id).in_(family_ids)
    )
    return int(session.execute(statement).rowcount)  # type: ignore[attr-defined]
