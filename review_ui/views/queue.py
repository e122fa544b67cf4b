"""The queue: its filters with their counts, and its rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast
from urllib.parse import parse_qsl

from review_ui import links
from review_ui.plot import Estimate, Mini, interval_words, mini
from review_ui.text import age_words, shortened, when_words
from review_ui.views.changes import wanted_words
from review_ui.views.listing import Nothing, Select
from review_ui.views.names import CANDIDATE_STATES, TIERS, said
from review_ui.views.packet import estimate_of, groups_of, held_out_verdict
from review_ui.words import N_, _, ngettext
from storage.queries.facets import Facets
from storage.queries.queue import Age, Asked, Checks, Order, Standing
from storage.tables import Candidate
from storage.tables.review import NOT_MEASURED
from tasks.stage import columns
from tasks.stage.reserve_step import Holder
from tasks.stage.wanted import wanted_of

STANDINGS: Mapping[str, str] = {
    "waiting": N_("waiting for a decision"),
    "parked": N_("waiting for evidence"),
    "promoted": N_("promoted"),
    "rejected": N_("rejected"),
    "void": N_("withdrawn"),
}
ORDERS: Mapping[str, str] = {
    "worth": N_("the most worthwhile first"),
    "oldest": N_("the oldest first"),
    "newest": N_("the newest first"),
    "reach": N_("the widest reach first"),
    "doubts": N_("the fewest doubts first"),
}
KINDS: Mapping[str, str] = {
    "rule": N_("rule"),
    "exemplar": N_("exemplar"),
    "removal": N_("removal of a rule"),
    "correction": N_("correction of a rule"),
}
CHECKS: Mapping[str, str] = {
    "failing": N_("some fail"),
    "warning": N_("some to look at"),
    "clean": N_("all pass"),
}
AGES: Mapping[str, str] = {
    "day": N_("the last day"),
    "week": N_("the last week"),
    "month": N_("the last 30 days"),
    "older": N_("more than 30 days"),
}
CONFLICTS: Mapping[str, str] = {"yes": N_("with an open conflict"), "no": N_("without one")}
VERDICTS: Mapping[str, str] = {
    "confirmed": N_("confirmed"),
    "not confirmed": N_("not confirmed"),
    "not tested": N_("not tested"),
}
WHY_NOW: Mapping[str, str] = {
    columns.NEW: N_("Found for the first time"),
    columns.MORE_RUNS: N_("More runs since"),
    columns.AGAINST: N_("New runs speak against it"),
    columns.REWORDED: N_("Its text changed"),
    columns.BACK: N_("It was closed, and is back with something new"),
    columns.VOIDED: N_("What an approval rested on changed"),
    columns.AFTER_REVOCATION: N_("Back after a revocation"),
    columns.WITHDRAWS: N_("Proposes to withdraw a rule"),
    columns.REPLACES: N_("Would replace {what}"),
    columns.CONFLICT: N_("Conflicts with {what}"),
    columns.SEARCH_FAILED: N_("A search found nothing for it"),
    columns.REPEATED: N_("A mistake made again"),
    columns.ARRIVED: N_("The evidence that was asked for arrived"),
    columns.MISSING: N_("The evidence that was asked for did not come"),
    columns.EDITED: N_("Edited by a reviewer"),
    columns.SPLIT: N_("Part of a candidate that was split"),
    columns.MERGED: N_("A duplicate was merged into it"),
}
MOST_REASONS = 3


@dataclass(frozen=True)
class Filters:
    """What the reader asked the queue for; an empty string leaves a filter open. ``sort`` empty is the usual order."""

    namespace: str = ""
    tier: str = ""
    kind: str = ""
    checks: str = ""
    conflicts: str = ""
    age: str = ""
    state: str = "waiting"
    sort: str = ""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Filters:
        """Filters of an address or a form; a value that there is not leaves its filter open."""
        known: dict[str, Mapping[str, str]] = {
            "tier": TIERS, "checks": CHECKS, "conflicts": CONFLICTS, "age": AGES, "state": STANDINGS, "sort": ORDERS,
        }  # fmt: skip
        named = {name: given.get(name, "") for name in ("namespace", "kind")}
        named |= {name: given[name] for name, values in known.items() if given.get(name, "") in values}
        return cls(**named)

    @classmethod
    def of_query(cls, query: str) -> Filters:
        """The same from what stands behind the question mark of an address."""
        return cls.read(dict(parse_qsl(query)))

    @property
    def order(self) -> Order:
        """The order that is asked for: by worth while it is open, by when it was closed after that."""
        return cast(Order, self.sort or ("worth" if self.state in ("waiting", "parked") else "newest"))

    @property
    def narrowed(self) -> bool:
        """Whether anything but the order was asked for."""
        return replace(self, sort="") != Filters()

    def asked(self, now: datetime, granted: tuple[str, ...]) -> Asked:
        """The same for the store."""
        return Asked(
            now=now, granted=granted, standing=cast(Standing, self.state), namespace=self.namespace or None,
            tier=self.tier or None, kind=self.kind or None, checks=cast(Checks, self.checks) or None,
            age=cast(Age, self.age) or None, conflicts={"yes": True, "no": False}.get(self.conflicts),
        )  # fmt: skip

    def query(self) -> dict[str, str]:
        """What an address has to name to ask for the same."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in values.items() if value and (name, value) != ("state", "waiting")}


