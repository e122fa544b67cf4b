"""What happened to a rule and when: every event that told readers of it, with who was behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from review_ui import links
from review_ui.views.names import EVENTS, said
from review_ui.words import _
from storage.tables import AuditEntry, Decision, OutboxEvent

ACTS = {"rule.restored": "restored", "rule.revoked": "revoked"}
"""Acts of the audit log that one event tells of."""


@dataclass(frozen=True)
class Happening:
    """One thing that happened to one version. ``by`` and ``why`` are empty where nothing was stored."""

    at: datetime
    epoch: int
    version: int
    kind: str
    kind_words: str
    by: str
    why: str
    run_link: str


def happenings(
    rule_id: str,
    events: Sequence[OutboxEvent],
    acts: Sequence[AuditEntry],
    decisions: Sequence[tuple[Decision, str]],
    names: Mapping[str, str],
) -> list[Happening]:
    """What events tell of a rule, the latest first.

    An act and its event are written in one transaction with one time, which is how they are matched. ``names`` are of
    people, by their id.
    """
    approved = {row.at: name for row, name in decisions if row.verdict == "approve"}
    acted = {(ACTS[entry.action], entry.at): entry for entry in acts if entry.action in ACTS}
    return [
        _happening(event, change, acted.get((str(change.get("event")), event.created_at)), approved, names)
        for event in events
        for change in reversed(event.changes)
        if change.get("rule") == rule_id
    ]


def targets_of(rule_id: str, versions: Sequence[int]) -> list[str]:
    """What the audit log calls a rule and its versions."""
    return [f"rule:{rule_id}", *(f"rule:{rule_id}@{version}" for version in versions)]


def people_in(acts: Sequence[AuditEntry]) -> list[str]:
    """Ids of the people who acted."""
    return sorted({entry.actor.removeprefix("user:") for entry in acts if entry.actor.startswith("user:")})


def _happening(
    event: OutboxEvent,
    change: Mapping[str, object],
    act: AuditEntry | None,
    approved: Mapping[datetime, str],
    names: Mapping[str, str],
) -> Happening:
    kind = str(change.get("event"))
    run_id = str(act.detail.get("run") or "") if act is not None else ""
    by = approved.get(event.created_at, "") if kind in ("promoted", "superseded") else ""
    if act is not None:
        by = _("a repair, by itself") if run_id else names.get(act.actor.removeprefix("user:"), act.actor)
    return Happening(
        at=event.created_at,
        epoch=event.epoch,
        version=int(str(change.get("version") or 0)),
        kind=kind,
        kind_words=said(EVENTS, kind),
        by=by,
        why=str(change.get("reason") or ""),
        run_link=links.run(run_id) if run_id else "",
    )
