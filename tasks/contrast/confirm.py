"""Confirmation on groups a finding was not found on, and what a year of it may cost.

Two-fold cross-fit: what the groups of one fold suggest is tested on the groups of the other, and the other way round.
Folds are split by task where enough tasks carry information, so that a finding must hold on tasks it was not found on;
else by group. Every group that was there at an earlier look of the family may suggest, but is never tested on again.

Error over a year. A test's p is exact given the margins (never the mid-p), Holm's step-down runs over what one fold
suggested, each of the two folds has half of the look's alpha, families of one night share the night's alpha, and the
nights that looked share the year's: 6/(pi^2 r^2) of it for the r-th. A night whose families have nothing to test costs
nothing. Whether to look is decided from the suggesting fold and, of the testing fold, from its outcomes alone: the
features of the testing fold are not seen before they are tested.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from tasks.contrast.cmh import Effects, Floats, effects, odds_ratios, one_sided_p
from tasks.contrast.fdr import q_values
from tasks.contrast.features import Bools
from tasks.contrast.redundancy import representatives
from tasks.contrast.sample import Sample

SCREEN_P = 0.05
AT_LEAST, AT_MOST = 5, 40
MIN_POWER = 0.1
SHRINK = 1.0
"""Prior information on a log odds ratio of zero, in the units of the test's variance: damps the winner's curse."""


@dataclass(frozen=True)
class Trial:
    """One test of one feature (an index into the sample's columns) on one fold."""

    feature: int
    fold: int
    side: int
    p_value: float
    alpha: float
    confirmed: bool
    odds_ratio: float
    low: float
    high: float
    strata: int
    groups: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What one fold suggests testing on the other: features with the side expected, in order of promise."""

    fold: int
    features: tuple[int, ...]
    sides: tuple[int, ...]


def night_alpha(yearly: float, earlier_nights: int) -> float:
    """The part of the year's alpha for the next night that looks; over any number of nights the sum is ``yearly``."""
    return yearly * 6 / (math.pi**2 * (earlier_nights + 1) ** 2)


def family_alpha(night: float, informative: dict[str, int], family: str) -> float:
    """A family's share of the night's alpha: by its tasks with both outcomes, which are known before any feature is."""
    total = sum(informative.values())
    return night * informative.get(family, 0) / total if total else 0.0


def folds(sample: Sample, salt: str, min_strata: int) -> Bools:
    """Fold (False or True) of every unit: by task, or by group where fewer than ``min_strata`` tasks carry information.

    A hash of the name alone, so that a task or group never changes its fold as nights add data.
    """
    if int(sample.informative_strata(sample.fresh).sum()) >= min_strata:
        return np.array([_coin(salt, name) for name in sample.strata], dtype=bool)[sample.stratum]
    return np.array([_coin(salt, name) for name in sample.groups], dtype=bool)


def _coin(salt: str, name: str) -> bool:
    return bool(hashlib.sha256(f"{salt}\x00{name}".encode("utf-8", "surrogatepass")).digest()[0] & 1)


def look(sample: Sample, *, alpha: float, salt: str, q_level: float, min_strata: int) -> list[Trial]:
    """Test on each fold what the other suggests, where the test has a fair chance; [] costs no alpha."""
    if not sample.columns.predicates or alpha <= 0 or not sample.fresh.any():
        return []
    fold = folds(sample, salt, min_strata)
    trials: list[Trial] = []
    for side_of_test in (False, True):
        testing = sample.fresh & (fold == side_of_test)
        plan = _plan(sample, testing, int(side_of_test), alpha / 2, q_level)
        trials += _test(sample, testing, plan, alpha / 2)
    return trials


def _plan(sample: Sample, testing: Bools, fold: int, alpha: float, q_level: float) -> Plan:
    """What the units outside ``testing`` suggest, as far as a test at ``alpha`` would have a fair chance."""
    seen = effects(sample.tables(~testing))
    chosen = _suggested(sample, ~testing, seen, q_level)
    promise = {f: _expected_z(sample, testing, seen, f) for f in chosen}
    chosen = sorted(chosen, key=lambda f: (-promise[f], f))
    power = [stats.norm.sf(stats.norm.isf(alpha / (rank + 1)) - promise[f]) for rank, f in enumerate(chosen)]
    chosen = [f for f, chance in zip(chosen, power, strict=True) if chance >= MIN_POWER]
    return Plan(fold, tuple(chosen), tuple(-1 if seen.excess[f] < 0 else 1 for f in chosen))


def _suggested(sample: Sample, units: Bools, seen: Effects, q_level: float) -> list[int]:
    testable = np.flatnonzero(seen.variance > 0)
    q = np.ones(len(seen.p))
    q[testable] = q_values(seen.p[testable])
    order = sorted((int(f) for f in testable if seen.p[f] <= SCREEN_P), key=lambda f: (seen.p[f], f))
    order = [f for place, f in enumerate(order) if place < 4 * AT_LEAST or q[f] <= q_level][: 4 * AT_MOST]
    kept = representatives(sample, order, seen, units)
    return [f for place, f in enumerate(kept) if place < AT_LEAST or q[f] <= q_level][:AT_MOST]


def _expected_z(sample: Sample, testing: Bools, seen: Effects, feature: int) -> float:
    """How far from chance the test is expected to fall: the effect seen, shrunk, times the information to come.

    Of the testing fold only the outcomes enter; how common the feature is there is taken from the other fold.
    """
    won = np.bincount(sample.stratum[testing & sample.success], minlength=len(sample.strata)).astype(float)
    n = np.bincount(sample.stratum[testing], minlength=len(sample.strata)).astype(float)
    outcome_information = float((won * (n - won) / np.maximum(n - 1, 1)).sum())
    won_seen = np.bincount(sample.stratum[~testing & sample.success], minlength=len(sample.strata)).astype(float)
    n_seen = np.bincount(sample.stratum[~testing], minlength=len(sample.strata)).astype(float)
    seen_information = float((won_seen * (n_seen - won_seen) / np.maximum(n_seen - 1, 1)).sum())
    spread = float(seen.variance[feature]) / max(seen_information, 1e-9)
    effect = abs(float(seen.excess[feature])) / (float(seen.variance[feature]) + SHRINK)
    return effect * math.sqrt(outcome_information * spread)


def _test(sample: Sample, testing: Bools, plan: Plan, alpha: float) -> list[Trial]:
    if not plan.features:
        return []
    tables = sample.with_columns(sample.columns.take(plan.features)).tables(testing)
    ratio, low, high = odds_ratios(tables)
    p = np.array([one_sided_p(tables.feature(i), side) for i, side in enumerate(plan.sides)])
    levels = holm_levels(p, alpha)
    informative = tables.informative
    return [
        Trial(
            feature=f, fold=plan.fold, side=plan.sides[i], p_value=float(p[i]), alpha=float(levels[i]),
            confirmed=bool(p[i] <= levels[i]), odds_ratio=float(ratio[i]), low=float(low[i]), high=float(high[i]),
            strata=int(informative[:, i].sum()), groups=_groups(sample, testing, f, informative[:, i]),
        )
        for i, f in enumerate(plan.features)
    ]  # fmt: skip


def _groups(sample: Sample, testing: Bools, feature: int, informative: Bools) -> tuple[str, ...]:
    """The groups a test rested on: those it spoke of, in strata that said something."""
    rows = np.flatnonzero(testing & sample.columns.mask[:, feature] & informative[sample.stratum])
    return tuple(sample.groups[row] for row in rows.tolist())


def holm_levels(p: Floats, alpha: float) -> Floats:
    """The level each p is held to under Holm's step-down (Holm 1979); after the first miss the level stops growing."""
    order = np.argsort(p, kind="stable")
    levels = np.empty(len(p))
    current, missed = 0.0, False
    for place, index in enumerate(order):
        if not missed:
            current = alpha / (len(p) - place)
            missed = bool(p[index] > current)
        levels[index] = current
    return levels


def still_holds(sample: Sample, feature: int, groups: Sequence[str], side: int, alpha: float) -> bool:
    """Whether an earlier confirmation stands on those of its groups that still count: some may be tainted or purged."""
    units = np.isin(np.asarray(sample.groups), list(groups))
    tables = sample.with_columns(sample.columns.take([feature])).tables(units)
    return one_sided_p(tables, side) <= alpha
