"""Exports of the promoted store, and whether one still holds.

An export is a serve: its exposures are written before its text leaves, so that what a copy was used for can be found
once a rule is withdrawn. The audit log keeps which versions each export holds; a purge lists exports by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from storage import audit
from storage.engine import Database
from storage.outbox import NamespaceUnknown
from storage.queries.readers import active_rules, epoch_of
from storage.queries.rules import VersionKey, versions_by_keys
from storage.serving import Reader, serve
from storage.tables import RuleVersion
from tasks.promote.export import render
from tasks.promote.export_marks import Exported, Format, Marks, Origin, Staleness, Standing, judge

PART = 10
"""Versions that are served in one transaction: a serve costs more than in proportion to how many it is of."""
LOOKED = 500
"""Versions that one statement asks for."""


@dataclass(frozen=True)
class Export:
    """A written-out copy: its text, what it is a copy of, and the versions in it."""

    text: str
    format: Format
    origin: Origin
    versions: tuple[VersionKey, ...]


def export_rules(
    database: Database, namespace: str, *, format: Format, actor: str, export_id: str, now: datetime
) -> Export:
    """Every active rule of a namespace as one text, with its exposures and its line in the audit log.

    Args:
        database: the store.
        namespace: the one that is copied; nothing below it.
        format: see ``export_marks.FORMATS``.
        actor: who asks, as the audit log names them.
        export_id: a new id.
        now: the time, UTC.

    Raises:
        NamespaceUnknown: nothing was ever ingested into it.
    """
    with database.read() as session:
        # The epoch first: what is read after it can only be newer than it says.
        epoch = epoch_of(session, namespace)
        rows = list(active_rules(session, namespace))
    if epoch is None:
        raise NamespaceUnknown(f"namespace {namespace!r} is unknown: nothing was ingested into it")
    origin = Origin(export_id, namespace, epoch, now)
    reader = Reader(namespace, f"export:{actor}", actor, agent="export")
    served: set[VersionKey] = set()
    for start in range(0, len(rows), PART):
        part = [(row.rule_id, row.version) for row in rows[start : start + PART]]
        with database.write() as session:
            served |= serve(session, reader, part, epoch=epoch, request_id=export_id, now=now)
    kept = [_exported(row) for row in rows if (row.rule_id, row.version) in served]
    keys = tuple(sorted(served))
    text = render(format, origin, kept)
    with database.write() as session:
        audit.record(
            session,
            actor=actor,
            action="export.made",
            namespace=namespace,
            target=export_id,
            detail={"format": format, "epoch": epoch, "versions": [list(key) for key in keys]},
            now=now,
        )
    return Export(text, format, origin, keys)


def check_export(database: Database, marks: Marks, now: datetime) -> Staleness:
    """What of an export no longer holds in this store. Reads only.

    Raises:
        NamespaceUnknown: the store has no such namespace.
    """
    namespace = marks.origin.namespace
    with database.read() as session:
        if epoch_of(session, namespace) is None:
            raise NamespaceUnknown(
                f"namespace {namespace!r} of this export is unknown here: check it against the store it was made from"
            )
        active = {row.rule_id: row.version for row in active_rules(session, namespace)}
        keys = [key for key in sorted(marks.versions.items()) if active.get(key[0]) != key[1]]
        rows: list[RuleVersion] = []
        for start in range(0, len(keys), LOOKED):
            rows += versions_by_keys(session, namespace, keys[start : start + LOOKED])
        standings = {name: Standing("active") for name, number in marks.versions.items() if active.get(name) == number}
        standings |= {row.rule_id: Standing(row.state, row.state_reason, active.get(row.rule_id)) for row in rows}
    return judge(marks, standings, active, now.astimezone(UTC).date())


def _exported(row: RuleVersion) -> Exported:
    content = row.content
    guidance: Sequence[object] = content.get("guidance") or []
    return Exported(
        id=row.rule_id,
        version=row.version,
        when_to_use=str(content.get("when_to_use") or ""),
        guidance=tuple(map(str, guidance)),
        scope=dict(content.get("scope") or {}),
        evidence=dict(row.evidence or {}),
        recheck_at=row.recheck_at.astimezone(UTC).date() if row.recheck_at else None,
    )
