"""What is wrong when the database refuses, told apart: gone, full, busy, not writable, damaged, or a defect of ours."""

from __future__ import annotations

import errno
import sqlite3
from dataclasses import dataclass
from typing import Literal

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

Kind = Literal["full", "busy", "read-only", "damaged", "lost", "failed"]
FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
# The low byte is the primary code; extended codes keep it.
_SQLITE: dict[int, Kind] = {
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_READONLY: "read-only",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
    sqlite3.SQLITE_ERROR: "failed",
}
# https://www.postgresql.org/docs/current/errcodes-appendix.html
_POSTGRES: dict[str, Kind] = {
    "53100": "full",
    "55P03": "busy",
    "40P01": "busy",
    "40001": "busy",
    "57014": "busy",
    "25006": "read-only",
}


@dataclass(frozen=True)
class Trouble:
    """``what`` ends a sentence that begins with the database's name; ``now`` says what to do."""

    kind: Kind
    what: str
    now: str


_TOLD: dict[Kind, tuple[str, str]] = {
    "full": (
        "has no room left: its disk (or quota) is full",
        "Make room, then do it again: what was written before stays, and nothing is half written.",
    ),
    "busy": (
        "is busy: something else has held it for too long",
        "Try again; if it stays so, look for a process that holds it open: slowwave doctor",
    ),
    "read-only": ("cannot be written to", "Look at its permissions, then try again."),
    "damaged": ("is damaged, or is no database", "Put a backup in its place; keep the damaged file beside it."),
    "lost": ("does not answer", "Start it or set SLOWWAVE_DATABASE_URL right, then try again; nothing was lost."),
    "failed": ("refused what was asked of it", "Is its schema this version's? See: slowwave db current"),
}


def trouble_of(error: BaseException) -> Trouble:
    """What an error of the database (or of the disk below it) means."""
    kind = _kind(error)
    what, now = _TOLD[kind]
    return Trouble(kind, what, now)


def is_full(error: BaseException) -> bool:
    """Whether the disk is full, whoever says so."""
    return _kind(error) == "full"


def _kind(error: BaseException) -> Kind:
    if isinstance(error, OSError):
        return "full" if error.errno in FULL_ERRNOS else "lost"
    cause = error.orig if isinstance(error, DBAPIError) else error
    told = _POSTGRES.get(getattr(cause, "sqlstate", None) or "")
    told = told or _SQLITE.get((getattr(cause, "sqlite_errorcode", None) or 0) & 0xFF)
    if told:
        return told
    lost = isinstance(error, OperationalError | InterfaceError | PoolTimeout)
    lost = lost or (isinstance(error, DBAPIError) and error.connection_invalidated)
    return "lost" if lost else "failed"
