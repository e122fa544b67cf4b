"""What makes a world: tools, task specs, and for each kind of task a builder, a script and a checker."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from worlds.engine.desk import Desk
from worlds.engine.habits import Aside, Choice, PlantedHabit
from worlds.engine.mind import SLIP_RATES, Mind
from worlds.engine.state import State
from worlds.engine.tool import Tool
from worlds.engine.wording import Voice

Facts = Mapping[str, Any]
"""What the customer said, and all that a script may look at besides the answers of tools."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One task key. ``details`` are the values by which it differs from others of its ``kind``."""

    key: str
    kind: str
    difficulty: str
    details: Mapping[str, Any]
    requests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One instance of a spec. ``goal`` is for the checker alone; ``state`` is the database before the run."""

    world: str
    key: str
    kind: str
    difficulty: str
    text: str
    facts: Facts
    goal: Mapping[str, Any]
    state: State


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the final state says, and why."""

    success: bool
    reason: str


Builder = Callable[[Spec, random.Random, Voice], Task]
Script = Callable[[Desk, Mind, Facts], None]
Checker = Callable[[Task, State], Verdict]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of task: how an instance is made, how an agent goes about it, when it is done."""

    build: Builder
    script: Script
    check: Checker


@dataclass(frozen=True, slots=True)
class World:
    """One tool world.

    ``component`` and one of ``releases`` (current, next) are what an episode's ``environment`` names. ``slip_rates``
    say how often a task of some difficulty is spoilt whatever the agent decides.
    """

    name: str
    component: str
    releases: tuple[str, str]
    voice: Voice
    tools: Mapping[str, Tool]
    specs: tuple[Spec, ...]
    kinds: Mapping[str, Kind]
    habits: tuple[PlantedHabit, ...]
    asides: tuple[Aside, ...]
    user_tools: frozenset[str] = field(default_factory=frozenset)
    slip_rates: Mapping[str, float] = field(default_factory=lambda: SLIP_RATES)

    @property
    def offered(self) -> list[str]:
        """Names of the tools an agent may call."""
        return [name for name in self.tools if name not in self.user_tools]

    @property
    def choices(self) -> tuple[Choice, ...]:
        return (*(habit.choice for habit in self.habits), *(aside.choice for aside in self.asides))

    def spec(self, key: str) -> Spec:
        """The spec of this task key.

        Raises:
            KeyError: the world has no such task.
        """
        for spec in self.specs:
            if spec.key == key:
                return spec
        raise KeyError(f"world {self.name!r} has no task {key!r}")

    def task(self, key: str, rng: random.Random) -> Task:
        """A new instance of this task. The same ``rng`` state gives the same instance."""
        spec = self.spec(key)
        return self.kinds[spec.kind].build(spec, rng, self.voice)

    def check(self, task: Task, final: State) -> Verdict:
        """Judge the final state. What the agent said is not an argument."""
        return self.kinds[task.kind].check(task, final)


def keys_of(specs: tuple[Spec, ...], *kinds: str, without: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Task keys of these kinds."""
    return tuple(spec.key for spec in specs if spec.kind in kinds and spec.key not in without)


def verdict(*failures: tuple[bool, str]) -> Verdict:
    """Success unless a condition holds; the first that holds is the reason."""
    for failed, reason in failures:
        if failed:
            return Verdict(False, reason)
    return Verdict(True, "final state as asked")
