"""Rows of the audit log, what is looked for in it, and its rows as lines of JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from review_ui import links
from review_ui.views.conflict_rows import ref_link
from review_ui.words import N_, _
from storage.audit import ChainReport
from storage.tables import AuditEntry

WHYS = {
    "does not follow the entry before it": N_("It does not follow the entry before it."),
    "was changed after it was written": N_("It was changed after it was written."),
    "the newest entries were removed": N_("The newest entries were removed."),
}


@dataclass(frozen=True)
class AuditRow:
    """One act. ``hash`` is over the entry and ``previous_hash``, that of the entry before it."""

    seq: int
    at: datetime
    actor: str
    action: str
    namespace: str
    target: str
    target_link: str
    detail: str
    short_hash: str
    hash: str
    previous_hash: str


@dataclass(frozen=True)
class Report:
    """What a check of the chain found; ``head`` is the hash of its newest entry."""

    ok: bool
    entries: int
    broken_at: int | None
    why: str
    head: str
    took: str


def audit_row(entry: AuditEntry, names: dict[str, str]) -> AuditRow:
    """A row from an entry; ``names`` maps user ids to names."""
    return AuditRow(
        seq=entry.seq,
        at=entry.at,
        actor=named(entry.actor, names),
        action=entry.action,
        namespace=entry.namespace,
        target=named(entry.target, names),
        target_link=_link(entry.namespace, entry.target) if entry.namespace else "",
        detail=json.dumps(entry.detail, ensure_ascii=False, indent=1, sort_keys=True) if entry.detail else "",
        short_hash=entry.hash[:12],
        hash=entry.hash,
        previous_hash=entry.previous_hash,
    )


def why_words(found: ChainReport) -> str:
    """Why a chain is broken, in the reader's language."""
    if found.why in WHYS or not found.why:
        return _(WHYS.get(found.why, ""))
    return _("Entry {n} is missing.").format(n=found.broken_at)


def audit_line(entry: AuditEntry, names: dict[str, str]) -> str:
    """An entry as a line of JSON: everything that its hash is made of, the hash, and the names of people."""
    said: dict[str, Any] = {
        "seq": entry.seq,
        "at": entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
        "actor": entry.actor,
        "action": entry.action,
        "namespace": entry.namespace,
        "target": entry.target,
        "detail": entry.detail,
        "previous_hash": entry.previous_hash,
        "hash": entry.hash,
        "actor_name": named(entry.actor, names),
        "target_name": named(entry.target, names),
    }
    return json.dumps(said, ensure_ascii=True, sort_keys=False) + "\n"


def _link(namespace: str, target: str) -> str:
    kind, _colon, name = target.partition(":")
    return links.episode(namespace, name) if kind == "episode" else ref_link(namespace, target)


def named(ref: str, names: dict[str, str]) -> str:
    """A person's name for ``user:<id>``; anything else as it is."""
    return names.get(ref.removeprefix("user:"), ref) if ref.startswith("user:") else ref


def day_start(day: str, zone: ZoneInfo, *, after: bool = False) -> datetime | None:
    """When a day such as 2026-11-30 begins in the reader's zone, or the one ``after`` it; None for what is no day."""
    try:
        date = datetime.strptime(day, "%Y-%m-%d").date() + timedelta(days=after)  # noqa: DTZ007 - a day has no zone
        return datetime.combine(date, time(), zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
