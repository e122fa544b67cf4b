"""In which order comparable rules come, and which say what another one says already. Pure.

Maximal marginal relevance (Carbonell and Goldstein, 1998): the next rule is the one with the highest value, which is
its score as a part of the best one, less ``PENALTY`` times its likeness to the likest rule taken so far. Rules whose
value is within ``BAND`` of the highest are **comparable**: among them the better kind of evidence comes first
(confirmed on groups that the rule was not found on, then measured, then none), then the higher value, then the id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from read_api.ranking import words

BAND = 0.1
PENALTY = 0.3
SAME = 0.9
SHINGLE = 3
_FIGURE = re.compile(r"\d+")


@dataclass(frozen=True)
class Ranked:
    """One that could be taken."""

    at: int
    id: str
    score: float
    kind: int
    text: str


@dataclass(frozen=True)
class Said:
    """A text as likeness sees it."""

    folded: str
    shingles: frozenset[int]
    figures: tuple[str, ...]


def spread(pool: Sequence[Ranked], k: int) -> tuple[list[int], list[tuple[int, int]]]:
    """At most ``k`` to take, in order; and those left out as (it, the one that says the same).

    Two texts say the same if they hold the same figures and at least nine of ten runs of three words, or are the same
    but for case and spacing.
    """
    said = {one.at: said_of(one.text) for one in pool}
    best = max((one.score for one in pool), default=0.0) or 1.0
    likest = dict.fromkeys(said, 0.0)
    waiting = {one.at: one for one in pool}
    taken: list[int] = []
    same: list[tuple[int, int]] = []
    while waiting and len(taken) < k:
        one = _next(waiting, likest, best)
        del waiting[one.at]
        taken.append(one.at)
        for at in list(waiting):
            likeness = alike(said[one.at], said[at])
            if likeness >= SAME and said[at].figures == said[one.at].figures:
                del waiting[at]
                same.append((at, one.at))
            else:
                likest[at] = max(likest[at], likeness)
    return taken, same


def _next(waiting: Mapping[int, Ranked], likest: Mapping[int, float], best: float) -> Ranked:
    values = {at: one.score / best - PENALTY * likest[at] for at, one in waiting.items()}
    least = max(values.values()) - BAND
    comparable = [one for at, one in waiting.items() if values[at] >= least]
    return min(comparable, key=lambda one: (-one.kind, -values[one.at], one.id))


@lru_cache(maxsize=2_000)
def said_of(text: str) -> Said:
    """A text, cut up; runs of words by their hashes."""
    found = words(text)
    runs = frozenset(map(hash, zip(*(found[at:] for at in range(SHINGLE)), strict=False)))
    return Said(" ".join(found), runs, tuple(sorted(_FIGURE.findall(text))))


def alike(one: Said, other: Said) -> float:
    """From 0 to 1: the part of the runs of three words of either that both hold; 1 for the same words."""
    if one.folded and one.folded == other.folded:
        return 1.0
    both = len(one.shingles & other.shingles)
    return both / (len(one.shingles) + len(other.shingles) - both) if both else 0.0
