"""Rules whose time is over: what is past the end that its scope names is withdrawn, and readers are told."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlmodel import Session

from storage import audit, outbox
from storage.engine import Database
from storage.queries.expiring import has_rule_with_end
from storage.queries.rules import VersionKey, versions_in
from storage.queries.runs import namespaces_all
from storage.versions import move_versions

OVER = "its scope ended"
ACTOR = "schedule"


def ends_at(content: Mapping[str, Any]) -> datetime | None:
    """When a version stops to hold, by ``valid_to`` of its scope; what is no date names no end."""
    text = (content.get("scope") or {}).get("valid_to")
    try:
        at = datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


def expire(database: Database, now: datetime) -> dict[str, list[VersionKey]]:
    """Withdraw every active version past its end, one transaction and one event a namespace; returns which."""
    with database.read() as session:
        spaces = namespaces_all(session)
    found = {}
    for space in spaces:
        here = database.within(space)
        with here.read() as session:
            has_ends = has_rule_with_end(session, space)
        if has_ends:
            found[space] = _expire(here, space, now)
    return {space: keys for space, keys in found.items() if keys}


def _expire(database: Database, namespace: str, now: datetime) -> list[VersionKey]:
    with database.read() as session:
        keys = _due(session, namespace, now)
    if not keys:
        return []
    with database.write() as session:
        epoch = outbox.lock_namespace(session, namespace) + 1
        moved = move_versions(
            session, namespace, keys, to="expired", reason=OVER, epoch=epoch, now=now, sources=("active",)
        )
        for rule_id, version in moved:
            audit.record(
                session, actor=ACTOR, action="rule.expired", namespace=namespace,
                target=f"rule:{rule_id}@{version}", now=now,
            )  # fmt: skip
        if moved:
            outbox.publish(session, namespace, [outbox.change("expired", *key, OVER) for key in moved], now)
        return moved


def _due(session: Session, namespace: str, now: datetime) -> list[VersionKey]:
    ends = [(row, ends_at(row.content)) for row in versions_in(session, namespace)]
    return [(row.rule_id, row.version) for row, end in ends if end is not None and end <= now]
