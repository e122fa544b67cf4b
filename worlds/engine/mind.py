"""The part of a scripted agent that decides. Every chance is drawn at the start, in a fixed order.

So two runs of the same task and seed differ only where a decision differs: with and without memory are a fair pair.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from worlds.engine.desk import Desk
from worlds.engine.habits import Aside
from worlds.engine.policies import Policy
from worlds.engine.rules import Advice

SLIP_RATES: Mapping[str, float] = {"easy": 0.02, "medium": 0.05, "hard": 0.86}
"""How often a task of this difficulty is spoilt by acting on the wrong record, whatever else the agent does."""


SLIP = "slip"
"""Name under which the slip can be forced or ruled out, beside the choices of a world."""


@dataclass(slots=True)
class Mind:
    """Decisions of one run, fixed beforehand.

    ``draws`` and ``rates`` are per choice; ``obedient`` says which pieces of advice would be followed.
    """

    desk: Desk
    draws: Mapping[str, float]
    rates: Mapping[str, float]
    obedient: Mapping[str, bool]
    slipping: bool
    forced: Mapping[str, bool] = field(default_factory=dict)
    advice: Mapping[str, Advice] = field(default_factory=dict)
    read_steps: tuple[str, ...] = ()
    asides: tuple[Aside, ...] = ()

    def takes(self, choice: str) -> bool:
        """Whether the agent takes this choice: as forced, else as a rule it follows says, else by its own rate."""
        if choice in self.forced:
            return self.forced[choice]
        advice = self.advice.get(choice)
        if advice is not None and self.obedient[choice]:
            self.desk.cite(self.read_steps[advice.rule])
            return advice.take
        return self.draws[choice] < self.rates[choice]

    def look_around(self, facts: Mapping[str, Any]) -> None:
        """Make the harmless calls this agent feels like, in the middle of the work."""
        self._make_asides(facts, last=False)

    def wind_up(self, facts: Mapping[str, Any]) -> None:
        """The same, after the work."""
        self._make_asides(facts, last=True)

    def _make_asides(self, facts: Mapping[str, Any], *, last: bool) -> None:
        for aside in self.asides:
            if aside.last == last and self.takes(aside.call):
                call = self.desk.user_call if aside.by_user else self.desk.call
                call(aside.call, **aside.arguments(facts))

    def slip(self, right: str, wrong: str) -> str:
        """The record the agent acts on."""
        return wrong if self.forced.get(SLIP, self.slipping) else right


def make_mind(
    desk: Desk, rng: random.Random, policy: Policy, slip_rate: float, rates: Mapping[str, float], clumsy: bool
) -> Mind:
    """A mind with its chances drawn. ``rates`` are the chances of every choice of the world, in a fixed order.

    ``slip_rate`` is what the task alone makes of a slip; ``clumsy``: agents differ in how often they slip (confounding
    by agent).
    """
    draws = {choice: rng.random() for choice in rates}
    obedient = {choice: rng.random() < policy.obeys for choice in rates}
    slip = min(0.95, slip_rate * policy.slip) if clumsy else slip_rate
    return Mind(desk, draws, rates, obedient, rng.random() < slip)
