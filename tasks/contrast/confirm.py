"""Confirmation on groups a finding was not found on, and what a year of it may cost.

Two-fold cross-fit: what the groups of one fold suggest is tested on the groups of the other, and the other way round.
A feature that enough tasks say something of is split by task, so that a finding must hold on tasks it was not found on.
One that lives in few tasks, or whose effect the suggesting groups see in few, is split by group and tested on those
tasks: all of them might else lie in one fold, and it could never be tested. Which split a feature may go by depends on
its margins alone, which the exact test conditions on; where its effect lies, on the suggesting fold. A feature is never
tested twice on one group: a later look of it uses the groups that arrived since its last one.

Error over a year. A test's p is exact given the margins (never the mid-p), Holm's step-down, weighted by promise,
runs over what one fold suggested, the draws of the folds share the look's alpha, the two splits that of a draw, each
fold of a split has half of that, families of one night share the night's alpha, and the nights that looked share the
year's: 6/(pi^2 r^2) of it for the r-th. A night whose families have nothing to test costs nothing. Whether to look is
decided from the suggesting fold and, of the testing fold, from its outcomes alone: the features of the testing fold
are not seen before they are tested.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.contrast.cells import about_releases, by_release, by_task
from tasks.contrast.cmh import Floats, Ints, odds_ratios, one_sided_p
from tasks.contrast.features import Bools, Columns
from tasks.contrast.sample import Sample
from tasks.contrast.suggest import Fold, Plan, shares, suggest_everywhere, suggest_locally

BY_GROUP, FOLDS = 2, 4
"""Of each draw folds 0 and 1 are by task, 2 and 3 by group; the next draw's follow."""

FEW_UNITS, FEW_DRAWS = 4000, 3
MOST_FOLDS = FEW_DRAWS * FOLDS

BY_TASK_PART = 0.75
"""Of a look's alpha, where there are both splits: what holds on tasks it was not found on is worth more."""

LEAST_A_SIDE = 3
"""Tasks in each fold that must say something of a feature that is split by task."""


@dataclass(frozen=True)
class Trial:
    """One test of one feature (an index into the sample's columns) on one fold; see ``FOLDS``."""

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
class Split:
    """The fold of every unit, and the features that may be tested as a whole over these folds."""

    by_task: bool
    fold: Bools
    whole: Bools


def night_alpha(yearly: float, earlier_nights: int) -> float:
    """The part of the year's alpha for the next night that looks; over any number of nights the sum is ``yearly``."""
    return yearly * 6 / (math.pi**2 * (earlier_nights + 1) ** 2)


def family_alpha(night: float, informative: dict[str, int], family: str) -> float:
    """A family's share of the night's alpha: by its tasks with both outcomes, which are known before any feature is."""
    total = sum(informative.values())
    return night * informative.get(family, 0) / total if total else 0.0


def folds(names: Sequence[str], salt: str) -> Bools:
    """Fold (False or True) of every name: a hash of it alone, so that none ever changes sides as nights add data."""
    return np.array([_coin(salt, name) for name in names], dtype=bool)


def _coin(salt: str, name: str) -> bool:
    return bool(hashlib.sha256(f"{salt}\x00{name}".encode("utf-8", "surrogatepass")).digest()[0] & 1)


def splits(sample: Sample, salt: str, min_strata: int) -> list[Split]:
    """How evidence is cut in two: by task and, for what lives in few tasks, by group."""
    informative = sample.tables().informative
    side = folds(sample.strata, salt)
    a_side = np.minimum(informative[side].sum(0), informative[~side].sum(0))
    by_task = (informative.sum(0) >= min_strata) & (a_side >= LEAST_A_SIDE)
    found = []
    if by_task.any():
        found.append(Split(True, side[sample.stratum], by_task))
    if informative.any():
        found.append(Split(False, folds(sample.groups, salt), ~by_task))
    return found


def look(
    sample: Sample,
    *,
    alpha: float,
    salt: str,
    q_level: float,
    min_strata: int,
    tested: Sequence[Bools] | None = None,
) -> list[Trial]:
    """Test on each fold what the other suggests, where the test has a fair chance; [] costs no alpha.

    Args:
        tested: by draw, shape (units, features), where a feature was tested on a unit at an earlier look; nowhere if
            absent.
    """
    if not sample.columns.predicates or alpha <= 0:
        return []
    drawn = draws(len(sample.success))
    trials: list[Trial] = []
    for draw in range(drawn):
        before = np.zeros_like(sample.columns.mask) if tested is None else tested[draw]
        trials += _look(sample, alpha / drawn, draw, _salt(salt, draw), q_level, min_strata, before)
    return trials


def draws(units: int) -> int:
    """How many times the folds are drawn: whether so few tasks fall well apart is luck in a single draw."""
    return FEW_DRAWS if units <= FEW_UNITS else 1


