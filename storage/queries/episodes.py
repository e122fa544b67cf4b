"""Episodes: every SELECT on them that ingest, the pages and the command line use."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import DeadLetter, Episode, FollowedFile, Namespace

_TABLE = Episode.__table__  # type: ignore[attr-defined]

# As the index of current records has it: SQLite would not see that ``is_current = 1`` is what the index is limited to,
# and would look through the whole namespace for every batch.
_IS_CURRENT = sa.text("episode.is_current")


def namespace(session: Session, path: str) -> Namespace | None:
    """The partition, or None before anything was ingested into it."""
    return session.get(Namespace, path)


def get(session: Session, namespace: str, episode_id: str) -> Episode | None:
    """One episode's row, current or not."""
    return session.get(Episode, (namespace, episode_id))


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


def current_of_scopes(session: Session, namespace: str, importer: str, scopes: Collection[str]) -> list[str]:
    """Ids of the current episodes with a source id that one importer read from these files."""
    wanted = list(scopes)
    found: list[str] = []
    for start in range(0, len(wanted), 500):
        statement = select(Episode.id).where(
            col(Episode.namespace) == namespace,
            _IS_CURRENT,
            col(Episode.importer) == importer,
            col(Episode.source_id).is_not(None),
            col(Episode.source_scope).in_(wanted[start : start + 500]),
        )
        found.extend(session.exec(statement))
    return found


def held(session: Session, namespace: str, hashes: Collection[str]) -> dict[str, tuple[Any, ...]]:
    """Of these source hashes those stored: importer, its and the redactor's version, if capped, current, purged."""
    read_by = ("importer", "importer_version", "redactor_version", "principal_capped", "is_current", "purged_at")
    statement = sa.select(_TABLE.c.source_hash, *(_TABLE.c[name] for name in read_by))
    rows = session.execute(statement.where(_TABLE.c.namespace == namespace, _TABLE.c.source_hash.in_(hashes)))
    return {hashed: (*read_by, purged is not None) for hashed, *read_by, purged in rows}


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
        _IS_CURRENT,
        _TABLE.c.importer == importer,
        _TABLE.c.source_scope == source_scope,
        _TABLE.c.source_id.in_(source_ids),
    )
    found: dict[str, dict[str, Any]] = {}
    # Three statements, each with an index of its own: one OR over them would scan.
    # Where no record has an id the third is not asked: with an empty list it would scan.
    for condition in (by_hash, by_run, *([by_source] if source_ids else [])):
        rows = session.execute(sa.select(_TABLE).where(_TABLE.c.namespace == namespace, condition)).mappings()
        found.update({row["id"]: dict(row) for row in rows})
    return list(found.values())


def superseded(
    session: Session, namespace: str, importer: str, source_scope: str, source_id: str, source_hash: str
) -> tuple[Episode, Episode] | None:
    """An earlier revision of a source record, and the current one; None where it is current itself, or purged."""
    found = revisions(session, namespace, importer, source_scope, source_id)
    earlier = next((row for row in found if row.source_hash == source_hash), None)
    current = next((row for row in found if row.is_current), None)
    if earlier is None or current is None or earlier.id == current.id or earlier.purged_at is not None:
        return None
    return earlier, current


def dead_letters(
    session: Session, namespace: str, *, unresolved: bool = True, limit: int | None = 500
) -> list[DeadLetter]:
    """Records refused at the door, newest first; all of them without a ``limit``."""
    statement = select(DeadLetter).where(col(DeadLetter.namespace) == namespace)
    if unresolved:
        statement = statement.where(col(DeadLetter.resolved_at).is_(None))
    return list(session.exec(statement.order_by(col(DeadLetter.at).desc(), col(DeadLetter.id)).limit(limit)))


class Waiting(NamedTuple):
    """A letter that waits, without its bytes."""

    scope: str
    id: str
    file: str


def letters_waiting(session: Session, namespace: str) -> list[Waiting]:
    """Every unresolved letter, those of one source together."""
    statement = (
        select(DeadLetter.source_scope, DeadLetter.id, DeadLetter.file)
        .where(col(DeadLetter.namespace) == namespace, col(DeadLetter.resolved_at).is_(None))
        .order_by(col(DeadLetter.source_scope), col(DeadLetter.line), col(DeadLetter.id))
    )
    return [Waiting(*row) for row in session.exec(statement)]


def letters_of(session: Session, namespace: str, names: Collection[str]) -> list[str]:
    """Ids of the letters that wait under one of these names: their own ids, files or scopes."""
    known = (col(DeadLetter.id), col(DeadLetter.file), col(DeadLetter.source_scope))
    statement = select(DeadLetter.id).where(
        col(DeadLetter.namespace) == namespace,
        col(DeadLetter.resolved_at).is_(None),
        sa.or_(*(name.in_(names) for name in known)),
    )
    return list(session.exec(statement))


def letters_by_ids(session: Session, ids: Collection[str]) -> list[DeadLetter]:
    """Letters of these ids; ask for some hundreds at a time."""
    return list(session.exec(select(DeadLetter).where(col(DeadLetter.id).in_(ids))))


def scopes_with_letters(session: Session, namespace: str, scopes: Collection[str], *, before: datetime) -> list[str]:
    """Which of these sources have letters that wait and were last refused before a time."""
    wanted = list(scopes)
    found: set[str] = set()
    for start in range(0, len(wanted), 500):
        statement = select(DeadLetter.source_scope).where(
            col(DeadLetter.namespace) == namespace,
            col(DeadLetter.source_scope).in_(wanted[start : start + 500]),
            col(DeadLetter.resolved_at).is_(None),
            col(DeadLetter.tried_at) < before,
        )
        found.update(session.exec(statement.distinct()))
    return sorted(found)


def count_letters(session: Session, namespace: str, *, unresolved: bool = True) -> int:
    """How many letters there are."""
    statement = select(sa.func.count()).where(col(DeadLetter.namespace) == namespace)
    if unresolved:
        statement = statement.where(col(DeadLetter.resolved_at).is_(None))
    return int(session.exec(statement).one())


def listed(
    session: Session, namespace: str, *, outcome: str | None = None, importer: str | None = None, limit: int = 50
) -> list[Episode]:
    """Current episodes for a person to look through, newest first."""
    statement = select(Episode).where(col(Episode.namespace) == namespace, col(Episode.is_current))
    if outcome is not None:
        statement = statement.where(col(Episode.outcome) == outcome)
    if importer is not None:
        statement = statement.where(col(Episode.importer) == importer)
    newest = (col(Episode.ingested_at).desc(), col(Episode.source_file), col(Episode.source_line), col(Episode.id))
    return list(session.exec(statement.order_by(*newest).limit(limit)))


def followed(session: Session, namespace: str) -> list[FollowedFile]:
    """Every file that was followed into this namespace."""
    return list(session.exec(select(FollowedFile).where(col(FollowedFile.namespace) == namespace)))
