"""Raw episodes that contradict each other: the same calls in the same task, and now one outcome, now the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from storage.ids import content_hash

MOST = 10
"""Kept of one namespace, the worst first: each says that something unseen decides, and a person looks at few."""

LEAST_OF_EACH = 3
LEAST_SHARE = 1 / 3
"""The rarer outcome's share from which both are about equally common."""

OUTCOMES = ("success", "failure")


class Tally(NamedTuple):
    """How many independent groups of a task did the same calls and ended so."""

    family: str
    task: str
    act: str
    outcome: str
    groups: int


@dataclass(frozen=True)
class Mixed:
    """One task and act with both outcomes."""

    family: str
    task: str
    act: str
    success: int
    failure: int

    @property
    def refs(self) -> tuple[str, str]:
        """Its two sides: all runs of the task that did this and ended so."""
        place = content_hash([self.family, self.task, self.act], 16)
        failed, succeeded = f"runs:{place}/failure", f"runs:{place}/success"
        return failed, succeeded


def mixed_outcomes(tallies: Iterable[Tally], most: int = MOST) -> list[Mixed]:
    """Where both outcomes are about equally common, the most evidence for both first; at most ``most``."""
    counts: defaultdict[tuple[str, str, str], dict[str, int]] = defaultdict(lambda: dict.fromkeys(OUTCOMES, 0))
    for tally in tallies:
        if tally.outcome in OUTCOMES:
            counts[tally.family, tally.task, tally.act][tally.outcome] += tally.groups
    found = [Mixed(*place, both["success"], both["failure"]) for place, both in counts.items()]
    kept = [one for one in found if _is_mixed(one.success, one.failure)]
    return sorted(kept, key=lambda one: (-min(one.success, one.failure), one.family, one.task, one.act))[:most]


def _is_mixed(success: int, failure: int) -> bool:
    fewer = min(success, failure)
    return fewer >= LEAST_OF_EACH and fewer / (success + failure) >= LEAST_SHARE