@dataclass(frozen=True)
class Badge:
    """A word with a colour; the word says it too."""

    kind: str
    words: str


@dataclass(frozen=True)
class QueueRow:
    """One candidate at a glance. ``pick`` names it exactly for a decision in bulk; empty where none can be taken."""

    link: str
    title: str
    namespace: str
    badges: tuple[Badge, ...]
    effect_words: str
    effect_says: str
    drawing: Mini | None
    confirmed: str
    is_confirmed: bool
    groups: str
    reach: str
    why_now: tuple[str, ...]
    flags: tuple[Badge, ...]
    age: str
    reader: str
    is_mine: bool
    parked: str
    pick: str
    pick_words: str


def queue_row(
    candidate: Candidate, conflicts: int, holder: Holder | None, now: datetime, viewer_id: str, *, may_decide: bool
) -> QueueRow:
    """A row from a candidate and what it keeps of its packet."""
    glance = candidate.glance
    estimate, verdict = estimate_of(glance.get("effect") or {}), held_out_verdict(glance.get("held_out") or {})
    is_open = candidate.state in ("staged", "approved")
    title = shortened(candidate.title, 240)
    groups = groups_of(glance)[0]
    return QueueRow(
        link=links.candidate(candidate.namespace, candidate.id),
        title=title,
        namespace=candidate.namespace,
        badges=tuple(_badges(candidate, forced=bool(glance.get("forced")))),
        effect_words=interval_words(estimate),
        effect_says=_effect_says(estimate),
        drawing=mini(estimate),
        confirmed=said(VERDICTS, verdict),
        is_confirmed=verdict == "confirmed",
        groups=f"{groups:,}" if groups else "–",
        reach=reach_words(candidate.reach),
        why_now=why_words(candidate.why_now)[:MOST_REASONS] if is_open else (),
        flags=tuple(_flags(candidate, conflicts)) or (Badge("good", _("checks pass")),),
        age=age_words(candidate.created_at, now),
        reader=holder_words(holder, viewer_id) if is_open else "",
        is_mine=holder is not None and holder.is_person(viewer_id),
        parked=parked_words(candidate.wanted) if is_open and candidate.parked_at else "",
        pick=picked(candidate.namespace, candidate.id, candidate.content_hash, candidate.packet_hash)
        if is_open and may_decide
        else "",
        pick_words=_("Choose: {title}").format(title=title),
    )


def _badges(candidate: Candidate, *, forced: bool) -> Iterator[Badge]:
    yield Badge(f"tier-{candidate.tier}", said(TIERS, candidate.tier))
    if candidate.kind != "rule":
        yield Badge("dim", said(KINDS, candidate.kind))
    if forced:
        yield Badge("warn", _("forced, an experiment"))
    if candidate.state != "staged":
        yield Badge(f"state-{candidate.state}", said(CANDIDATE_STATES, candidate.state))


def _flags(candidate: Candidate, conflicts: int) -> Iterator[Badge]:
    """What speaks against it."""
    failing, warning = candidate.failing, candidate.warning
    if failing:
        yield Badge("bad", ngettext("{n} check fails", "{n} checks fail", failing).format(n=failing))
    if warning:
        yield Badge("warn", ngettext("{n} to look at", "{n} to look at", warning).format(n=warning))
    if conflicts:
        yield Badge("warn", ngettext("{n} conflict", "{n} conflicts", conflicts).format(n=conflicts))
    if candidate.revoked_before:
        yield Badge("bad", _("revoked before"))


