"""Vectors that an embedder made, kept by keyed text hash and model, so that no text is embedded twice."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import TextVector

AT_A_TIME = 500
"""Hashes in one statement; SQLite takes a limited number of values."""


def dimensions_of(session: Session, namespace: str, model: str) -> int | None:
    """How long the vectors of a model are in a namespace; None where none is kept."""
    statement = select(TextVector.dimensions).where(TextVector.namespace == namespace, TextVector.model == model)
    return session.exec(statement.limit(1)).first()


def vectors_by_hash(session: Session, namespace: str, model: str, hashes: Sequence[str]) -> dict[str, bytes]:
    """The kept vectors of these texts by this model."""
    found: dict[str, bytes] = {}
    for start in range(0, len(hashes), AT_A_TIME):
        statement = select(TextVector.text_hash, TextVector.vector).where(
            TextVector.namespace == namespace,
            TextVector.model == model,
            col(TextVector.text_hash).in_(hashes[start : start + AT_A_TIME]),
        )
        found.update(session.exec(statement).all())
    return found


def put_vectors(
    session: Session, namespace: str, model: str, dimensions: int, rows: Sequence[tuple[str, bytes]]
) -> None:
    """Keep (text hash, vector); what is kept already stays as it is."""
    known = vectors_by_hash(session, namespace, model, [name for name, _ in rows])
    for name, body in dict(rows).items():
        if name not in known:
            session.add(
                TextVector(namespace=namespace, text_hash=name, model=model, dimensions=dimensions, vector=body)
            )
    session.flush()


def forget_vectors(session: Session, namespace: str, hashes: Collection[str]) -> int:
    """Remove the vectors of erased texts, by every model. Returns how many rows."""
    statement = sa.delete(TextVector).where(
        col(TextVector.namespace) == namespace, col(TextVector.text_hash).in_(list(hashes))
    )
    return int(session.execute(statement).rowcount)  # type: ignore[attr-defined]


def forget_model(session: Session, namespace: str, model: str) -> int:
    """Remove all vectors of one model, so that it may be set up anew. Returns how many rows."""
    statement = sa.delete(TextVector).where(col(TextVector.namespace) == namespace, col(TextVector.model) == model)
    return int(session.execute(statement).rowcount)  # type: ignore[attr-defined]
