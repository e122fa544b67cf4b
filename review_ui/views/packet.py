"""A candidate's content and packet as typed values. Parts that are missing stay missing; nothing is guessed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from review_ui.plot import Estimate, Stratum, interval_words
from review_ui.text import figure, ratio, span_words
from review_ui.views.names import CHECKS, said
from review_ui.views.scope import Labelled, day_words, scope_lines
from review_ui.words import N_, _

CHECK_WORDS = {"pass": N_("pass"), "warn": N_("look"), "fail": N_("fails"), "n/a": N_("n/a")}
COSTS = {"model_calls": N_("model calls"), "tokens": N_("tokens"), "seconds": N_("seconds")}
CONFLICT_WORDS = {
    "contradiction": N_("contradiction"),
    "supersession": N_("supersession"),
    "duplicate": N_("duplicate"),
    "overlap": N_("overlap"),
}
ADJUSTED = {
    "same": N_("it stays"),
    "weaker": N_("it is weaker"),
    "gone": N_("it is gone"),
    "inseparable": N_("it cannot be told apart from which agent ran"),
    "one-agent": N_("one agent ran them all"),
}
HELD_OUT_WORDS = {
    "confirmed": N_("confirmed"),
    "not confirmed": N_("not confirmed"),
    "not tested": N_("not tested"),
}


@dataclass(frozen=True)
class Check:
    """One check with what to do about it."""

    name: str
    verdict: str
    detail: str
    fix: str

    @property
    def words(self) -> str:
        """The check's name in the reader's language."""
        return said(CHECKS, self.name)

    @property
    def badge(self) -> str:
        """The verdict of its badge: a check that does not apply has not passed anything."""
        return "n/a" if self.passed and self.detail.startswith("not applicable") else self.verdict

    @property
    def badge_words(self) -> str:
        """The word on its badge."""
        return _(CHECK_WORDS[self.badge]) if self.badge in CHECK_WORDS else self.badge

    @property
    def passed(self) -> bool:
        """Whether there is nothing in it to look at."""
        return self.verdict == "pass"


@dataclass(frozen=True)
class Effect:
    """The pooled effect over strata."""

    estimate: Estimate | None
    p_value: float | None
    q_value: float | None
    strata: int
    won_with: int
    won_without: int
    lost_with: int
    lost_without: int
    words: str
    ratio: str
    interval: str


@dataclass(frozen=True)
class HeldOut:
    """What came of the groups that the finding was not made on."""

    groups: int
    estimate: Estimate | None
    p_value: float | None
    alpha: float | None
    same_direction: bool
    verdict: str
    words: str

    @property
    def verdict_words(self) -> str:
        """The verdict in the reader's language."""
        return _(HELD_OUT_WORDS[self.verdict])

    @property
    def sentence(self) -> str:
        """The figures of the test as one sentence."""
        if self.verdict == "not tested":
            return ""
        words = (
            _("On {n} held-out groups: odds ratio {odds}, p = {p} at a level of {alpha}, the same direction.")
            if self.same_direction
            else _("On {n} held-out groups: odds ratio {odds}, p = {p} at a level of {alpha}, not the same direction.")
        )
        return words.format(n=self.groups, odds=self.words, p=figure(self.p_value), alpha=figure(self.alpha))


@dataclass(frozen=True)
class Content:
    """What agents would receive."""

    when_to_use: str
    guidance: tuple[str, ...]
    scope: tuple[Labelled, ...]
    recheck: str
    length: int


CHECK_ORDER = {"fail": 0, "warn": 1, "pass": 2}


def content_of(content: dict[str, Any], namespace: str) -> Content:
    """The content of a revision or version."""
    guidance = tuple(str(line) for line in _list(content.get("guidance")))
    when_to_use = str(content.get("when_to_use") or "")
    scope = _dict(content.get("scope"))
    return Content(
        when_to_use=when_to_use,
        guidance=guidance,
        scope=scope_lines(scope, namespace),
        recheck=day_words(scope.get("recheck_at")),
        length=len(when_to_use) + sum(map(len, guidance)),
    )


def estimate_of(value: dict[str, Any]) -> Estimate | None:
    """An odds ratio with its interval; a missing ratio above a lower end, and a missing end, are unbounded."""
    ratio, low, high = (_number(value.get(name)) for name in ("odds_ratio", "low", "high"))
    if ratio is None and low is None:
        return None
    return Estimate(
        math.inf if ratio is None else ratio, 0.0 if low is None else low, math.inf if high is None else high
    )


def effect_of(packet: dict[str, Any]) -> Effect:
    """The effect part of a packet."""
    effect = _dict(packet.get("effect"))
    found = estimate_of(effect)
    won_with, lost_with = count(effect.get("success_with")), count(effect.get("failure_with"))
    return Effect(
        estimate=found,
        p_value=_number(effect.get("p_value")),
        q_value=_number(effect.get("q_value")),
        strata=count(effect.get("strata")),
        won_with=won_with,
        won_without=max(count(effect.get("success_total")) - won_with, 0),
        lost_with=lost_with,
        lost_without=max(count(effect.get("failure_total")) - lost_with, 0),
        words=interval_words(found),
        ratio=ratio(found.odds_ratio) if found else _("none"),
        interval=_("95 % {low} to {high}").format(low=ratio(found.low), high=ratio(found.high))
        if found
        else _("no estimate"),
    )


