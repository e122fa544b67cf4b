"""Why a finding is believed, in plain words before its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from review_ui.views.packet import Effect, HeldOut, count
from tasks.contrast.predicate import PredicateInvalid, from_canonical, happened_words, scope_words
from tasks.contrast.recoveries import is_everywhere
from tasks.contrast.ruled_out import ruled_out


@dataclass(frozen=True)
class Words:
    """What the figures count: runs of a task, or retries in the sessions of an agent."""

    noun: str
    success: str
    effect_in: str
    spread: str


RUNS = Words("task", "succeeded", "Effect in each task", "informative tasks")
RETRIES = Words("agent", "worked", "Effect for each agent", "agents compared")


TO_CHECK, NOT_EVERYWHERE = "Advice to check, not to avoid.", "Advice to check, not to follow everywhere."


@dataclass(frozen=True)
class Belief:
    """``lead`` compares the two ways of acting, ``seen_again`` tells of the held-out groups, ``beside`` how to read
    advice with exceptions. ``lead`` is empty where there are no figures.
    """

    words: Words
    lead: str
    with_it: str
    without_it: str
    seen_again: str
    ruled_out: tuple[str, ...]
    beside: str


def belief_of(predicate: Mapping[str, Any], packet: Mapping[str, Any], effect: Effect, held: HeldOut) -> Belief:
    """The plain words for a claim and the figures of its packet."""
    everywhere = is_everywhere(predicate)
    with_it = f"{effect.won_with} of {effect.won_with + effect.lost_with}"
    without_it = f"{effect.won_without} of {effect.won_without + effect.lost_without}"
    return Belief(
        words=RETRIES if everywhere else RUNS,
        lead=_lead(predicate, effect, with_it, without_it) if effect.won_with + effect.lost_with else "",
        with_it=with_it,
        without_it=without_it,
        seen_again=_seen_again(held),
        ruled_out=tuple(_ruled_out(packet, effect, held, everywhere=everywhere)),
        beside=NOT_EVERYWHERE if predicate.get("direction") == "do" else TO_CHECK,
    )


def _lead(predicate: Mapping[str, Any], effect: Effect, with_it: str, without_it: str) -> str:
    happened, scope = _happened(predicate)
    if is_everywhere(predicate):
        agents = f"{effect.strata} agent{'' if effect.strata == 1 else 's'}"
        return (
            f"Where {happened}, the next try worked in {with_it} sessions; without it, in {without_it}. "
            f"Sessions are compared only with sessions of the same agent ({agents})."
        )
    tasks = f"{effect.strata} task{'' if effect.strata == 1 else 's'}"
    others = scope.replace("of the runs", "the other runs", 1) or "the others"
    return (
        f"Where {happened}, {with_it} runs succeeded; of {others}, {without_it}. "
        f"Runs are compared only with runs of the same task ({tasks})."
    )


def _happened(predicate: Mapping[str, Any]) -> tuple[str, str]:
    """What was done, and among which runs it is looked at; a claim that is not in our terms is "it was done"."""
    try:
        claim = from_canonical(dict(predicate))
    except PredicateInvalid:
        return "it was done", ""
    return happened_words(claim), scope_words(claim)


def _seen_again(held: HeldOut) -> str:
    groups = f"{held.groups} group{'' if held.groups == 1 else 's'} of runs that it was not found on"
    return {
        "confirmed": f"It was seen again on {groups}.",
        "not confirmed": f"It was looked for on {groups}, and that does not bear it out.",
        "not tested": "It was not yet looked for on runs that it was not found on.",
    }[held.verdict]


def _ruled_out(packet: Mapping[str, Any], effect: Effect, held: HeldOut, *, everywhere: bool) -> list[str]:
    confirmed, interval = held.verdict == "confirmed", effect.estimate
    known: dict[str, Any] = {
        "agent_adjusted": _dict(packet.get("agent_adjusted")),
        "evidence": {"independent_groups": count(_dict(packet.get("evidence")).get("independent_groups"))},
        "exceptions": packet.get("exceptions"),
        "held_out": {"confirmed": confirmed, "groups": held.groups},
    }
    # Retries are compared within agents, so what is said of tasks does not fit them.
    if interval is not None and not everywhere:
        known["effect"] = {"strata": effect.strata, "low": interval.low, "high": interval.high}
    return ruled_out("confirmed" if confirmed else "unconfirmed", known)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
