"""Untested causes behind what a night found: each with its next step, and never more than a hypothesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.contrast.predicate import PredicateInvalid, from_canonical, happened_words

NAMED = 5


@dataclass(frozen=True)
class Hypothesis:
    """``predicate`` names the finding it is about and the cause; no machine checks it, so no rule comes of it."""

    predicate: dict[str, Any]
    statement: str
    next_step: str
    ruled_out: tuple[str, ...]


def hypotheses(
    predicate: Mapping[str, Any], predicate_id: str, verdict: str, statistics: Mapping[str, Any], ruled: Sequence[str]
) -> list[Hypothesis]:
    """What may lie behind one conclusion of the night.

    A finding that turns around in some tasks points to a condition that was not recorded. One that cannot be told from
    who ran points to something that the agents do differently.
    """
    try:
        happened = happened_words(from_canonical(dict(predicate)))
    except PredicateInvalid:
        return []
    opposite = [str(name) for name in statistics.get("exceptions") or ()]
    if verdict == "confirmed" and opposite:
        cause, said, step = _condition(happened, opposite)
    elif verdict == "agent-confounded":
        cause, said, step = _agent(happened, statistics.get("agent_adjusted") or {})
    else:
        return []
    about = {"kind": "hypothesis", "cause": cause, "about": predicate_id, "family": predicate.get("family")}
    return [Hypothesis(about, said, step, tuple(ruled))]


def _condition(happened: str, opposite: Sequence[str]) -> tuple[str, str, str]:
    named = ", ".join(opposite[:NAMED]) + (f" and {len(opposite) - NAMED} more" if len(opposite) > NAMED else "")
    tasks = "1 task" if len(opposite) == 1 else f"{len(opposite)} tasks"
    return (
        "hidden-condition",
        f"what comes of it where {happened} may hang on a condition that is not recorded: in {tasks} ({named}) the "
        "successes do the opposite",
        f"compare what was asked for in {named} with the other tasks, and record what tells them apart",
    )


def _agent(happened: str, adjusted: Mapping[str, Any]) -> tuple[str, str, str]:
    agents = f"{adjusted.get('agents')} agents" if adjusted.get("agents") else "the agents"
    return (
        "agent-habit",
        f"where {happened}, something else that {agents} do differently may be what decides the outcome",
        "let one agent run the same tasks both ways, or compare what else its runs do",
    )
