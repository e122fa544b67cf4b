"""Which other explanations the figures of a conclusion rule out, in words. Nothing is said that was not tested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ENOUGH_TASKS = 5
"""Fewer informative tasks than this do not show that the tasks make no difference."""


WORDS: Mapping[str, str] = {
    "one-task": "not how hard the task is: it holds between runs of the same task",
    "difficulty": "not how hard the task is: it holds between runs of the same task, over {n} tasks",
    "agents": "not who ran: it holds when adjusted for {n} agents",
    "one-agent": "not a difference between agents: one agent ran them all",
    "chance": "not chance: it came out the same on {n} groups that it was not found on",
    "copies": "not copies of a few runs: {n} independent groups count once each",
    "some-tasks": "not a matter of some tasks only: in none of them do the successes do the opposite",
}
"""Each explanation as "not ...: why"."""

RuledOut = tuple[str, Any]
"""A name of ``WORDS`` and its number."""


def ruled_out(verdict: str, statistics: Mapping[str, Any]) -> list[str]:
    """Explanations that this conclusion need not be asked about any more, in English.

    ``statistics`` are as the contrast stores them. What is confounded, or a consequence of other
    things, rules out nothing.
    """
    return [WORDS[name].format(n=number) for name, number in explanations(verdict, statistics)]


def explanations(verdict: str, statistics: Mapping[str, Any]) -> list[RuledOut]:
    """The same by name, for whoever says them in another language."""
    if verdict in ("confounded", "consequence"):
        return []
    effect = statistics.get("effect") or {}
    found = [_difficulty(effect), _agent(statistics.get("agent_adjusted") or {}), _chance(statistics)]
    found += [_copies(statistics.get("evidence") or {}), _some_tasks(effect, statistics)]
    return [one for one in found if one is not None]


def _difficulty(effect: Mapping[str, Any]) -> RuledOut | None:
    strata = effect.get("strata") or 0
    if not strata or not _away(effect):
        return None
    return ("one-task" if strata == 1 else "difficulty", strata)


def _away(effect: Mapping[str, Any]) -> bool:
    """Whether the interval leaves out no effect; an end that is None is unbounded."""
    low, high = effect.get("low"), effect.get("high")
    return (low is not None and low > 1) or (high is not None and high < 1)


def _agent(adjusted: Mapping[str, Any]) -> RuledOut | None:
    if adjusted.get("verdict") == "same":
        return "agents", adjusted.get("agents")
    return ("one-agent", 1) if adjusted.get("verdict") == "one-agent" else None


def _chance(statistics: Mapping[str, Any]) -> RuledOut | None:
    held = statistics.get("held_out") or {}
    if not held.get("confirmed") or not held.get("same_direction", True):
        return None
    return "chance", held.get("groups")


def _copies(evidence: Mapping[str, Any]) -> RuledOut | None:
    groups = evidence.get("independent_groups") or 0
    return ("copies", groups) if groups > 1 else None


def _some_tasks(effect: Mapping[str, Any], statistics: Mapping[str, Any]) -> RuledOut | None:
    if statistics.get("exceptions") or (effect.get("strata") or 0) < ENOUGH_TASKS or not _away(effect):
        return None
    return "some-tasks", effect.get("strata")
