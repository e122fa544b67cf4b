"""Which other explanations the figures of a conclusion rule out, in words. Nothing is said that was not tested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ENOUGH_TASKS = 5
"""Fewer informative tasks than this do not show that the tasks make no difference."""


def ruled_out(verdict: str, statistics: Mapping[str, Any]) -> list[str]:
    """Explanations that this conclusion need not be asked about any more, each as "not ...: why".

    ``statistics`` are as the contrast stores them. What is confounded, or a consequence of other
    things, rules out nothing.
    """
    if verdict in ("confounded", "consequence"):
        return []
    effect = statistics.get("effect") or {}
    said = [_difficulty(effect), _agent(statistics.get("agent_adjusted") or {}), _chance(statistics)]
    said += [_copies(statistics.get("evidence") or {}), _some_tasks(effect, statistics)]
    return [one for one in said if one]


def _difficulty(effect: Mapping[str, Any]) -> str:
    strata = effect.get("strata") or 0
    if not strata or not _away(effect):
        return ""
    tasks = "the same task" if strata == 1 else f"the same task, over {strata} tasks"
    return f"not how hard the task is: it holds between runs of {tasks}"


def _away(effect: Mapping[str, Any]) -> bool:
    """Whether the interval leaves out no effect; an end that is None is unbounded."""
    low, high = effect.get("low"), effect.get("high")
    return (low is not None and low > 1) or (high is not None and high < 1)


def _agent(adjusted: Mapping[str, Any]) -> str:
    if adjusted.get("verdict") == "same":
        return f"not who ran: it holds when adjusted for {adjusted.get('agents')} agents"
    return "not a difference between agents: one agent ran them all" if adjusted.get("verdict") == "one-agent" else ""


def _chance(statistics: Mapping[str, Any]) -> str:
    held = statistics.get("held_out") or {}
    if not held.get("confirmed") or not held.get("same_direction", True):
        return ""
    return f"not chance: it came out the same on {held.get('groups')} groups that it was not found on"


def _copies(evidence: Mapping[str, Any]) -> str:
    groups = evidence.get("independent_groups") or 0
    return f"not copies of a few runs: {groups} independent groups count once each" if groups > 1 else ""


def _some_tasks(effect: Mapping[str, Any], statistics: Mapping[str, Any]) -> str:
    if statistics.get("exceptions") or (effect.get("strata") or 0) < ENOUGH_TASKS or not _away(effect):
        return ""
    return "not a matter of some tasks only: in none of them do the successes do the opposite"