def held_out_of(packet: dict[str, Any]) -> HeldOut:
    """The confirmation part of a packet."""
    held = _dict(packet.get("held_out"))
    found, p_value, alpha = estimate_of(held), _number(held.get("p_value")), _number(held.get("alpha"))
    same = bool(held.get("same_direction"))
    verdict = held_out_verdict(held)
    return HeldOut(count(held.get("groups")), found, p_value, alpha, same, verdict, interval_words(found))


def held_out_verdict(held: dict[str, Any]) -> str:
    """Whether it was confirmed on groups that it was not found on, in the words that ``HeldOut`` uses."""
    p_value, alpha = _number(held.get("p_value")), _number(held.get("alpha"))
    if p_value is None or alpha is None:
        return "not tested"
    return "confirmed" if held.get("same_direction") and p_value <= alpha else "not confirmed"


def strata_of(packet: dict[str, Any]) -> list[Stratum]:
    """Counts per task."""
    names = ("success_with", "success_without", "failure_with", "failure_without")
    return [
        Stratum(str(row.get("stratum") or "unnamed"), *(count(row.get(name)) for name in names))
        for row in _list(packet.get("strata"))
        if isinstance(row, dict)
    ]


def checks_of(packet: dict[str, Any]) -> list[Check]:
    """Checks, failures first, so that what needs a look is on top."""
    found = [
        Check(str(row.get("name")), str(row.get("verdict")), str(row.get("detail") or ""), str(row.get("fix") or ""))
        for row in _list(packet.get("checks"))
        if isinstance(row, dict)
    ]
    return sorted(found, key=lambda check: CHECK_ORDER.get(check.verdict, 0))


def exceptions_of(packet: dict[str, Any]) -> list[str]:
    """Tasks where successes do the opposite."""
    return [str(name) for name in _list(packet.get("exceptions"))]


def facts_of(packet: dict[str, Any]) -> list[Labelled]:
    """The rest of the packet that a reviewer asks for, where it is there."""
    counts = _dict(packet.get("evidence"))
    told = [
        (_("Verification"), packet.get("verification_method")),
        (_("Owner"), packet.get("owner")),
        (_("Authoritative source"), packet.get("authoritative_source")),
        (_("Independent groups"), _count_text(counts.get("independent_groups"))),
        (_("Principals behind them"), _count_text(counts.get("principals"))),
        (_("Adjusted for the agent"), _adjusted(_dict(packet.get("agent_adjusted")))),
        (_("Cost of drafting"), _cost(_dict(packet.get("cost")))),
        (_("Revoked before"), _pairs(_dict(packet.get("revoked_before")))),
    ]
    return [Labelled(name, str(value)) for name, value in told if value not in (None, "", [], {})]


def counter_example_of(packet: dict[str, Any]) -> tuple[str, str, str] | None:
    """(episode id, first cited step, why) of the counter-example; ids are empty where none was found."""
    found = _dict(packet.get("counter_example"))
    steps = _list(found.get("step_ids"))
    if not found:
        return None
    return str(found.get("episode_id") or ""), str(steps[0]) if steps else "", str(found.get("why") or "")


def packet_conflicts_of(packet: dict[str, Any]) -> list[Labelled]:
    """Conflicts as the packet names them: what kind and with what, and why."""
    return [
        Labelled(conflict_title(str(row.get("kind") or ""), str(row.get("with") or "")), str(row.get("detail") or ""))
        for row in _list(packet.get("conflicts"))
        if isinstance(row, dict)
    ]


def conflict_title(kind: str, other: str) -> str:
    """What kind of conflict it is, and with what."""
    words = _(CONFLICT_WORDS[kind]) if kind in CONFLICT_WORDS else kind or _("conflict")
    return _("{kind} with {other}").format(kind=words, other=other or _("another text"))


def groups_of(packet: dict[str, Any]) -> tuple[int, int, int]:
    """Independent groups: all that were compared, those that show it, those that speak against it."""
    counts = _dict(packet.get("evidence"))
    return count(counts.get("independent_groups")), count(counts.get("support")), count(counts.get("counter"))


def _adjusted(value: dict[str, Any]) -> str:
    found = estimate_of(value)
    if found:
        return _("odds ratio {words}").format(words=interval_words(found))
    return str(value.get("why") or said(ADJUSTED, str(value.get("verdict") or "")))


def _cost(value: dict[str, Any]) -> str:
    if value and not any(value.get(name) for name in ("model_calls", "tokens")):
        seconds = _number(value.get("seconds"))
        return _("no model was asked") + (f", {span_words(seconds)}" if seconds else "")
    return _pairs(value)


def _pairs(value: dict[str, Any]) -> str:
    return ", ".join(f"{said(COSTS, str(key)).replace('_', ' ')} {value[key]}" for key in sorted(value))


def _count_text(value: object) -> str:
    return "" if value is None else str(count(value))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float(value) if value in ("inf", "-inf") else None
    return float(value)


def count(value: object) -> int:
    """A count of a packet; anything else is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
