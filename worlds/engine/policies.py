"""The scripted agents: who they are, how often they fall into a habit, how often they slip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Policy:
    """A scripted agent.

    ``habit_rate`` is the chance of taking a bad choice, ``favourites`` the same for single choices;
    ``slip`` scales the chance of acting on the wrong record; ``obeys`` is the chance of following a rule it read.
    """

    name: str
    version: str
    habit_rate: float
    favourites: Mapping[str, float] = field(default_factory=dict)
    slip: float = 1.0
    reads_memory: bool = False
    obeys: float = 0.95

    def rate(self, choice: str) -> float:
        return self.favourites.get(choice, self.habit_rate)


_BAD_HABITS = {"express-shipping": 0.8, "cancel-on-request": 0.8, "factory-reset": 0.8}

POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy("careful", "2.3.0", habit_rate=0.3),
        Policy("hasty", "1.4.1", habit_rate=0.6, slip=4.0),
        Policy("stubborn", "1.9.2", habit_rate=0.45, favourites=_BAD_HABITS),
        Policy("reader", "3.0.0", habit_rate=0.5, reads_memory=True),
    )
}


def policies(names: tuple[str, ...] | None) -> tuple[Policy, ...]:
    """The named agents, or all.

    Raises:
        ValueError: a name that no agent has.
    """
    unknown = [name for name in names or () if name not in POLICIES]
    if unknown or names == ():
        raise ValueError(f"unknown agents {unknown}: choose from {', '.join(POLICIES)}")
    return tuple(POLICIES[name] for name in names or POLICIES)