def _salt(salt: str, draw: int) -> str:
    return f"{salt}\x00{draw}" if draw else salt


def _look(
    sample: Sample, alpha: float, draw: int, salt: str, q_level: float, min_strata: int, before: Bools
) -> list[Trial]:
    """The tests of one draw of the folds."""
    cut = splits(sample, salt, min_strata)
    trials: list[Trial] = []
    for split in cut:
        part = BY_TASK_PART if split.by_task else 1 - BY_TASK_PART
        level = (alpha * part if len(cut) > 1 else alpha) / 2
        suggest = suggest_everywhere if split.by_task else suggest_locally
        for side in (False, True):
            fold = Fold(split.fold == side, before)
            plan = suggest(sample, fold, level, q_level, split.whole)
            trials += _test(sample, fold, plan, draw * FOLDS + int(side) + (0 if split.by_task else BY_GROUP), level)
    return trials


def already_tested(sample: Sample, salt: str, arrived: Ints, looked: Mapping[int, Sequence[int]]) -> list[Bools]:
    """Where each feature was tested before, by draw, each of shape (units, features).

    Args:
        arrived: the night on which each unit's group was first seen, as a number that grows with time.
        looked: by feature, the last night on which it was tested on each fold; -1 for never.
    """
    every = []
    for draw in range(draws(len(sample.success))):
        found, drawn = np.zeros_like(sample.columns.mask), _salt(salt, draw)
        by_task = draw * FOLDS + folds(sample.strata, drawn)[sample.stratum].astype(np.int64)
        by_group = draw * FOLDS + folds(sample.groups, drawn).astype(np.int64) + BY_GROUP
        for feature, nights in looked.items():
            last = np.asarray(nights)
            found[:, feature] = (arrived <= last[by_task]) | (arrived <= last[by_group])
        every.append(found)
    return every


def is_by_task(fold: int) -> bool:
    """Whether a numbered fold is of a split by task."""
    return fold % FOLDS < BY_GROUP


def _test(sample: Sample, fold: Fold, plan: Plan, number: int, alpha: float) -> list[Trial]:
    """Every test on the cells that it was suggested for."""
    if not plan.features:
        return []
    columns, cells = sample.columns.take(plan.features), plan.cells
    where = columns.mask & plan.where[cells.of] & ~fold.tested[:, plan.features]
    tables = cells.tables(sample.with_columns(Columns(columns.predicates, columns.values & where, where)), fold.units)
    ratio, low, high = odds_ratios(tables)
    p = np.array([one_sided_p(tables.feature(i), side) for i, side in enumerate(plan.sides)])
    levels = holm_levels(p, alpha, shares(len(p)))
    informative = cells.spread(tables.informative, about_releases(columns))
    rested = fold.units[:, None] & where & informative[cells.of]
    return [
        Trial(
            feature=f, fold=number, side=plan.sides[i], p_value=float(p[i]), alpha=float(levels[i]),
            confirmed=bool(p[i] <= levels[i]), odds_ratio=float(ratio[i]), low=float(low[i]), high=float(high[i]),
            strata=len(np.unique(sample.stratum[rested[:, i]])),
            groups=tuple(sample.groups[row] for row in np.flatnonzero(rested[:, i]).tolist()),
        )
        for i, f in enumerate(plan.features)
    ]  # fmt: skip


def holm_levels(p: Floats, alpha: float, weights: Floats | None = None) -> Floats:
    """The level each p is held to under Holm's step-down (Holm 1979); after the first miss the level stops growing.

    Args:
        weights: shares of alpha, set before any p was seen; equal ones if absent.
    """
    share = np.ones(len(p)) if weights is None else weights
    order = np.argsort(p / share, kind="stable")
    levels = np.empty(len(p))
    left, per_share, missed = float(share.sum()), 0.0, False
    for index in order:
        if not missed:
            per_share = alpha / left
            missed = bool(p[index] > share[index] * per_share)
        levels[index] = share[index] * per_share
        left -= float(share[index])
    return levels


def still_holds(sample: Sample, feature: int, groups: Sequence[str], side: int, alpha: float) -> bool:
    """Whether an earlier confirmation stands: some of its groups may be tainted or purged, or no evidence any more.

    Where all of them count it stands as it was found; else it is tested anew on those that do, over whole tasks or over
    tasks at a release, whichever it may have been found with.
    """
    units = np.isin(np.asarray(sample.groups), list(groups)) & sample.columns.mask[:, feature]
    if int(units.sum()) == len(set(groups)):
        return True
    part = sample.with_columns(sample.columns.take([feature]))
    ways = (by_task(sample), by_release(sample, np.ones(len(units), dtype=bool)))
    return any(one_sided_p(cells.tables(part, units), side) <= alpha for cells in ways)
