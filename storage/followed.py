"""Writes on followed files. Each takes a session of the caller, who commits."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session

from storage.tables import FollowedFile

_TABLE = FollowedFile.__table__  # type: ignore[attr-defined]
_KEY = ("namespace", "path")


def remember(session: Session, rows: Sequence[FollowedFile]) -> None:
    """What is known of these files now, in place of what was. Two followers may both write: the last one stands."""
    if not rows:
        return
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    insert = dialect.insert(_TABLE)
    others = {column.name: insert.excluded[column.name] for column in _TABLE.c if column.name not in _KEY}
    upsert = insert.on_conflict_do_update(index_elements=list(_KEY), set_=others)
    session.execute(upsert, [row.model_dump() for row in rows])


def forget(session: Session, namespace: str, path: str) -> None:
    """A file that is gone before it was read: should it come back, it is a new one."""
    session.execute(sa.delete(_TABLE).where(_TABLE.c.namespace == namespace, _TABLE.c.path == path))
