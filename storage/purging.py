"""Writes of a purge: tombstones, and the erasing of what was kept of an episode. The caller commits, bit by bit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col

from storage.conflicts import forget_episode
from storage.engine import Database
from storage.tables import (
    ClusterEpisode,
    DeadLetter,
    Episode,
    EpisodeBody,
    EpisodeKey,
    Evidence,
    InferenceObservation,
    ModelReply,
    Observation,
    SearchMiss,
    Stratum,
)

GONE = "[purged]"
"""What stands where a text was."""
TOMBSTONE: Mapping[str, Any] = {
    "task": GONE, "task_key": GONE, "task_key_derived": True, "source_scope": "", "source_file": None,
    "source_line": None, "source_id": None, "session_id": None, "retry_of": None, "agent": None, "agent_version": None,
    "model": None, "environment": {}, "tools_offered": [], "redactions": {},
}  # fmt: skip
"""The columns of an episode's row that hold what its record said; hashes, times, counts and outcome stay."""
ERASED_LETTER = "its text was purged: read the source again if it should come in"


def note_purge(session: Session, rows: Sequence[Episode], noted: Mapping[str, str], now: datetime) -> None:
    """From now on these episodes are purged: they count for nothing, though their text is still to be erased."""
    table = Episode.__table__  # type: ignore[attr-defined]
    key = (table.c.namespace == sa.bindparam("in_namespace")) & (table.c.id == sa.bindparam("of_id"))
    statement = sa.update(table).where(key).values(purged_at=now, details=sa.bindparam("with_note"))
    given = [
        {"in_namespace": row.namespace, "of_id": row.id, "with_note": {**row.details, "purge": dict(noted)}}
        for row in rows
    ]
    if given:
        session.connection().execute(statement, given)


def wipe_freed(session: Session) -> None:
    """What this connection frees from here on is written over with zeros (SQLite; PostgreSQL has VACUUM for it)."""
    if session.get_bind().dialect.name == "sqlite":
        session.connection().exec_driver_sql("PRAGMA secure_delete=ON")


def erase_replies(session: Session, namespace: str, keys: Collection[tuple[str, str, int]]) -> int:
    """Erase what models answered to these prompts."""
    named = sa.tuple_(col(ModelReply.prompt_hash), col(ModelReply.model), col(ModelReply.attempt))
    return _deleted(session, sa.delete(ModelReply).where(col(ModelReply.namespace) == namespace, named.in_(keys)))


def erase_letters(session: Session, ids: Collection[str], now: datetime) -> int:
    """Erase the bytes of these refused records, with the place they came from; the letters stay, resolved."""
    statement = sa.update(DeadLetter).where(col(DeadLetter.id).in_(ids))
    values = {"data": None, "reason": GONE, "file": GONE, "line": None, "resolved_at": now, "resolution": ERASED_LETTER}
    return _deleted(session, statement.values(**values).execution_options(synchronize_session=False))


def erase_searches(session: Session, namespace: str, session_ids: Collection[str]) -> int:
    """Erase what these sessions searched for and did not find: it is in the words of the same run."""
    statement = sa.delete(SearchMiss).where(col(SearchMiss.namespace) == namespace)
    return _deleted(session, statement.where(col(SearchMiss.session_id).in_(session_ids)))


def rewrite(session: Session, table: Any, row: Any, values: Mapping[str, Any]) -> None:
    """Put other texts into one row, named by its key."""
    keys = sa.inspect(table).primary_key
    statement = sa.update(table).where(*(column == getattr(row, column.name) for column in keys))
    session.execute(statement.values(**values).execution_options(synchronize_session=False))


def erase_traces(session: Session, namespace: str, episode_id: str) -> None:
    """Erase what was kept about one episode beside its body: what it states, shows and belongs to.

    Links of evidence stay, as ids without steps: what rested on it has to tell so.
    """
    forget_episode(session, namespace, episode_id)
    shown = sa.select(col(Observation.id)).where(
        col(Observation.namespace) == namespace, col(Observation.episode_id) == episode_id
    )
    links = sa.delete(InferenceObservation).where(col(InferenceObservation.namespace) == namespace)
    session.execute(links.where(col(InferenceObservation.observation_id).in_(shown)))
    for table in (Observation, ClusterEpisode):
        where = (col(table.namespace) == namespace) & (col(table.episode_id) == episode_id)
        session.execute(sa.delete(table).where(where))
    session.execute(
        _of(Evidence, namespace, [episode_id], "episode_id")
        .values(step_ids=[], stratum="", is_stale=True)
        .execution_options(synchronize_session=False)
    )


def erase_strata(session: Session, namespace: str, episode_ids: Collection[str]) -> None:
    """Take these episodes out of the texts that stand for a task; a task that no other episode has is dropped."""
    gone = set(episode_ids)
    for row in session.exec(sa.select(Stratum).where(col(Stratum.namespace) == namespace)).scalars().all():  # type: ignore[call-overload]
        if gone.isdisjoint(row.leaders):
            continue
        row.leaders = [one for one in row.leaders if one not in gone]
        if not row.leaders:
            session.delete(row)
    session.flush()


def erase_episode(session: Session, row: Episode) -> None:
    """The last act: key and body, and what the row itself says. The tombstone keeps who purged it, when and why."""
    for table in (EpisodeBody, EpisodeKey):
        session.execute(sa.delete(table).where(col(table.namespace) == row.namespace, col(table.episode_id) == row.id))
    values = {**TOMBSTONE, "details": {"purge": dict((row.details or {}).get("purge") or {})}}
    session.execute(
        _of(Episode, row.namespace, [row.id], "id").values(**values).execution_options(synchronize_session=False)
    )


def compact(database: Database) -> bool:
    """Leave nothing of what was erased in the files of an SQLite store; False where that is the operator's to do.

    The file is written anew and the log emptied. Nobody else may write meanwhile: some seconds a gigabyte.
    """
    if database.dialect != "sqlite":
        return False
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        raw: Any = connection.connection.driver_connection
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
        raw.execute("VACUUM").close()
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
    return True


def _of(table: Any, namespace: str, ids: Collection[str], column: str) -> Any:
    return sa.update(table).where(col(table.namespace) == namespace, col(getattr(table, column)).in_(list(ids)))


def _deleted(session: Session, statement: Any) -> int:
    return int(session.execute(statement).rowcount)  # type: ignore[attr-defined]
