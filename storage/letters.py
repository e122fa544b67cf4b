"""Writes on dead letters: refused, refused again, resolved. Each takes a session of the caller, who commits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, col

from storage.ids import uuid7
from storage.tables import DeadLetter

NO_LONGER_REFUSED = "no longer refused"
_TABLE = DeadLetter.__table__  # type: ignore[attr-defined]
# What a later refusal of the same record says better than the one before.
_NEWER = ("file", "line", "importer", "reason", "data", "principal", "principal_capped")


def keep_rejected(session: Session, letters: Sequence[dict[str, Any]]) -> None:
    """Rejected records, each one letter: refused again it counts another attempt, and is open again if it was closed.

    ``at`` is the first refusal, ``tried_at`` the last. Of two readings at once the later one's time stands, so that
    the earlier one's end resolves nothing that the other refused.
    """
    if not letters:
        return
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    insert = dialect.insert(_TABLE)
    new = insert.excluded
    later = sa.case((new.tried_at > _TABLE.c.tried_at, new.tried_at), else_=_TABLE.c.tried_at)
    changed = {name: new[name] for name in _NEWER}
    changed |= {"attempts": _TABLE.c.attempts + 1, "tried_at": later, "resolved_at": None, "resolution": None}
    upsert = insert.on_conflict_do_update(index_elements=["namespace", "record_hash"], set_=changed)
    session.execute(upsert, [{"id": uuid7(), "tried_at": letter["at"], "attempts": 1, **letter} for letter in letters])


def resolve_rest(
    session: Session,
    namespace: str,
    scopes: Collection[str],
    *,
    now: datetime,
    resolution: str = NO_LONGER_REFUSED,
    whole_files: bool = False,
) -> int:
    """Resolve what these sources had refused before and did not refuse in the reading of ``now``; returns how many.

    ``whole_files`` limits it to letters about a path as a whole, such as one that led to no file.
    """
    statement = sa.update(_TABLE).where(
        _TABLE.c.namespace == namespace,
        _TABLE.c.source_scope.in_(scopes),
        _TABLE.c.resolved_at.is_(None),
        _TABLE.c.tried_at < now,
    )
    if whole_files:
        statement = statement.where(_TABLE.c.importer.is_(None))
    done = session.execute(statement.values(resolved_at=now, resolution=resolution))
    return int(done.rowcount)  # type: ignore[attr-defined]


def resolve(session: Session, ids: Collection[str], *, now: datetime, resolution: str) -> None:
    """These letters are done with."""
    session.execute(
        sa.update(_TABLE)
        .where(_TABLE.c.id.in_(ids), _TABLE.c.resolved_at.is_(None))
        .values(resolved_at=now, resolution=resolution)
    )


def carry_attempts(session: Session, namespace: str, scope: str, attempts: Mapping[int, int]) -> None:
    """Letters that are new on these lines follow others there: they count on from those."""
    for line, earlier in attempts.items():
        session.execute(
            sa.update(_TABLE)
            .where(
                _TABLE.c.namespace == namespace,
                _TABLE.c.source_scope == scope,
                _TABLE.c.line == line,
                _TABLE.c.resolved_at.is_(None),
                _TABLE.c.attempts <= earlier,
            )
            .values(attempts=earlier + 1)
        )


def refuse_again(session: Session, letter_id: str, *, now: datetime, reason: str) -> None:
    """A retry from the kept bytes was refused as well."""
    session.execute(
        sa.update(_TABLE)
        .where(col(DeadLetter.id) == letter_id)
        .values(attempts=_TABLE.c.attempts + 1, tried_at=now, reason=reason)
    )
