"""A claim against its own counter-episodes: the tasks in which runs that did as it says speak against it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from storage.ids import content_hash

MOST = 3
LEAST_AGAINST = 3


@dataclass(frozen=True)
class Against:
    """One task that speaks against a claim: runs that show what it speaks of, for and against."""

    task: str
    counter: int
    support: int

    @property
    def kind(self) -> str:
        """Without a single run for it, the task contradicts the claim; else the two overlap."""
        return "overlap" if self.support else "contradiction"

    def ref(self, family: str) -> str:
        """The task's counter-episodes as one side of a conflict."""
        return f"runs:{content_hash([family, self.task], 16)}/counter"


def tasks_against(strata: Iterable[Mapping[str, Any]], direction: str, most: int = MOST) -> list[Against]:
    """Tasks where counter-evidence dominates, worst first: more runs against than for, and the effect turned round.

    Args:
        strata: the rows of a finding's table: ``stratum`` and the four counts.
        direction: ``do`` or ``avoid``.
    """
    found = []
    for row in strata:
        s1, s0, f1, f0 = (
            int(row.get(name) or 0) for name in ("success_with", "success_without", "failure_with", "failure_without")
        )
        counter, support = (s1, f1) if direction == "avoid" else (f1, s1)
        turned = s1 * f0 > f1 * s0 if direction == "avoid" else s1 * f0 < f1 * s0
        if counter >= LEAST_AGAINST and counter > support and turned:
            found.append(Against(str(row.get("stratum") or ""), counter, support))
    return sorted(found, key=lambda one: (one.support - one.counter, one.task))[:most]
