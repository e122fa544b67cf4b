"""One finding, not five wordings of it.

Two features that are nearly the same column are one finding: the simplest of those that are about as strong stays. So
is a feature whose association is gone once runs are compared only with runs alike in the stronger one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.contrast.cmh import Effects, count, effects
from tasks.contrast.features import Bools, rank
from tasks.contrast.sample import Sample

SAME = 0.9
ABOUT_AS_STRONG = 0.7
GONE_P = 0.05


def representatives(sample: Sample, features: Sequence[int], seen: Effects, units: Bools | None = None) -> list[int]:
    """Those of ``features`` that say something of their own, strongest first."""
    return [kept for kept, _ in wordings(sample, features, seen, units)]


def wordings(
    sample: Sample, features: Sequence[int], seen: Effects, units: Bools | None = None
) -> list[tuple[int, list[int]]]:
    """Features grouped into findings: (the one that is kept, the other wordings of it), strongest first."""
    rows = np.ones(len(sample.success), bool) if units is None else units
    waiting = sorted(features, key=lambda f: (seen.p[f], rank(sample.columns.predicates[f])))
    found: list[tuple[int, list[int]]] = []
    while waiting:
        strongest = waiting[0]
        alike = [f for f in waiting if f == strongest or _alike(sample, strongest, f, rows)]
        enough = [f for f in alike if _strength(seen, f) >= ABOUT_AS_STRONG * _strength(seen, strongest)]
        kept = min(enough, key=lambda f: rank(sample.columns.predicates[f]))
        others = [f for f in waiting if f != kept and (f in alike or _explained(sample, f, kept, seen, rows))]
        found.append((kept, others))
        waiting = [f for f in waiting if f != kept and f not in others]
    return found


def is_wording(sample: Sample, feature: int, of: int, seen: Effects, units: Bools | None = None) -> bool:
    """Whether ``feature`` says nothing beyond ``of``."""
    rows = np.ones(len(sample.success), bool) if units is None else units
    return _alike(sample, of, feature, rows) or _explained(sample, feature, of, seen, rows)


def _strength(seen: Effects, feature: int) -> float:
    return float(-np.log10(max(seen.p[feature], 1e-300)))


def _alike(sample: Sample, one: int, two: int, rows: Bools) -> bool:
    """Whether two columns nearly agree, or nearly oppose, over the units both speak of and that differ."""
    both = rows & sample.columns.mask[:, one] & sample.columns.mask[:, two]
    spoken = rows & (sample.columns.mask[:, one] | sample.columns.mask[:, two])
    if both.sum() < SAME * spoken.sum():
        return False
    left, right = sample.columns.values[both, one].astype(float), sample.columns.values[both, two].astype(float)
    if left.std() == 0 or right.std() == 0:
        return False
    return bool(abs(np.corrcoef(left, right)[0, 1]) >= SAME)


def _explained(sample: Sample, feature: int, by: int, seen: Effects, rows: Bools) -> bool:
    """Whether a feature's association is gone among runs alike in task and in ``by``."""
    state = np.where(sample.columns.mask[:, by], sample.columns.values[:, by].astype(np.int64), 2)
    finer = (sample.stratum * 3 + state)[rows]
    column = sample.columns.take([feature])
    some = type(column)(column.predicates, column.values[rows], column.mask[rows])
    rest = effects(count(some, sample.success[rows], finer, 3 * len(sample.strata)))
    before = abs(seen.excess[feature]) / max(seen.variance[feature], 1e-9)
    after = abs(rest.excess[0]) / max(rest.variance[0], 1e-9) if rest.variance[0] > 0 else 0.0
    same_side = rest.excess[0] * seen.excess[feature] > 0
    return bool(
        rest.p[0] > GONE_P and (after < before / 2 or not same_side or rest.variance[0] < 0.5 * seen.variance[feature])
    )
