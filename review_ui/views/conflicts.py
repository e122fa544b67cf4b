"""Conflicts as finished values: both sides with what they rest on, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from review_ui import links
from review_ui.text import shortened
from review_ui.views.candidate import ref_link
from storage.queries.conflicts import MIXED_OUTCOME
from storage.tables import Conflict
from tasks.conflict.resolve.shown import shown_hash

KIND_WORDS = {
    "contradiction": "They cannot both be followed, or cannot both be so.",
    "supersession": "The newer side proposes to take the other's place.",
    "duplicate": "They say the same.",
    "overlap": "They may say the same, or one is part of the other.",
}
KEEP_WORDS = (
    ("left", "Keep the left"),
    ("right", "Keep the right"),
    ("both", "Both can stand"),
    ("neither", "Neither stands"),
)
NOTED = (("both", "Noted"),)
"""The one answer to runs that did the same and ended differently: neither outcome can be put aside."""
MIXED = "The same calls had both outcomes. What decides is not in the calls: look for it in what was asked or met."
STATES = ("open", "resolved", "all")
OUTCOMES = {"left": "The left side stands.", "right": "The right side stands.", "both": "Both sides stand.",
            "neither": "Neither side stands."}  # fmt: skip


@dataclass(frozen=True)
class SideView:
    """One side. ``episodes`` are (link, words); ``stands`` is whether the proposal or the decision keeps it."""

    heading: str
    title: str
    ref: str
    link: str
    support: int
    counter: int
    since: datetime | None
    trust: str
    episodes: tuple[tuple[str, str], ...]
    note: str


@dataclass(frozen=True)
class ConflictPage:
    """Everything that a page says about one conflict."""

    namespace: str
    id: str
    kind: str
    form: str
    kind_words: str
    detail: str
    state: str
    at: datetime
    left: SideView
    right: SideView
    shown: str
    link: str
    resolve_link: str
    again: str
    before: str
    outcome: str
    reason: str
    resolved_by: str
    resolved_at: datetime | None
    is_mixed: bool
    keeps: tuple[tuple[str, str], ...]


def conflict_page(row: Conflict, resolved_by: str | None) -> ConflictPage:
    """A conflict as it stands."""
    before = _mapping(row.sides.get("before"))
    is_mixed = row.sides.get("form") == MIXED_OUTCOME
    outcomes = OUTCOMES | {"both": "Noted."} if is_mixed else OUTCOMES
    earlier = outcomes.get(str(before.get("keep")), "")
    return ConflictPage(
        namespace=row.namespace,
        id=row.id,
        kind=row.kind,
        form=str(row.sides.get("form") or ""),
        kind_words=MIXED if is_mixed else KIND_WORDS.get(row.kind, ""),
        detail=row.detail,
        state=row.state,
        at=row.at,
        left=_side(row, "left", row.left_ref),
        right=_side(row, "right", row.right_ref),
        shown=shown_hash(row.kind, row.sides),
        link=links.conflict(row.namespace, row.id),
        resolve_link=f"{links.conflict(row.namespace, row.id)}/resolve",
        again=str(before.get("why") or "") if row.state == "open" else "",
        before=f"{earlier} {before.get('reason') or ''}".strip() if earlier else "",
        outcome=outcomes.get(row.resolution or "", "Closed by itself.") if row.state == "resolved" else "",
        reason=row.reason or "",
        resolved_by=resolved_by or "",
        resolved_at=row.resolved_at,
        is_mixed=is_mixed,
        keeps=NOTED if is_mixed else KEEP_WORDS,
    )


def _side(row: Conflict, side: str, ref: str) -> SideView:
    shown = _mapping(row.sides.get(side))
    title, ended = str(shown.get("title") or ref), ref.rpartition("/")[2]
    is_mixed = row.sides.get("form") == MIXED_OUTCOME
    proposed = "This side is the newer one." if row.sides.get("stands") == side else ""
    return SideView(
        heading={"failure": "failed", "success": "succeeded"}.get(ended, side) if is_mixed else side,
        title=shortened(title.rpartition(": ")[0] or title if is_mixed else title, 600),
        ref=ref,
        link=ref_link(row.namespace, ref),
        support=_count(shown.get("support")),
        counter=_count(shown.get("counter")),
        since=_time(shown.get("said_at")),
        trust=", ".join(str(each) for each in shown.get("trust") or ()),
        episodes=tuple(_episode(row.namespace, each) for each in shown.get("episodes") or () if isinstance(each, dict)),
        note=proposed,
    )


def _episode(namespace: str, cited: Mapping[str, Any]) -> tuple[str, str]:
    episode, step = str(cited.get("episode") or ""), str(cited.get("step") or "")
    link = links.episode(namespace, episode)
    words = f"{episode}, step {step}" if step else episode
    return (f"{links.with_query(link, step=step)}#cited" if step else link), words


def _time(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if value else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0
