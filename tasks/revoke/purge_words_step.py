"""Which words are an episode's own: asked of everything that may repeat them, and of every other episode."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlmodel import Session

from storage.bodies import load_bodies
from storage.engine import Database
from storage.queries import purging as queries
from storage.tables import DeadLetter, Episode, ModelReply, RuleVersion
from tasks.revoke.purge import derived_words, letter_words, words_of

AT_A_TIME = 100
"""Rows, or bodies, read at a time."""
COUNTED = frozenset({"details", "family_id", "fingerprint", "id", "namespace", "source_hash", "supersedes_id"})
"""Columns of an episode's row that are ours and no words of its record."""


def words_in(session: Session, namespace: str, rows: Sequence[Episode]) -> set[str]:
    """Every word of these episodes: of their bodies, and of their rows."""
    found: set[str] = set()
    for start in range(0, len(rows), AT_A_TIME):
        part = rows[start : start + AT_A_TIME]
        for body in load_bodies(session, namespace, [row.id for row in part]).values():
            found |= words_of(body)
        for row in part:
            found |= words_of({name: v for name, v in row.model_dump(mode="json").items() if name not in COUNTED})
    return found


def own_words(database: Database, namespace: str, rows: Sequence[Episode], repeated: Collection[str]) -> set[str]:
    """Of the words that are ``repeated`` somewhere, those that these episodes say and no other of the namespace.

    Reads the others family by family, nearest first, and only until nothing is left to ask about.
    """
    with database.read() as session:
        left = words_in(session, namespace, rows) & set(repeated)
    gone = {row.id for row in rows}
    near = sorted({row.family_id for row in rows if row.family_id is not None})
    for family_id in [*near, None]:
        with database.read() as session:
            for others in queries.survivors(session, namespace, family_id, AT_A_TIME):
                if not left:
                    return left
                left -= words_in(session, namespace, [one for one in others if one.id not in gone])
                session.expunge_all()
    return left


def repeated_words(database: Database, namespace: str, among: set[str]) -> set[str]:
    """Of these words those that any derived text, model's reply or refused record of the namespace holds."""
    found: set[str] = set()
    with database.read() as session:
        for replies in queries.rows_of(session, ModelReply, namespace, AT_A_TIME):
            for reply in replies:
                found |= words_of([reply.reply, reply.error]) & among
    for table, columns in queries.SAID.items():
        with database.read() as session:
            for rows in queries.rows_of(session, table, namespace, AT_A_TIME):
                for row in rows:
                    found |= derived_words([getattr(row, name) for name in columns]) & among
                    if isinstance(row, DeadLetter) and row.data is not None:
                        found |= letter_words(row.data) & among
    return found


def words_served(session: Session, namespace: str, among: set[str]) -> set[str]:
    """Of these words those that any version holds that readers may have or get."""
    found: set[str] = set()
    for rows in queries.rows_of(session, RuleVersion, namespace, AT_A_TIME):
        for row in rows:
            if row.state in ("active", "quarantined"):
                found |= derived_words(row.content) & among
    return found


def says(value: Any, own: Collection[str]) -> bool:
    """Whether a derived value holds any of these words."""
    return bool(own) and not derived_words(value).isdisjoint(own)
