"""One run: an agent works on a task, and the final state is judged."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worlds.engine.desk import TIMED_OUT, Desk
from worlds.engine.habits import Aside
from worlds.engine.mind import Mind, make_mind
from worlds.engine.policies import Policy
from worlds.engine.rules import Memory, as_rule, understand
from worlds.engine.state import State, copy_state
from worlds.engine.tool import ToolError
from worlds.engine.world import Task, Verdict, World

EVEN_RATE = 0.4
"""How often a harmless call is made where nothing confounds it."""
BY_DIFFICULTY: Mapping[str, float] = {"easy": 0.05, "medium": 0.08, "hard": 0.94}


@dataclass(frozen=True, slots=True)
class Setting:
    """How runs are made: which release of the world, and what is confounded on purpose (``difficulty``, ``agent``)."""

    release: str
    confound: frozenset[str] = frozenset({"difficulty"})


@dataclass(frozen=True, slots=True)
class Run:
    """Steps of the trace (canonical dicts), the state they led to, and what the checker said of it."""

    steps: Sequence[dict[str, Any]]
    final: State
    verdict: Verdict


def run(
    world: World,
    task: Task,
    policy: Policy,
    rng: random.Random,
    setting: Setting,
    *,
    memory: Memory | None = None,
    session_id: str = "",
    forced: Mapping[str, bool] | None = None,
) -> Run:
    """Let ``policy`` work on ``task``. ``task.state`` is left as it was.

    ``forced`` fixes choices by id (and ``slip``) whatever the agent would do: so the effect of a habit is measured.
    """
    desk = Desk(copy_state(task.state), world.tools, setting.release, rng)
    rates = _rates(world, task, policy, setting.confound)
    mind = make_mind(desk, rng, policy, world.slip_rates[task.difficulty], rates, clumsy="agent" in setting.confound)
    mind.forced, mind.asides = forced or {}, world.asides
    desk.user(task.text)
    if memory is not None and policy.reads_memory:
        _read(world, mind, memory, task.text, setting.release, session_id)
    world.kinds[task.kind].script(desk, mind, task.facts)
    mind.wind_up(task.facts)
    desk.answer(f"All done: I have taken care of it, {task.facts['name']}. Is there anything else?")
    return Run(desk.steps, desk.state, world.check(task, desk.state))


def calls_that_ran(steps: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The tool calls of a trace that reached their tool: all but those that timed out on the way."""
    steps = list(steps)
    lost = {step["of"] for step in steps if step["kind"] == "observation" and step["text"] == TIMED_OUT}
    return [step for step in steps if step["kind"] == "tool_call" and step["id"] not in lost]


def replay(world: World, state: State, calls: Iterable[Mapping[str, Any]], release: str) -> State:
    """The state after these calls (``name``, ``arguments``); ``state`` itself is left as it was.

    With :func:`calls_that_ran` of a whole trace, its final state.

    Raises:
        KeyError: the world has no such tool.
    """
    after = copy_state(state)
    for step in calls:
        try:
            world.tools[step["name"]].body(after, release, **step["arguments"])
        except ToolError:
            continue
    return after


def _rates(world: World, task: Task, policy: Policy, confound: Collection[str]) -> dict[str, float]:
    """The chance of each choice of the world, in the world's order."""
    rates = {habit.id: habit.frequency * policy.rate(habit.id) for habit in world.habits}
    return rates | {aside.call: _aside_rate(aside, task.difficulty, policy, confound) for aside in world.asides}


def _aside_rate(aside: Aside, difficulty: str, policy: Policy, confound: Collection[str]) -> float:
    if aside.when == "hard" and "difficulty" in confound:
        return BY_DIFFICULTY[difficulty]
    if aside.when == "agent" and "agent" in confound:
        return 0.85 if policy.slip > 1 else 0.15
    return EVEN_RATE


def _read(world: World, mind: Mind, memory: Memory, text: str, release: str, session_id: str) -> None:
    environment = {world.component: release}
    found = memory.rules(text, environment=environment, session_id=session_id)
    rules = [as_rule(rule) for rule in found]
    mind.read_steps = tuple(mind.desk.read_rule(rule) for rule in rules)
    mind.advice = understand(rules, world.choices)
