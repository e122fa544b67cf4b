"""The stages of a run in the order data flows, and what follows from the steps already closed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from tasks.contrast.recoveries import EVERYWHERE

StepFunction = Callable[..., dict[str, Any]]
"""``run(database, claim, context)`` of a stage: does the work and returns its counts."""

NIGHT = ("select", "cluster", "contrast", "draft", "conflict", "verify", "stage", "recheck")
REPAIR = ("repair",)
KINDS: Mapping[str, tuple[str, ...]] = {"night": NIGHT, "repair": REPAIR}

SHARDED_BY_FAMILY = "contrast"
WHOLE = ""
"""The shard of a stage that is not divided."""

_MODULES = {**{stage: f"tasks.{stage}.step" for stage in NIGHT}, "repair": "tasks.revoke.step"}

CLOSED = frozenset({"done", "parked"})


class StageUnknown(LookupError):
    """A step names a stage this version does not have: an older or newer worker wrote it; deploy one version."""


class StepView(NamedTuple):
    """What the planner looks at of one step."""

    stage: str
    shard: str
    state: str
    result: dict[str, Any]
    error: str | None


@dataclass(frozen=True)
class AddSteps:
    """The next stage is due with these shards."""

    stage: str
    shards: tuple[str, ...]


@dataclass(frozen=True)
class Wait:
    """Steps of this stage are still open."""

    stage: str


@dataclass(frozen=True)
class Close:
    """The run is over."""

    state: str
    stats: dict[str, Any] = field(default_factory=dict)
    problems: list[dict[str, Any]] = field(default_factory=list)


Plan = AddSteps | Wait | Close


def step_function(stage: str) -> StepFunction:
    """``run`` of the stage's ``step.py``, imported when it is first needed.

    Raises:
        StageUnknown: if there is no such stage.
    """
    if stage not in _MODULES:
        raise StageUnknown(f"no stage is called {stage!r}; there are: {', '.join(_MODULES)}")
    function: StepFunction = import_module(_MODULES[stage]).run
    return function


def plan(kind: str, steps: Sequence[StepView], carried: Iterable[str] = ()) -> Plan:
    """What a run of this kind does next. The same steps give the same answer, so it may be asked at any time.

    Args:
        steps: every step the run has, in any order.
        carried: families that an earlier run left without a result; they join tonight's contrast.
    """
    for stage in KINDS[kind]:
        mine = [step for step in steps if step.stage == stage]
        missing = set(_shards(stage, steps, carried)) - {step.shard for step in mine}
        if missing:
            return AddSteps(stage, tuple(sorted(missing)))
        if any(step.state not in CLOSED for step in mine):
            return Wait(stage)
        if mine and all(step.state == "parked" for step in mine):
            return Close("failed", stats_of(steps), problems_of(steps))
    problems = problems_of(steps)
    return Close("partial" if problems else "completed", stats_of(steps), problems)


def _shards(stage: str, steps: Sequence[StepView], carried: Iterable[str]) -> list[str]:
    if stage != SHARDED_BY_FAMILY:
        return [WHOLE]
    return sorted({*families_of(steps), *carried, *_everywhere(steps)})


def _everywhere(steps: Iterable[StepView]) -> set[str]:
    """The shard that compares the steps of all sessions, where some that nobody judged came in."""
    return {EVERYWHERE for step in steps if step.stage == "select" and step.result.get("unjudged")}


def families_of(steps: Iterable[StepView]) -> set[str]:
    """The families that the cluster stage touched."""
    return {str(family) for step in steps if step.stage == "cluster" for family in step.result.get("families", ())}


def families_left(state: str, steps: Sequence[StepView]) -> set[str] | None:
    """Families a closed run left without a result; None if it never came to its contrast, so ask the run before.

    A partial run leaves its parked shards, and the families of what it could not draft. A failed one drafted nothing,
    so all of its families are looked at again.
    """
    shards = {step.shard: step.state for step in steps if step.stage == SHARDED_BY_FAMILY}
    if state == "failed":
        return {*shards, *families_of(steps)} if shards else None
    undrafted = {problem["family"] for problem in problems_of(steps) if "family" in problem}
    return {shard for shard, at in shards.items() if at == "parked"} | undrafted


def problems_of(steps: Iterable[StepView]) -> list[dict[str, Any]]:
    """What is missing from this run, and why: each parked step, and whatever a finished one tells of."""
    problems: list[dict[str, Any]] = []
    for step in sorted(steps, key=lambda step: (step.stage, step.shard)):
        if step.state == "parked":
            problems.append({"stage": step.stage, "shard": step.shard, "error": step.error or "no reason recorded"})
        problems += step.result.get("problems", ())
    return problems


def stats_of(steps: Iterable[StepView]) -> dict[str, Any]:
    """The counts of a run: per stage the sums over its shards, and on top the four everyone asks for."""
    stages: dict[str, dict[str, float]] = {}
    for step in steps:
        sums = stages.setdefault(step.stage, {})
        for name, value in step.result.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                sums[name] = sums.get(name, 0) + value
    return {
        "episodes": _count(stages, "select", "episodes"),
        "clusters": _count(stages, "cluster", "clusters"),
        "tests": _count(stages, "contrast", "tests"),
        "candidates": _count(stages, "stage", "candidates"),
        "stages": stages,
    }


def _count(stages: Mapping[str, Mapping[str, float]], stage: str, name: str) -> int:
    return int(stages.get(stage, {}).get(name, 0))
