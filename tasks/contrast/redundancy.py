"""One finding, not five wordings of it.

Two features that are nearly the same column are one finding: the simplest of those that are about as strong stays. So
is a feature whose association is gone once runs are compared only with runs alike in the stronger one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tasks.contrast.cmh import Effects, count, effects
from tasks.contrast.features import Bools, rank
from tasks.contrast.sample import Sample

SAME = 0.9
ABOUT_AS_STRONG = 0.7
GONE_P = 0.05
MOST_UNITS = 6_000

Worded = tuple[int, list[int]]
"""A finding's feature, and the features that only reword it."""


def representatives(sample: Sample, features: Sequence[int], seen: Effects, units: Bools | None = None) -> list[int]:
    """Those of ``features`` that say something of their own, strongest first."""
    return [kept for kept, _ in wordings(sample, features, seen, units)]


def wordings(sample: Sample, features: Sequence[int], seen: Effects, units: Bools | None = None) -> list[Worded]:
    """Features grouped into findings: (the one that is kept, the other wordings of it), strongest first."""
    waiting = sorted(features, key=lambda f: (seen.p[f], rank(sample.columns.predicates[f]), f))
    if not waiting:
        return []
    likeness = _Likeness(sample, waiting, units)
    found: list[Worded] = []
    while waiting:
        strongest = waiting[0]
        alike = {f for f in waiting if f == strongest or likeness.same(strongest, f)}
        enough = [f for f in alike if _strength(seen, f) >= ABOUT_AS_STRONG * _strength(seen, strongest)]
        kept = min(enough, key=lambda f: (rank(sample.columns.predicates[f]), f))
        left = [f for f in waiting if f != kept]
        explained = likeness.explained([f for f in left if f not in alike], kept)
        others = [f for f in left if f in alike or f in explained]
        found.append((kept, others))
        waiting = [f for f in left if f not in others]
    return found


def under(
    sample: Sample, found: Sequence[Worded], features: Sequence[int], seen: Effects
) -> tuple[list[Worded], list[int]]:
    """Put features that only reword one of the findings under it; returns the findings so, and the features left."""
    left = sorted(features, key=lambda f: (seen.p[f], f))
    if not left or not found:
        return list(found), left
    likeness = _Likeness(sample, [*(kept for kept, _ in found), *left], None)
    grown: list[Worded] = []
    for kept, others in found:
        alike = {f for f in left if likeness.same(kept, f)}
        folded = alike | likeness.explained([f for f in left if f not in alike], kept)
        grown.append((kept, [*others, *(f for f in left if f in folded)]))
        left = [f for f in left if f not in folded]
    return grown, left


def _strength(seen: Effects, feature: int) -> float:
    return float(-np.log10(max(seen.p[feature], 1e-300)))


class _Likeness:
    """How some columns relate, over ``units`` or all: which are nearly one, and which one explains another away.

    Looked at on at most ``MOST_UNITS`` units, every so many-th by stratum: whether two columns say the same shows on
    6,000 runs as well as on 100,000.
    """

    def __init__(self, sample: Sample, features: Sequence[int], units: Bools | None) -> None:
        self._place = {f: place for place, f in enumerate(features)}
        rows = np.arange(len(sample.success)) if units is None else np.flatnonzero(units)
        rows = rows[np.argsort(sample.stratum[rows], kind="stable")][:: max(1, -(-len(rows) // MOST_UNITS))]
        self._columns = sample.columns.take(list(self._place))
        values, mask = self._columns.values[rows], self._columns.mask[rows]
        self._columns = type(self._columns)(self._columns.predicates, values & mask, mask)
        self._success, self._stratum, self._strata = sample.success[rows], sample.stratum[rows], len(sample.strata)
        self._same = _nearly_equal(self._columns.values.astype(np.float32), mask.astype(np.float32))
        self._seen = effects(count(self._columns, self._success, self._stratum, self._strata))

    def same(self, one: int, two: int) -> bool:
        """Whether two of the features nearly agree, or nearly oppose, over the units both speak of."""
        return bool(self._same[self._place[one], self._place[two]])

    def explained(self, features: Sequence[int], by: int) -> set[int]:
        """Those of ``features`` whose association is gone among runs alike in task and in ``by``."""
        if not features:
            return set()
        chosen, one = [self._place[f] for f in features], self._place[by]
        state = np.where(self._columns.mask[:, one], self._columns.values[:, one].astype(np.int64), 2)
        finer = self._stratum * 3 + state
        rest = effects(count(self._columns.take(chosen), self._success, finer, 3 * self._strata))
        excess, variance = self._seen.excess[chosen], np.maximum(self._seen.variance[chosen], 1e-9)
        before = np.abs(excess) / variance
        after = np.where(rest.variance > 0, np.abs(rest.excess) / np.maximum(rest.variance, 1e-9), 0.0)
        turned, thinned = rest.excess * excess <= 0, rest.variance < 0.5 * variance
        gone = (rest.p > GONE_P) & ((after < before / 2) | turned | thinned)
        return {f for f, is_gone in zip(features, gone.tolist(), strict=True) if is_gone}


def _nearly_equal(values: npt.NDArray[np.float32], mask: npt.NDArray[np.float32]) -> Bools:
    """Shape (features, features). Sums of 0 and 1 are exact in single precision up to 16 million units."""
    both, together = (mask.T @ mask).astype(np.float64), (values.T @ values).astype(np.float64)
    mine = (values.T @ mask).astype(np.float64)  # [i, j]: how often i holds where both speak.
    theirs = mine.T
    own = np.diag(both)
    spoken = own[:, None] + own[None, :] - both
    spread = np.sqrt(np.maximum(mine * (both - mine), 0) * np.maximum(theirs * (both - theirs), 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.where(spread > 0, (both * together - mine * theirs) / spread, 0.0)
    same: Bools = (both >= SAME * spoken) & (np.abs(correlation) >= SAME - 1e-9)
    return same
