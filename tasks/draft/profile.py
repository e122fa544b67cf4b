"""What a cluster looks like from outside, and how alike two of them are: the bandit's idea of a similar case."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PARTS: Mapping[str, float] = {"terms": 0.4, "tools": 0.3, "outcomes": 0.2, "size": 0.1}
"""How much each part of a profile counts for likeness; they add up to 1."""


@dataclass(frozen=True)
class Profile:
    """Distinctive terms, tools used, and runs by outcome (``other``: partial, unknown or self-reported)."""

    terms: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    successes: int = 0
    failures: int = 0
    other: int = 0

    @property
    def size(self) -> int:
        """All runs of the cluster that count."""
        return self.successes + self.failures + self.other

    def as_dict(self) -> dict[str, Any]:
        """As JSON, in a fixed order."""
        return {
            "terms": sorted(self.terms),
            "tools": sorted(self.tools),
            "successes": self.successes,
            "failures": self.failures,
            "other": self.other,
        }


def read_profile(stored: Mapping[str, Any]) -> Profile:
    """The profile of a stored dict; what is missing counts as nothing."""
    return Profile(
        frozenset(map(str, stored.get("terms") or ())),
        frozenset(map(str, stored.get("tools") or ())),
        int(stored.get("successes") or 0),
        int(stored.get("failures") or 0),
        int(stored.get("other") or 0),
    )


def likeness(one: Profile, two: Profile) -> float:
    """From 0 to 1, symmetric; 1 for a profile and itself.

    Terms and tools by the cosine of their sets, outcomes by the Bhattacharyya coefficient of their shares (the cosine
    of the shares' roots), size by the ratio of logarithms. A part that neither profile has is left out.
    """
    weighted, weight = 0.0, 0.0
    for part, value in (
        ("terms", _cosine(one.terms, two.terms)),
        ("tools", _cosine(one.tools, two.tools)),
        ("outcomes", _shares_alike(one, two)),
        ("size", _sizes_alike(one.size, two.size)),
    ):
        if value is not None:
            weighted, weight = weighted + PARTS[part] * value, weight + PARTS[part]
    return min(weighted / weight, 1.0) if weight else 1.0


def _cosine(one: frozenset[str], two: frozenset[str]) -> float | None:
    if not one and not two:
        return None
    return len(one & two) / math.sqrt(len(one) * len(two)) if one and two else 0.0


def _shares_alike(one: Profile, two: Profile) -> float | None:
    if not one.size and not two.size:
        return None
    if not one.size or not two.size:
        return 0.0
    both = one.successes * two.successes, one.failures * two.failures, one.other * two.other
    return sum(map(math.sqrt, both)) / math.sqrt(one.size * two.size)


def _sizes_alike(one: int, two: int) -> float | None:
    if not one and not two:
        return None
    return math.log1p(min(one, two)) / math.log1p(max(one, two))
