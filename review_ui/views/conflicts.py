"""Conflicts as finished values: both sides with what they say and rest on, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from review_ui import links
from review_ui.text import shortened
from review_ui.views.conflict_rows import ref_link
from review_ui.views.names import TRUSTS, said
from review_ui.words import N_, _, ngettext
from storage.queries.conflicts import MIXED_OUTCOME, Leaning
from storage.tables import Conflict
from tasks.conflict.claims import says
from tasks.conflict.resolve.shown import shown_hash

KINDS = {
    "contradiction": N_("contradiction"),
    "supersession": N_("supersession"),
    "duplicate": N_("duplicate"),
    "overlap": N_("overlap"),
}
KIND_TITLES = {
    "contradiction": N_("Contradiction"),
    "supersession": N_("Supersession"),
    "duplicate": N_("Duplicate"),
    "overlap": N_("Overlap"),
}
KIND_WORDS = {
    "contradiction": N_("They cannot both be followed, or cannot both be so."),
    "supersession": N_("The newer side proposes to take the other's place."),
    "duplicate": N_("They say the same."),
    "overlap": N_("They may say the same, or one is part of the other."),
}
FORMS = {
    "changed": N_("it changed"),
    "other-value": N_("another value"),
    "different-value": N_("another value"),
    "denied": N_("said and denied"),
    "order-reversed": N_("the other order"),
    "opposite-advice": N_("opposite advice"),
    "opposite-words": N_("opposite, judged by their words"),
    "same-advice": N_("the same advice"),
    "same-words": N_("the same, judged by their words"),
    "alike-words": N_("words that are alike"),
    "part-of": N_("one is part of the other"),
    "counter-evidence": N_("against its own counter-evidence"),
}
KEEP_WORDS = (
    ("left", N_("Keep the left")),
    ("right", N_("Keep the right")),
    ("both", N_("Both can stand")),
    ("neither", N_("Neither stands")),
)
NOTED = (("both", N_("Noted")),)
"""The one answer to runs that did the same and ended differently: neither outcome can be put aside."""
MIXED = N_("The same calls had both outcomes. What decides is not in the calls: look for it in what was asked or met.")
STATES = {"open": N_("open"), "resolved": N_("resolved"), "all": N_("all")}
OUTCOMES = {
    "left": N_("The left side stands."),
    "right": N_("The right side stands."),
    "both": N_("Both sides stand."),
    "neither": N_("Neither side stands."),
}
NOTED_WORDS = N_("Noted.")
SIDES = {"left": N_("Left"), "right": N_("Right")}
ENDED = {"failure": N_("Failed"), "success": N_("Succeeded")}


@dataclass(frozen=True)
class Told:
    """An episode that a side rests on, by what it was asked to do."""

    link: str
    task: str
    id: str
    step: str


@dataclass(frozen=True)
class Text:
    """What a candidate or a rule says now. ``moved``: it said something else when the two were compared."""

    when_to_use: str
    guidance: tuple[str, ...]
    moved: bool


@dataclass(frozen=True)
class SideView:
    """One side. ``name`` is left or right; ``text`` is absent where a side is no text but runs or a stated fact."""

    name: str
    heading: str
    title: str
    link: str
    link_words: str
    support: int
    counter: int
    speaks: str
    against: str
    since: datetime | None
    trust: str
    text: Text | None
    episodes: tuple[Told, ...]
    note: str


@dataclass(frozen=True)
class ConflictPage:
    """Everything that a page says about one conflict. ``concerns`` are (link, words) of what rests on its runs."""

    namespace: str
    id: str
    kind: str
    kind_name: str
    title: str
    form: str
    kind_words: str
    detail: str
    state: str
    state_words: str
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
    concerns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Around:
    """What is asked about conflicts beside their rows.

    ``tasks`` by episode id; ``contents`` by ref; ``leaning`` by episode id: what cites it as evidence now.
    """

    tasks: Mapping[str, str] = field(default_factory=dict)
    contents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    leaning: Mapping[str, Sequence[Leaning]] = field(default_factory=dict)


NOTHING_AROUND = Around()


def is_mixed(row: Conflict) -> bool:
    """Whether it is between runs of one task that made the same calls and ended differently."""
    return row.sides.get("form") == MIXED_OUTCOME


def episodes_of(row: Conflict) -> list[str]:
    """Ids of the episodes that either side names."""
    cited = [each for side in ("left", "right") for each in _mapping(row.sides.get(side)).get("episodes") or ()]
    return [str(each.get("episode") or "") for each in cited if isinstance(each, dict)]


def conflict_page(row: Conflict, resolved_by: str | None, around: Around = NOTHING_AROUND) -> ConflictPage:
    """A conflict as it stands."""
    before, mixed = _mapping(row.sides.get("before")), is_mixed(row)
    outcomes = OUTCOMES | {"both": NOTED_WORDS} if mixed else OUTCOMES
    earlier = _(outcomes.get(str(before.get("keep")), ""))
    return ConflictPage(
        namespace=row.namespace,
        id=row.id,
        kind=row.kind,
        kind_name=_("mixed outcome") if mixed else said(KINDS, row.kind),
        title=_("Mixed outcome") if mixed else said(KIND_TITLES, row.kind),
        form="" if mixed else said(FORMS, str(row.sides.get("form") or "")),
        kind_words=_(MIXED) if mixed else _(KIND_WORDS.get(row.kind, "")),
        detail=row.detail,
        state=row.state,
        state_words=said(STATES, row.state),
        at=row.at,
        left=_side(row, "left", row.left_ref, around),
        right=_side(row, "right", row.right_ref, around),
        shown=shown_hash(row.kind, row.sides),
        link=links.conflict(row.namespace, row.id),
        resolve_link=f"{links.conflict(row.namespace, row.id)}/resolve",
        again=str(before.get("why") or "") if row.state == "open" else "",
        before=f"{earlier} {before.get('reason') or ''}".strip() if earlier else "",
        outcome=_outcome(row, outcomes),
        reason=row.reason or "",
        resolved_by=resolved_by or "",
        resolved_at=row.resolved_at,
        is_mixed=mixed,
        keeps=tuple((value, _(words)) for value, words in (NOTED if mixed else KEEP_WORDS)),
        concerns=_concerns(row, around) if mixed else (),
    )


def _outcome(row: Conflict, outcomes: Mapping[str, str]) -> str:
    if row.state != "resolved":
        return ""
    return _(outcomes.get(row.resolution or "", N_("Closed by itself.")))


def _side(row: Conflict, side: str, ref: str, around: Around) -> SideView:
    shown = _mapping(row.sides.get(side))
    title, ended, mixed = str(shown.get("title") or ref), ref.rpartition("/")[2], is_mixed(row)
    support, counter = _count(shown.get("support")), _count(shown.get("counter"))
    independent = ngettext("{n} independent", "{n} independent", support)
    return SideView(
        name=side,
        heading=said(ENDED, ended) if mixed and ended in ENDED else _(SIDES[side]),
        title=shortened(title.rpartition(": ")[0] or title if mixed else title, 600),
        link=ref_link(row.namespace, ref),
        link_words=_("Open the candidate") if ref.startswith("candidate:") else _("Open the rule"),
        support=support,
        counter=counter,
        speaks=independent.format(n=support),
        against=ngettext("{n} independent", "{n} independent", counter).format(n=counter) if counter else "",
        since=_time(shown.get("said_at")),
        trust=", ".join(said(TRUSTS, str(each)) for each in shown.get("trust") or ()),
        text=_text(around.contents.get(ref), str(shown.get("says") or "")),
        episodes=tuple(
            _told(row.namespace, each, around.tasks) for each in shown.get("episodes") or () if isinstance(each, dict)
        ),
        note=_("This side is the newer one.") if row.sides.get("stands") == side else "",
    )


def _text(content: Mapping[str, Any] | None, compared: str) -> Text | None:
    if not content:
        return None
    guidance = tuple(str(line) for line in content.get("guidance") or ())
    return Text(str(content.get("when_to_use") or ""), guidance, moved=says(content) != compared)


def _told(namespace: str, cited: Mapping[str, Any], tasks: Mapping[str, str]) -> Told:
    episode, step = str(cited.get("episode") or ""), str(cited.get("step") or "")
    link = links.episode(namespace, episode)
    at = f"{links.with_query(link, step=step)}#cited" if step else link
    task = shortened(tasks.get(episode) or _("an episode that is no longer kept"), 160)
    return Told(at, task, episode, _("step {id}").format(id=step) if step else "")


def _concerns(row: Conflict, around: Around) -> tuple[tuple[str, str], ...]:
    """The rules and candidates that cite the runs of either side, each once."""
    found: dict[str, str] = {}
    for episode_id in episodes_of(row):
        for one in around.leaning.get(episode_id, ()):
            if one.rule_id is not None:
                found.setdefault(links.rule(row.namespace, one.rule_id), shortened(one.title, 200))
            else:
                found.setdefault(links.candidate(row.namespace, one.candidate_id), shortened(one.title, 200))
    return tuple(found.items())


def _time(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if value else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0
