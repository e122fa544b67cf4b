"""What one fold suggests testing on the other: features, the side expected, and the tasks where the effect lies.

Nothing here decides what is true; whatever is suggested is tested on groups that had no part in suggesting it. A
suggestion is about all tasks, or about those in which its effect is seen: a habit that only harms in few tasks, or at
one release, is else drowned by the many in which it does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from tasks.contrast.cells import Cells, about_releases, by_release, by_task
from tasks.contrast.cmh import Effects, Floats, Tables, effects, moments
from tasks.contrast.fdr import q_values
from tasks.contrast.features import Bools
from tasks.contrast.redundancy import representatives
from tasks.contrast.sample import Sample

SCREEN_P = 0.05
AT_LEAST, AT_MOST = 5, 40
FAIR_POWER, MIN_POWER = 0.3, 0.1
"""A look spends alpha for good: it is made where one test at least has a fair chance. What has little goes along then,
for it costs little under Holm, but starts no look of its own."""

SHRINK = 1.0
"""Prior information on a log odds ratio of zero, in the units of the test's variance: damps the winner's curse."""

SEEN_Z = (1.0, 1.5, 2.0)
"""A cell's own z from which the effect is taken to lie in it; for each feature, the one that promises most."""


@dataclass(frozen=True)
class Fold:
    """What may be tested on: ``units``, but for a feature not those it was ``tested`` on before (units, features)."""

    units: Bools
    tested: Bools


@dataclass(frozen=True)
class Plan:
    """Features with the side expected, in order of promise; ``where`` (cells, features) is what to test each on."""

    features: tuple[int, ...]
    sides: tuple[int, ...]
    cells: Cells
    where: Bools


@dataclass(frozen=True)
class _Seen:
    """What the suggesting units show: one entry a feature; ``where`` (cells, features) is where the effect lies."""

    effects: Effects
    where: Bools
    promise: Floats


def suggest_everywhere(sample: Sample, fold: Fold, alpha: float, q_level: float, asked: Bools) -> Plan:
    """What the units outside a fold suggest of features as a whole, as far as a test has a fair chance.

    Args:
        alpha: the level that all tests of the plan share.
        asked: by feature, whether it may be suggested.
    """
    cells = by_task(sample)
    seen = _everywhere(sample, fold, cells, cells.tables(sample, ~fold.units))
    return _plan(sample, fold, alpha, q_level, asked, seen, cells)


def suggest_locally(sample: Sample, fold: Fold, alpha: float, q_level: float, whole: Bools) -> Plan:
    """The same, of features in those tasks, or tasks at a release, where their effect is seen.

    Args:
        whole: by feature, whether it may also be suggested as a whole; it is, where that promises more.
    """
    cells = by_release(sample, ~fold.units)
    tables = cells.tables(sample, ~fold.units)
    everywhere = _everywhere(sample, fold, cells, tables)
    locally = _locally(sample, fold, cells, tables)
    asked = whole | (locally.promise > everywhere.promise)
    return _plan(sample, fold, alpha, q_level, asked, _better(locally, everywhere), cells)


def _plan(sample: Sample, fold: Fold, alpha: float, q_level: float, asked: Bools, seen: _Seen, cells: Cells) -> Plan:
    allowed = asked & (seen.effects.variance > 0) & seen.where.any(0)
    chosen = _suggested(sample, ~fold.units, seen.effects, allowed, q_level)
    chosen = sorted(chosen, key=lambda f: (-seen.promise[f], f))
    levels = alpha * shares(len(chosen))
    power = [stats.norm.sf(stats.norm.isf(level) - seen.promise[f]) for f, level in zip(chosen, levels, strict=True)]
    if max(power, default=0.0) < FAIR_POWER:
        chosen = []
    chosen = [f for f, chance in zip(chosen, power, strict=False) if chance >= MIN_POWER]
    sides = tuple(-1 if seen.effects.excess[f] < 0 else 1 for f in chosen)
    return Plan(tuple(chosen), sides, cells, seen.where[:, chosen])


def shares(many: int) -> Floats:
    """How tests in order of promise share their level: the r-th has a part in proportion to 1/r. They add up to one."""
    parts = 1 / np.arange(1, many + 1)
    return np.asarray(parts / parts.sum() if many else parts)


