"""Rows of the audit log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from review_ui.views.candidate import ref_link
from storage.tables import AuditEntry


@dataclass(frozen=True)
class AuditRow:
    """One act."""

    seq: int
    at: datetime
    actor: str
    action: str
    namespace: str
    target: str
    target_link: str
    detail: str
    short_hash: str


def audit_row(entry: AuditEntry, names: dict[str, str]) -> AuditRow:
    """A row from an entry; ``names`` maps user ids to names."""
    return AuditRow(
        seq=entry.seq,
        at=entry.at,
        actor=_named(entry.actor, names),
        action=entry.action,
        namespace=entry.namespace,
        target=_named(entry.target, names),
        target_link=ref_link(entry.namespace, entry.target) if entry.namespace else "",
        detail=json.dumps(entry.detail, ensure_ascii=False, indent=1, sort_keys=True) if entry.detail else "",
        short_hash=entry.hash[:12],
    )


def _named(ref: str, names: dict[str, str]) -> str:
    return names.get(ref.removeprefix("user:"), ref) if ref.startswith("user:") else ref
