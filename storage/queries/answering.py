"""The few statements that every search runs, each written once as text: what builds a statement anew for each request
costs more than what runs it. Lists go in as one JSON value, so that the text is the same for any number of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import orjson
import sqlalchemy as sa
from sqlmodel import Session

from storage.queries.rules import VersionKey
from storage.tables.base import JSON, UtcDateTime

Statements = dict[str, sa.TextualSelect]


class Servable(NamedTuple):
    """What an answer shows of a version, in whatever state it is now."""

    rule_id: str
    version: int
    content: dict[str, Any]
    evidence: dict[str, Any]
    recheck_at: datetime | None


class OpenConflict(NamedTuple):
    """Two texts that disagree, by their references."""

    left_ref: str
    right_ref: str
    kind: str
    detail: str


_COLUMNS: tuple[sa.ColumnClause[Any], ...] = (
    sa.column("rule_id"), sa.column("version"), sa.column("content", JSON), sa.column("evidence", JSON),
    sa.column("recheck_at", UtcDateTime),
)  # fmt: skip
_KEYS = {
    "sqlite": "(SELECT value ->> 0 AS rule_id, value ->> 1 AS version FROM json_each(:keys)) AS k",
    "postgresql": "(SELECT e ->> 0 AS rule_id, CAST(e ->> 1 AS integer) AS version"
    " FROM jsonb_array_elements(CAST(:keys AS jsonb)) AS e) AS k",
}
_REFS = {
    "sqlite": "(SELECT value FROM json_each(:refs))",
    "postgresql": "(SELECT jsonb_array_elements_text(CAST(:refs AS jsonb)))",
}
_SERVABLE: Statements = {
    dialect: sa.text(
        # CROSS JOIN holds SQLite to this order: a look-up for each key.
        f"SELECT v.rule_id, v.version, v.content, v.evidence, v.recheck_at FROM {keys} CROSS JOIN rule_version AS v "  # noqa: S608 - all ours
        "WHERE v.namespace = :namespace AND v.rule_id = k.rule_id AND v.version = k.version"
    ).columns(*_COLUMNS)
    for dialect, keys in _KEYS.items()
}
_SIDE = (
    "SELECT id, left_ref, right_ref, kind, detail FROM conflict WHERE namespace = :namespace AND state = 'open' "
    "AND {side} IN {refs}"
)
_CONFLICTS = {
    dialect: sa.text(
        " UNION ".join(_SIDE.format(side=side, refs=refs) for side in ("left_ref", "right_ref")) + " ORDER BY id"
    )
    for dialect, refs in _REFS.items()
}


def servable(session: Session, namespace: str, keys: Sequence[VersionKey]) -> dict[VersionKey, Servable]:
    """These versions as they are now; unknown ones are absent."""
    if not keys:
        return {}
    given = {"namespace": namespace, "keys": orjson.dumps(keys).decode()}
    rows = session.connection().execute(_SERVABLE[_dialect(session)], given)
    return {(row[0], row[1]): Servable(*row) for row in rows}


def conflicts_among(session: Session, namespace: str, refs: Collection[str]) -> list[OpenConflict]:
    """Open conflicts in which any of these texts is a side, by id."""
    if not refs:
        return []
    given = {"namespace": namespace, "refs": orjson.dumps(list(refs)).decode()}
    return [OpenConflict(*row[1:]) for row in session.connection().execute(_CONFLICTS[_dialect(session)], given)]


def _dialect(session: Session) -> str:
    return session.get_bind().dialect.name