def _suggested(sample: Sample, units: Bools, seen: Effects, allowed: Bools, q_level: float) -> list[int]:
    testable = np.flatnonzero(allowed)
    q = np.ones(len(seen.p))
    q[testable] = q_values(seen.p[testable])
    order = sorted((int(f) for f in testable if seen.p[f] <= SCREEN_P), key=lambda f: (seen.p[f], f))
    order = [f for place, f in enumerate(order) if place < 4 * AT_LEAST or q[f] <= q_level][: 4 * AT_MOST]
    kept = representatives(sample, order, seen, units)
    return [f for place, f in enumerate(kept) if place < AT_LEAST or q[f] <= q_level][:AT_MOST]


def _everywhere(sample: Sample, fold: Fold, cells: Cells, tables: Tables) -> _Seen:
    seen = effects(tables)
    where = np.ones(tables.informative.shape, dtype=bool)
    return _Seen(seen, where, _promise(sample, fold, cells, np.abs(seen.excess), seen.variance, where))


def _locally(sample: Sample, fold: Fold, cells: Cells, tables: Tables) -> _Seen:
    """The effect of each feature in the cells that show it, on the side that shows more.

    Whether there is any is judged by the sum of squares of the cells' z on one side; a Gamma law with the mean and
    variance of a sum of half squares stands in for its law (K/2 and 5K/4 for K cells).
    """
    excess, variance = moments(tables)
    z = excess / np.sqrt(np.maximum(variance, 1e-9))
    spoken = np.maximum((variance > 0).sum(0), 1)
    tail = {side: stats.gamma.sf((np.maximum(side * z, 0) ** 2).sum(0), spoken / 5, scale=2.5) for side in (-1, 1)}
    side = np.where(tail[-1] < tail[1], -1.0, 1.0)
    p = np.minimum(1.0, 2 * np.minimum(tail[-1], tail[1]))
    best: _Seen | None = None
    for least in SEEN_Z:
        where = side * z >= least
        shown, information = (excess * where).sum(0), (variance * where).sum(0)
        # The mean of a normal cut off below ``least`` is what choosing such cells adds where there is nothing.
        luck = float(stats.norm.pdf(least)) * np.sqrt(variance).sum(0)
        nothing = np.zeros(len(p))
        found = Effects(nothing, nothing, nothing, p, where.sum(0), information, shown)
        where = cells.spread(where, about_releases(sample.columns))
        damped = np.maximum(np.abs(shown) - luck, 0.0)
        one = _Seen(found, where, _promise(sample, fold, cells, damped, information, where))
        best = one if best is None else _better(one, best)
    assert best is not None
    return best


def _better(one: _Seen, other: _Seen) -> _Seen:
    """By feature, the one that promises more; ``other`` where both promise the same."""
    worth = one.promise > other.promise
    mine, theirs = one.effects, other.effects
    mixed = replace(
        theirs,
        p=np.where(worth, mine.p, theirs.p),
        excess=np.where(worth, mine.excess, theirs.excess),
        variance=np.where(worth, mine.variance, theirs.variance),
    )
    return _Seen(mixed, np.where(worth, one.where, other.where), np.where(worth, one.promise, other.promise))


def _promise(sample: Sample, fold: Fold, cells: Cells, excess: Floats, variance: Floats, where: Bools) -> Floats:
    """How far from chance each test is expected to fall: the effect seen, shrunk, times the information to come.

    Of the testing fold only the outcomes enter; how common a feature is there is taken from the other fold.
    """
    to_come = _outcome_information(sample, fold.units, cells) @ where
    for f in np.flatnonzero(fold.tested.any(0)).tolist():
        to_come[f] = _outcome_information(sample, fold.units & ~fold.tested[:, f], cells) @ where[:, f]
    so_far = np.maximum(_outcome_information(sample, ~fold.units, cells) @ where, 1e-9)
    promise: Floats = excess / (variance + SHRINK) * np.sqrt(to_come * variance / so_far)
    return promise


def _outcome_information(sample: Sample, units: Bools, cells: Cells) -> Floats:
    """By cell, how much its outcomes vary."""
    won = np.bincount(cells.of[units & sample.success], minlength=cells.many).astype(np.float64)
    n = np.bincount(cells.of[units], minlength=cells.many).astype(np.float64)
    information: Floats = won * (n - won) / np.maximum(n - 1, 1)
    return information
