"""Why a finding is believed, in plain words before its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from review_ui.plot import share_words
from review_ui.views.claims import claim_of, happened, the_others
from review_ui.views.packet import Effect, HeldOut, count
from review_ui.words import N_, _, ngettext
from tasks.contrast.recoveries import is_everywhere
from tasks.contrast.ruled_out import explanations

RULED_OUT = {
    "one-task": N_("not how hard the task is: it holds between runs of the same task"),
    "difficulty": N_("not how hard the task is: it holds between runs of the same task, over {n} tasks"),
    "agents": N_("not who ran: it holds when adjusted for {n} agents"),
    "one-agent": N_("not a difference between agents: one agent ran them all"),
    "chance": N_("not chance: it came out the same on {n} groups that it was not found on"),
    "copies": N_("not copies of a few runs: {n} independent groups count once each"),
    "some-tasks": N_("not a matter of some tasks only: in none of them do the successes do the opposite"),
}
"""As the night words them (``tasks/contrast/ruled_out.py``)."""


@dataclass(frozen=True)
class Words:
    """What the figures count, in whole phrases: runs of a task, or retries in the sessions of an agent."""

    is_of_agents: bool
    noun: str
    success_with: str
    success_without: str
    effect_in: str
    within: str
    spread: str
    together: str
    plot: str


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
    with_it = share_words(effect.won_with, effect.won_with + effect.lost_with)
    without_it = share_words(effect.won_without, effect.won_without + effect.lost_without)
    return Belief(
        words=_retries() if everywhere else _runs(),
        lead=_lead(predicate, effect, with_it, without_it) if effect.won_with + effect.lost_with else "",
        with_it=with_it,
        without_it=without_it,
        seen_again=_seen_again(held),
        ruled_out=tuple(_ruled_out(packet, effect, held, everywhere=everywhere)),
        beside=_("Advice to check, not to follow everywhere.")
        if predicate.get("direction") == "do"
        else _("Advice to check, not to avoid."),
    )


def _runs() -> Words:
    return Words(
        is_of_agents=False,
        noun=_("Task"),
        success_with=_("succeeded, with it"),
        success_without=_("succeeded, without it"),
        effect_in=_("Effect in each task"),
        within=_("odds ratio within tasks"),
        spread=_("informative tasks"),
        together=_("All tasks together"),
        plot=_("Odds ratio of success in each task, with 95 % intervals"),
    )


def _retries() -> Words:
    return Words(
        is_of_agents=True,
        noun=_("Agent"),
        success_with=_("worked, with it"),
        success_without=_("worked, without it"),
        effect_in=_("Effect for each agent"),
        within=_("odds ratio within agents"),
        spread=_("agents compared"),
        together=_("All agents together"),
        plot=_("Odds ratio of success for each agent, with 95 % intervals"),
    )


def _lead(predicate: Mapping[str, Any], effect: Effect, with_it: str, without_it: str) -> str:
    claim = claim_of(predicate)
    if is_everywhere(predicate):
        compared = _("Where {happened}, the next try worked in {with_it} sessions; without it, in {without_it}.")
        among = ngettext(
            "Sessions are compared only with sessions of the same agent ({n} agent).",
            "Sessions are compared only with sessions of the same agent ({n} agents).",
            effect.strata,
        )
    else:
        compared = _("Where {happened}, {with_it} runs succeeded; of {others}, {without_it}.")
        among = ngettext(
            "Runs are compared only with runs of the same task ({n} task).",
            "Runs are compared only with runs of the same task ({n} tasks).",
            effect.strata,
        )
    said = compared.format(happened=happened(claim), with_it=with_it, without_it=without_it, others=the_others(claim))
    return f"{said} {among.format(n=effect.strata)}"


def _seen_again(held: HeldOut) -> str:
    if held.verdict == "not tested":
        return _("It was not yet looked for on runs that it was not found on.")
    if held.verdict == "confirmed":
        said = ngettext(
            "It was seen again on {n} group of runs that it was not found on.",
            "It was seen again on {n} groups of runs that it was not found on.",
            held.groups,
        )
    else:
        said = ngettext(
            "It was looked for on {n} group of runs that it was not found on, and that does not bear it out.",
            "It was looked for on {n} groups of runs that it was not found on, and that does not bear it out.",
            held.groups,
        )
    return said.format(n=held.groups)


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
    found = explanations("confirmed" if confirmed else "unconfirmed", known)
    return [_(RULED_OUT[name]).format(n=number) for name, number in found]


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
