"""Episodes: every SELECT on them that ingest, the pages and the command line use."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import DeadLetter, Episode, Namespace

_TABLE = Episode.__table__  # type: ignore[attr-defined]


def namespace(session: Session, path: str) -> Namespace | None:
    """The partition, or None before anything was ingested into it."""
    return session.get(Namespace, path)


def get(session: Session, namespace: str, episode_id: str) -> Episode | None:
    """One episode's row, current or not."""
    return session.get(Episode, (namespace, episode_id))


def by_ids(session: Session, namespace: str, ids: Collection[str]) -> list[Episode]:
    """Rows of these ids; ask for some hundreds at a time."""
    return list(session.exec(select(Episode).where(col(Episode.namespace) == namespace, col(Episode.id).in_(ids))))


def current(session: Session, namespace: str, *, after: str = "", limit: int = 500) -> list[Episode]:
    """A page of current, unpurged episodes, by id. ``after`` is the last id of the page before."""
    statement = (
        select(Episode)
        .where(
            col(Episode.namespace) == namespace,
            col(Episode.is_current),
            col(Episode.purged_at).is_(None),
            col(Episode.id) > after,
        )
        .order_by(col(Episode.id))
        .limit(limit)
    )
    return list(session.exec(statement))


def count(session: Session, namespace: str) -> int:
    """How many current episodes there are."""
    statement = select(sa.func.count()).where(col(Episode.namespace) == namespace, col(Episode.is_current))
    return int(session.exec(statement).one())


def revisions(session: Session, namespace: str, importer: str, source_scope: str, source_id: str) -> list[Episode]:
    """Every revision of one source record, oldest first."""
    statement = (
        select(Episode)
        .where(
            col(Episode.namespace) == namespace,
            col(Episode.importer) == importer,
            col(Episode.source_scope) == source_scope,
            col(Episode.source_id) == source_id,
        )
        .order_by(col(Episode.revision))
    )
    return list(session.exec(statement))


def related(
    session: Session,
    namespace: str,
    *,
    hashes: Collection[str],
    fingerprints: Collection[str],
    importer: str,
    source_scope: str,
    source_ids: Collection[str],
) -> list[dict[str, Any]]:
    """Rows that share a source hash, and current rows that share a fingerprint or a source id, as plain dicts."""
    by_hash = _TABLE.c.source_hash.in_(hashes)
    by_run = sa.and_(_TABLE.c.is_current, _TABLE.c.fingerprint.in_(fingerprints))
    by_source = sa.and_(
        _TABLE.c.is_current,
        _TABLE.c.importer == importer,
        _TABLE.c.source_scope == source_scope,
        _TABLE.c.source_id.in_(source_ids),
    )
    found: dict[str, dict[str, Any]] = {}
    # Three statements, each with an index of its own: one OR over them would scan.
    for condition in (by_hash, by_run, by_source):
        rows = session.execute(sa.select(_TABLE).where(_TABLE.c.namespace == namespace, condition)).mappings()
        found.update({row["id"]: dict(row) for row in rows})
    return list(found.values())


def dead_letters(session: Session, namespace: str, *, unresolved: bool = True, limit: int = 500) -> list[DeadLetter]:
    """Records refused at the door, newest first."""
    statement = select(DeadLetter).where(col(DeadLetter.namespace) == namespace)
    if unresolved:
        statement = statement.where(col(DeadLetter.resolved_at).is_(None))
    return list(session.exec(statement.order_by(col(DeadLetter.at).desc(), col(DeadLetter.id)).limit(limit)))
