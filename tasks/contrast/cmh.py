"""The stratified test: Cochran-Mantel-Haenszel over many features at once, and the exact law behind it.

A table of stratum k and feature f is (a, b, c, d) = (success with, success without, failure with, failure without).
Under no association within strata, ``a`` is hypergeometric given the margins, and the sum over strata is the
convolution of those laws.

Sources: Mantel and Haenszel (1959) for test and odds ratio; Robins, Breslow and Greenland (1986) for the variance of
its logarithm; Lancaster (1961) for the mid-p.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import optimize, special, stats

from tasks.contrast.features import Bools, Columns

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BLOCK = 4_000_000
"""Cells of a matrix of units and features that are summed at a time."""

EXACT_BELOW = 30.0
"""Exact p where the variance of the summed count is lower; above, the normal law is within rounding of it."""

WORTH_EXACT = 0.2
"""A normal p above this leads to no finding, whatever the exact one would be."""


@dataclass(frozen=True)
class Tables:
    """Counts per stratum and feature, each of shape (strata, features)."""

    success_with: Ints
    success_without: Ints
    failure_with: Ints
    failure_without: Ints

    @property
    def informative(self) -> Bools:
        """Strata that say something of a feature: both outcomes seen, and runs with and without it."""
        with_, without = self.success_with + self.failure_with, self.success_without + self.failure_without
        success, failure = self.success_with + self.success_without, self.failure_with + self.failure_without
        return (with_ > 0) & (without > 0) & (success > 0) & (failure > 0)

    def strata(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Tables:
        """Some of the strata."""
        return Tables(*(part[chosen] for part in self.parts()))

    def feature(self, index: int) -> Tables:
        """One feature, kept two-dimensional."""
        return Tables(*(part[:, index : index + 1] for part in self.parts()))

    def parts(self) -> tuple[Ints, Ints, Ints, Ints]:
        """a, b, c, d."""
        return self.success_with, self.success_without, self.failure_with, self.failure_without


def count(columns: Columns, success: Bools, stratum: Ints, n_strata: int) -> Tables:
    """Tables from units: ``success`` and ``stratum`` (index below ``n_strata``) have one entry a unit.

    Units are sorted by stratum and outcome once; each of those cells is then a sum of neighbouring rows. Columns are
    taken in blocks, so that no whole matrix is ever widened to integers.
    """
    features = len(columns.predicates)
    cell = stratum * 2 + success
    order = np.argsort(cell, kind="stable")
    filled, starts = np.unique(cell[order], return_index=True)
    on = np.zeros((2 * n_strata, features), np.int64)
    off = np.zeros((2 * n_strata, features), np.int64)
    width = max(1, BLOCK // max(1, len(order)))
    for start in range(0, features if len(order) else 0, width):
        block = slice(start, start + width)
        spoken = columns.mask[:, block][order]
        has = columns.values[:, block][order] & spoken
        on[filled, block] = np.add.reduceat(has, starts, axis=0, dtype=np.int32)
        off[filled, block] = np.add.reduceat(spoken, starts, axis=0, dtype=np.int32)
    off -= on
    return Tables(on[1::2], off[1::2], on[0::2], off[0::2])


@dataclass(frozen=True)
class Effects:
    """One entry a feature. ``odds_ratio`` is of success with against without; infinite or zero where a cell is empty.

    ``low`` and ``high`` bound the 95 % interval, open where a cell is empty (``odds_ratios`` gives the exact bound).
    ``p`` is two-sided, 1 where nothing is informative; where it matters (few counts, and under ``WORTH_EXACT``) it is
    the exact mid-p, else the normal law's.
    """

    odds_ratio: Floats
    low: Floats
    high: Floats
    p: Floats
    strata: Ints
    variance: Floats
    excess: Floats


def effects(tables: Tables) -> Effects:
    """Test and estimate every feature."""
    excess, variance = _sums(tables)
    ratio, low, high = _rbg(*(part.astype(np.float64) for part in tables.parts()))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(variance > 0, stats.chi2.sf(excess**2 / variance, 1), 1.0)
    for f in np.flatnonzero((variance > 0) & (variance < EXACT_BELOW) & (p < WORTH_EXACT)):
        p[f] = exact_p(tables.feature(int(f)))
    closed = np.isfinite(ratio) & (ratio > 0)
    low, high = np.where(closed, low, 0.0), np.where(closed, high, np.inf)
    return Effects(ratio, low, high, p, tables.informative.sum(0), variance, excess)


def moments(tables: Tables) -> tuple[Floats, Floats]:
    """By stratum and feature, the excess of ``success_with`` over its expectation, and its variance."""
    a, b, c, d = (part.astype(np.float64) for part in tables.parts())
    n = a + b + c + d
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.where(n > 0, (a + c) * (a + b) / n, 0.0)
        variance = np.where(n > 1, (a + c) * (b + d) * (a + b) * (c + d) / (n**2 * (n - 1)), 0.0)
    return a - expected, variance


def _sums(tables: Tables) -> tuple[Floats, Floats]:
    """``moments`` over all strata."""
    excess, variance = moments(tables)
    return excess.sum(0), variance.sum(0)


def odds_ratios(tables: Tables) -> tuple[Floats, Floats, Floats]:
    """Mantel-Haenszel odds ratio and its Robins-Breslow-Greenland 95 % interval, each one entry a feature.

    Where a cell sum is zero the ratio is 0 or infinite and its variance undefined: the open side is then the exact
    conditional bound. A feature with no informative stratum has ratio nan and interval 0 to infinity.
    """
    ratio, low, high = _rbg(*(part.astype(np.float64) for part in tables.parts()))
    for f in np.flatnonzero(np.isnan(ratio) | np.isinf(ratio) | (ratio == 0)):
        low[f], high[f] = 0.0, np.inf
        if ratio[f] == 0:
            high[f] = np.exp(-_tilt_to(0.025, tables.feature(int(f)), top=False))
        elif np.isinf(ratio[f]):
            low[f] = np.exp(_tilt_to(0.025, tables.feature(int(f)), top=True))
    return ratio, low, high


def _tilt_to(level: float, tables: Tables, *, top: bool) -> float:
    """Log odds ratio (of the inverse, at the bottom) at which the extreme count seen has probability ``level``."""
    law, _, _ = exact_law(tables)
    law = law if top else law[::-1]
    steps = np.arange(len(law), dtype=np.float64)
    with np.errstate(divide="ignore"):
        logs = np.log(law)

    def excess(tilt: float) -> float:
        return float(logs[-1] + tilt * steps[-1] - special.logsumexp(logs + tilt * steps)) - float(np.log(level))

    return float(optimize.brentq(excess, -60.0, 60.0))


def _rbg(a: Floats, b: Floats, c: Floats, d: Floats) -> tuple[Floats, Floats, Floats]:
    n = np.maximum(a + b + c + d, 1e-300)
    r, s, p, q = a * d / n, b * c / n, (a + d) / n, (b + c) / n
    r_sum, s_sum = r.sum(0), s.sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(s_sum > 0, r_sum / s_sum, np.where(r_sum > 0, np.inf, np.nan))
        variance = (
            (p * r).sum(0) / (2 * r_sum**2)
            + (p * s + q * r).sum(0) / (2 * r_sum * s_sum)
            + (q * s).sum(0) / (2 * s_sum**2)
        )
        width = stats.norm.ppf(0.975) * np.sqrt(variance)
        return ratio, np.exp(np.log(ratio) - width), np.exp(np.log(ratio) + width)


def exact_law(tables: Tables) -> tuple[Floats, int, int]:
    """Law of the summed ``success_with`` of one feature given all margins: (probabilities, least value, observed)."""
    law, least = np.ones(1), 0
    for a, b, c, d in zip(*(part[:, 0].tolist() for part in tables.parts()), strict=True):
        n, with_, success = a + b + c + d, a + c, a + b
        low, high = max(0, with_ + success - n), min(with_, success)
        least += low
        if high > low:
            law = np.convolve(law, _hypergeometric(n, with_, success))
    return law / law.sum(), least, int(tables.success_with.sum())


@lru_cache(maxsize=65536)
def _hypergeometric(n: int, with_: int, success: int) -> Floats:
    """Law of the successes among ``with_`` of ``n`` units of which ``success`` succeeded, over its whole support."""
    a = np.arange(max(0, with_ + success - n), min(with_, success) + 1)
    cells = (a, with_ - a, success - a, n - with_ - success + a)
    logs = -sum(special.gammaln(cell + 1.0) for cell in cells)
    law: Floats = np.exp(logs - logs.max())
    return law / law.sum()


def exact_p(tables: Tables, *, side: int = 0, mid: bool = True) -> float:
    """Exact conditional p of one feature.

    Args:
        side: -1 for fewer successes with it than chance gives, 1 for more, 0 for either (twice the smaller tail).
        mid: count half of the observed value's probability. Without, the test never errs above its level.
    """
    law, least, observed = exact_law(tables)
    at = law[observed - least]
    below, above = float(law[: observed - least].sum()), float(law[observed - least + 1 :].sum())
    share = at / 2 if mid else at
    if side:
        return min(1.0, float((below if side < 0 else above) + share))
    return min(1.0, 2 * float(min(below, above) + share))


def one_sided_p(tables: Tables, side: int) -> float:
    """p of one feature in one direction, for a test that must keep its level: exact, normal where counts are large."""
    excess, variance = _sums(tables)
    if variance[0] <= 0:
        return 1.0
    if variance[0] < 10 * EXACT_BELOW:
        return exact_p(tables, side=side, mid=False)
    # Continuity correction keeps the normal tail on the safe side.
    return float(stats.norm.sf((side * excess[0] - 0.5) / np.sqrt(variance[0])))
