"""Two runs of one namespace side by side: what was read, how long it took, what was found, staged and spent. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from review_ui import links
from review_ui.text import ratio, shortened, span_words
from review_ui.views.findings import VERDICT_WORDS
from review_ui.views.stages import title_of
from review_ui.words import N_, _
from storage.queries.pages_runs import Figures, Written

MOST = 50
"""Conclusions of a kind that are listed; their number is of all."""

VERDICT_ORDER = (
    "confirmed", "unconfirmed", "insufficient", "confounded", "agent-confounded", "consequence", "hypothesis",
)  # fmt: skip
SPENT = (
    ("calls", N_("model calls")), ("tokens", N_("model tokens")), ("seconds", N_("waiting for the model")),
)  # fmt: skip
BETTER = {"confirmed": 3, "unconfirmed": 2, "insufficient": 1}
"""How far a verdict lets a finding go; the rest lets it go nowhere."""


@dataclass(frozen=True)
class Night:
    """One run as it is compared. Seconds by stage are of stages that ended; ``families`` are those it compared.

    ``withdrawn`` are (candidate id, title); ``spent`` has model calls, tokens and seconds.
    """

    name: str
    link: str
    episodes: int
    stages: Mapping[str, float]
    findings: Sequence[Figures]
    families: frozenset[str]
    written: Sequence[Written] = ()
    withdrawn: Sequence[tuple[str, str]] = ()
    spent: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Line:
    """One row of figures: of the earlier run, of the later one, and the difference in words."""

    name: str
    before: str
    after: str
    difference: str


@dataclass(frozen=True)
class FoundLine:
    """One finding in both runs. A side that did not conclude it is empty."""

    statement: str
    before_verdict: str
    before: str
    after_verdict: str
    after: str
    rises: bool


@dataclass(frozen=True)
class FoundGroup:
    """Findings with the same fate: ``total`` of them, the first of which are listed."""

    name: str
    heading: str
    meaning: str
    total: int
    lines: tuple[FoundLine, ...]
    folded: bool


@dataclass(frozen=True)
class Comparison:
    """Two runs, the earlier one first. ``candidates`` of the later: (heading, (title, link) pairs)."""

    before_name: str
    before_link: str
    after_name: str
    after_link: str
    lines: tuple[Line, ...]
    stages: tuple[Line, ...]
    groups: tuple[FoundGroup, ...]
    candidates: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


def compare(namespace: str, before: Night, after: Night) -> Comparison:
    """Hold a later run against an earlier one of the same namespace.

    A finding is the same one where its predicate is: its words and figures may have changed. One of a family that the
    other run did not compare neither appeared nor vanished.
    """
    return Comparison(
        before_name=before.name,
        before_link=before.link,
        after_name=after.name,
        after_link=after.link,
        lines=tuple(_lines(before, after)),
        stages=tuple(_stages(before, after)),
        groups=tuple(_groups(before, after)),
        candidates=tuple(_candidates(namespace, after)),
    )


def effect_words(effect: Mapping[str, float | None]) -> str:
    """An odds ratio with its interval; empty where nothing was measured."""
    if not effect:
        return ""
    value, low, high = (_number(effect.get(name)) for name in ("odds_ratio", "low", "high"))
    return _("odds ratio {value} ({low} to {high})").format(value=ratio(value), low=ratio(low), high=ratio(high))


def _number(value: float | None) -> float:
    """None stands for infinity, which JSON does not have."""
    return math.inf if value is None else float(value)


def _lines(before: Night, after: Night) -> list[Line]:
    def new(night: Night) -> int:
        return sum(one.number == 1 for one in night.written)

    counts: list[tuple[str, Callable[[Night], float]]] = [
        (_("episodes read"), lambda night: night.episodes),
        (_("findings"), lambda night: len(night.findings)),
        (_("confirmed"), lambda night: sum(one.verdict == "confirmed" for one in night.findings)),
        (_("candidates new"), new),
        (_("candidates changed"), lambda night: len(night.written) - new(night)),
        (_("candidates withdrawn"), lambda night: len(night.withdrawn)),
    ]
    lines = [_line(name, count(before), count(after), _count) for name, count in counts]
    for key, words in SPENT:
        was, now = before.spent.get(key, 0), after.spent.get(key, 0)
        if was or now:
            lines.append(_line(_(words), was, now, span_words if key == "seconds" else _count))
    return lines


def _stages(before: Night, after: Night) -> list[Line]:
    names = list(dict.fromkeys([*after.stages, *before.stages]))
    lines = []
    for name in names:
        was, now = before.stages.get(name), after.stages.get(name)
        if was is not None and now is not None:
            lines.append(_line(title_of(name), was, now, span_words))
        else:
            lines.append(Line(title_of(name), span_words(was), span_words(now), "–"))
    whole = [sum(night.stages.values()) for night in (before, after)]
    return [*lines, _line(_("all stages"), whole[0], whole[1], span_words)] if lines else []


def _line(name: str, was: float, now: float, say: Callable[[float], str]) -> Line:
    gap = now - was
    sign = "+" if gap > 0 else "−"
    said = say(abs(gap))
    return Line(name, say(was), say(now), "=" if said == say(0) else f"{sign}{said}")


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _groups(before: Night, after: Night) -> list[FoundGroup]:
    was = {one.predicate_id: one for one in before.findings}
    now = {one.predicate_id: one for one in after.findings}
    appeared = [_found(None, one) for key, one in now.items() if key not in was and one.family_id in before.families]
    vanished = [_found(one, None) for key, one in was.items() if key not in now and one.family_id in after.families]
    first = [_found(None, one) for key, one in now.items() if key not in was and one.family_id not in before.families]
    left = [_found(one, None) for key, one in was.items() if key not in now and one.family_id not in after.families]
    both = [(was[key], now[key]) for key in now if key in was]
    changed = [_found(a, b) for a, b in both if a.verdict != b.verdict]
    same = [_found(a, b) for a, b in both if a.verdict == b.verdict]
    again = _("Found by the earlier run, and not by the later, which compared these families again.")
    made = (
        ("changed", _("Changed verdict"), _("Found in both, and taken otherwise now."), changed),
        ("appeared", _("Appeared"), _("Found by the later run, and not by the earlier."), appeared),
        ("vanished", _("Vanished"), again, vanished),
        ("first", _("Compared by the later run alone"), _("The earlier run did not touch these families."), first),
        ("left", _("Not compared again"), _("The later run did not touch these families, so nothing is known."), left),
        ("same", _("Same verdict"), _("Found in both; the figures may have moved."), same),
    )
    return [
        FoundGroup(name, heading, meaning, len(lines), tuple(sorted(lines, key=_order)[:MOST]),
                   folded=name in ("first", "left", "same"))
        for name, heading, meaning, lines in made
        if lines
    ]  # fmt: skip


def _found(before: Figures | None, after: Figures | None) -> FoundLine:
    shown = after or before
    assert shown is not None
    was, now = (BETTER.get(one.verdict, 0) if one else 0 for one in (before, after))
    return FoundLine(
        statement=shown.statement,
        before_verdict=_(VERDICT_WORDS[before.verdict]) if before else "",
        before=effect_words(before.effect) if before else "",
        after_verdict=_(VERDICT_WORDS[after.verdict]) if after else "",
        after=effect_words(after.effect) if after else "",
        rises=now > was,
    )


def _order(line: FoundLine) -> tuple[int, str]:
    """What may go farthest first."""
    words = [_(VERDICT_WORDS[verdict]) for verdict in VERDICT_ORDER]
    places = [words.index(said) for said in (line.before_verdict, line.after_verdict) if said]
    return min(places), line.statement


def _candidates(namespace: str, after: Night) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    def named(each: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        return tuple((shortened(title, 200), links.candidate(namespace, identity)) for identity, title in each[:MOST])

    groups = (
        (_("New"), [(one.candidate_id, one.title) for one in after.written if one.number == 1]),
        (_("Changed"), [(one.candidate_id, one.title) for one in after.written if one.number > 1]),
        (_("Withdrawn"), list(after.withdrawn)),
    )
    return [(heading, named(each)) for heading, each in groups if each]