def _effect_says(found: Estimate | None) -> str:
    """The direction of an effect in words; it is told by the interval, not by the estimate."""
    if found is None:
        return ""
    if found.high < 1:
        return _("goes with failure")
    return _("goes with success") if found.low > 1 else _("no clear effect")


def reach_words(sessions: int) -> str:
    """How far it would have reached of late."""
    if sessions == NOT_MEASURED:
        return _("not measured yet")
    return ngettext("{n} session", "{n} sessions", sessions).format(n=f"{sessions:,}")


def why_words(why_now: str) -> tuple[str, ...]:
    """Why it waits now, the weightiest reason first."""
    found = []
    for reason in why_now.split():
        code, _equals, what = reason.partition("=")
        if code in WHY_NOW:
            kind, _colon, name = what.partition(":")
            found.append(_(WHY_NOW[code]).format(what=_of_kind(kind, shortened(name, 60))))
    return tuple(found)


def _of_kind(kind: str, name: str) -> str:
    if kind == "rule":
        return _("rule {name}").format(name=name)
    return _("candidate {name}").format(name=name) if kind == "candidate" else _("recorded runs")


def holder_words(holder: Holder | None, viewer_id: str) -> str:
    """Who reads it, and since when."""
    if holder is None:
        return ""
    since = when_words(holder.since)
    if holder.is_person(viewer_id):
        return _("You are reading it, since {since}").format(since=since)
    return _("{name} is reading it, since {since}").format(name=holder.name, since=since)


def parked_words(wanted: Mapping[str, Any]) -> str:
    """What evidence it waits for."""
    asked = wanted_of(wanted)
    return _("Waits for {what}").format(what=wanted_words(asked)) if asked else _("Waits for evidence")


def picked(namespace: str, candidate_id: str, content_hash: str, packet_hash: str) -> str:
    """What a box of the queue sends: exactly one candidate, as it was shown."""
    return json.dumps([namespace, candidate_id, content_hash, packet_hash])


def nothing(filters: Filters) -> Nothing:
    """What to say where the queue shows none."""
    if filters.narrowed:
        return Nothing(
            _("Nothing here with this filter"), _("Other filters may show more."), "/queue", _("Show all that waits")
        )
    return Nothing(
        _("Nothing waits"), _("The next night may bring something. Until then, agents read what was promoted."),
        "/rules", _("See the rules"),
    )  # fmt: skip


def filters_view(filters: Filters, facets: Facets) -> tuple[Select, ...]:
    """The choices, each with how many candidates it would show; one that would show none is left out."""
    every = _("all")
    kinds = dict(KINDS) | {name: "" for name in [*facets.kind, filters.kind] if name not in KINDS}
    return (
        Select("state", _("State"), _choices(STANDINGS, facets.standing, filters.state), filters.state),
        Select("namespace", _("Namespace"), _choices(dict.fromkeys([*sorted(facets.namespace), filters.namespace], ""),
               facets.namespace, filters.namespace), filters.namespace, every),
        Select("tier", _("Tier"), _choices(TIERS, facets.tier, filters.tier), filters.tier, every),
        Select("kind", _("Kind"), _choices(kinds, facets.kind, filters.kind), filters.kind, every),
        Select("checks", _("Checks"), _choices(CHECKS, facets.checks, filters.checks), filters.checks, every),
        Select("conflicts", _("Conflicts"), _choices(CONFLICTS, facets.conflicts, filters.conflicts),
               filters.conflicts, every),
        Select("age", _("Waiting since") if filters.state in ("waiting", "parked") else _("Closed since"),
               _choices(AGES, facets.age, filters.age), filters.age, every),
        Select("sort", _("Order"), [(name, _(words)) for name, words in ORDERS.items()], filters.order),
    )  # fmt: skip


def _choices(names: Mapping[str, str], counts: Mapping[str, int], chosen: str) -> list[tuple[str, str]]:
    """Values with their words; those without a word of ours, such as namespaces, stay as they are."""
    return [
        (name, _("{name} ({n})").format(name=_(words) or name, n=f"{counts.get(name, 0):,}"))
        for name, words in names.items()
        if name and (counts.get(name) or name == chosen)
    ]
