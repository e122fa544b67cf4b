"""Writes on episodes. Each takes a session of the caller, who commits; a batch is a few statements, not one a row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, SQLModel, col

from storage.bodies import SealedBody
from storage.tables import Episode, EpisodeBody, EpisodeKey, Evidence, Namespace

_EPISODE = Episode.__table__  # type: ignore[attr-defined]


def ensure_namespace(session: Session, path: str, now: datetime) -> None:
    """The partition's row, made where it is absent."""
    _insert_new(session, Namespace, [{"path": path, "epoch": 0, "policy": {}, "created_at": now}])


def set_policy(session: Session, path: str, policy: dict[str, Any]) -> None:
    """Put a namespace's whole policy in place of the one before."""
    session.execute(sa.update(Namespace).where(col(Namespace.path) == path).values(policy=policy))


def retire(session: Session, namespace: str, ids: Collection[str]) -> None:
    """These episodes are no longer the current revision."""
    _update(session, namespace, ids, {"is_current": False})


def bring_back(session: Session, namespace: str, earlier: str, current: str, *, revision: int) -> None:
    """An earlier revision is what the source says again: it is current once more, as the newest revision."""
    retire(session, namespace, [current])
    mark_evidence_stale(session, namespace, [current])
    _update(session, namespace, [earlier], {"is_current": True, "revision": revision})


def insert_episodes(session: Session, rows: Sequence[dict[str, Any]], bodies: Iterable[SealedBody]) -> None:
    """New rows, in order (a revision after what it supersedes), each with its body and key."""
    sealed = list(bodies)
    if rows:
        session.execute(sa.insert(_EPISODE), list(rows))
        session.execute(sa.insert(EpisodeKey), [each.key_row() for each in sealed])
        session.execute(sa.insert(EpisodeBody), [each.body_row() for each in sealed])


def update_episode(session: Session, namespace: str, episode_id: str, values: dict[str, Any]) -> None:
    """Set columns of one row."""
    _update(session, namespace, [episode_id], values)


def replace_body(session: Session, sealed: SealedBody) -> None:
    """Write a body anew, under a fresh key: the same record, read by a newer importer or with more known about it."""
    for table in (EpisodeBody, EpisodeKey):
        session.execute(
            sa.delete(table).where(col(table.namespace) == sealed.namespace, col(table.episode_id) == sealed.episode_id)
        )
    session.execute(sa.insert(EpisodeKey), [sealed.key_row()])
    session.execute(sa.insert(EpisodeBody), [sealed.body_row()])


def mark_evidence_stale(session: Session, namespace: str, ids: Collection[str]) -> None:
    """Evidence that cites these episodes rests on what is no longer said."""
    if ids:
        session.execute(
            sa.update(Evidence)
            .where(col(Evidence.namespace) == namespace, col(Evidence.episode_id).in_(ids))
            .values(is_stale=True)
        )


def _insert_new(session: Session, table: type[SQLModel], rows: list[dict[str, Any]]) -> None:
    if rows:
        dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
        session.execute(dialect.insert(table).on_conflict_do_nothing(), rows)


def _update(session: Session, namespace: str, ids: Collection[str], values: dict[str, Any]) -> None:
    if ids:
        session.execute(
            sa.update(_EPISODE).where(_EPISODE.c.namespace == namespace, _EPISODE.c.id.in_(ids)).values(values)
        )
