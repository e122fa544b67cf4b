"""A raw run proposed as an example: which one of a cluster, and what agents and reviewers would get. Pure.

The content points to the episode and repeats none of it but the task, shortened, and the names of its calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from storage.ids import content_hash
from tasks.verify.checks import Check

LONGEST_TASK = 300
MOST_CALLS, MOST_CITED = 40, 5
METHOD = (
    "Read the run whole. Its outcome was not the agent's own word; it read no rule of this store; among the successes "
    "of its cluster that were looked at its calls are the most like the others'."
)


@dataclass(frozen=True)
class Shown:
    """One successful run as far as the choice looks at it: its calls in order, and the steps that made the first."""

    episode_id: str
    group: str
    calls: tuple[str, ...]
    steps: int
    cited: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """Where the chosen run is from."""

    namespace: str
    cluster_label: str
    task: str
    outcome_source: str
    environment: Mapping[str, str]
    owner: str
    recheck_at: str
    successes: int


def shown(episode_id: str, group: str, body: Mapping[str, Any]) -> Shown:
    """The calls of an episode's body, the agent's own."""
    steps = body.get("steps") or []
    made = [step for step in steps if step.get("kind") == "tool_call" and step.get("name") and _own(step)]
    cited = tuple(str(step["id"]) for step in made[:MOST_CITED])
    return Shown(episode_id, group, tuple(str(step["name"]) for step in made), len(steps), cited)


def exemplar_id(namespace: str, episode_id: str) -> str:
    """Identity of an exemplar: its episode's."""
    return content_hash([namespace, "exemplar", episode_id], 16)


def medoid(runs: Sequence[Shown]) -> Shown | None:
    """The run whose calls are most like all others' (summed Jaccard of call pairs); the shorter, then by id.

    Runs without a call are no example of anything.
    """
    acting = [run for run in runs if run.calls]
    pairs = {run.episode_id: _pairs(run.calls) for run in acting}

    def order(run: Shown) -> tuple[float, int, str]:
        mine = pairs[run.episode_id]
        near = sum(_jaccard(mine, pairs[other.episode_id]) for other in acting if other is not run)
        return -round(near, 9), run.steps, run.episode_id

    return min(acting, key=order, default=None)


def content(run: Shown, source: Source) -> dict[str, Any]:
    """What agents would receive: the pointer, and where the example fits."""
    task = source.task if len(source.task) <= LONGEST_TASK else f"{source.task[: LONGEST_TASK - 1]}…"
    return {
        "when_to_use": f"As an example of a run that succeeded, in tasks of the kind “{source.cluster_label}”.",
        "exemplar": {
            "episode_id": run.episode_id,
            "task": task,
            "calls": list(run.calls[:MOST_CALLS]),
            "steps": run.steps,
        },
        "scope": {
            "namespace": source.namespace,
            "environment": dict(sorted(source.environment.items())),
            "agents": [],
            "valid_from": None,
            "recheck_at": source.recheck_at,
        },
    }


def packet(run: Shown, source: Source) -> dict[str, Any]:
    """What the reviewer sees. There is no effect: an example claims nothing."""
    return {
        "summary": f"A run that succeeded, as an example for “{source.cluster_label}”: {words_of(run.calls)}.",
        "evidence": {
            "support": 1,
            "counter": 0,
            "independent_groups": 1,
            "principals": 1,
            "groups": {"support": [run.group], "counter": []},
            "tainted": [],
            "stale": [],
        },
        "verification_method": METHOD,
        "owner": source.owner,
        "authoritative_source": f"the recorded run itself; its outcome is from: {source.outcome_source}",
        "reach": {"runs": source.successes, "did": source.successes},
        "cost": {"model_calls": 0, "tokens": 0},
        "conflicts": [],
        "checks": [check.as_row() for check in vouched()],
        "tier": "low",
        "tier_why": "an example claims nothing, and is shown as what it is: one recorded run",
        "revoked_before": None,
    }


def vouched() -> list[Check]:
    """What was asked of the run before it was proposed; one that fails is not proposed at all."""
    return [
        Check("independence", "pass", "one run of its own group; it read no rule, and ran under none that was revoked"),
        Check("outcome", "pass", "somebody other than the agent said that it succeeded"),
        Check("hidden text and orders", "pass", "no sign of either in what others wrote, and nothing from outside"),
        Check("secrets", "pass", "none found in what is kept of it"),
    ]


def words_of(calls: Sequence[str]) -> str:
    """The calls of a run as a person reads them, repeats counted."""
    if not calls:
        return "no call"
    runs: list[list[Any]] = []
    for call in calls:
        if runs and runs[-1][0] == call:
            runs[-1][1] += 1
        else:
            runs.append([call, 1])
    said = [f"`{call}`" + (f" × {times}" if times > 1 else "") for call, times in runs[:MOST_CALLS]]
    return ", then ".join(said) + (" …" if len(runs) > MOST_CALLS else "")


def _own(step: Mapping[str, Any]) -> bool:
    return step.get("requestor") != "user"


def _pairs(calls: Sequence[str]) -> Counter[tuple[str, str]]:
    """Neighbouring calls, the start and the end among them."""
    line = ["", *calls, ""]
    return Counter(pairwise(line))


def _jaccard(one: Counter[tuple[str, str]], two: Counter[tuple[str, str]]) -> float:
    both = (one & two).total()
    return both / (one.total() + two.total() - both)
