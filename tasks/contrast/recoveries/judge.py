"""Which remedies hold: screened over all retries, tested on groups they were not found on, told from companions.

Errors of the whole are bounded as in the families' contrast: Benjamini-Hochberg over all questions for the screen,
two folds by independent group for the confirmation, an exact one-sided p, Holm's step-down, alpha shared over nights.
A remedy that only goes along with another is dropped: where the other was not done, it must help by itself.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri

from tasks.contrast.agent import Adjusted, adjust
from tasks.contrast.cmh import Effects, Floats, Tables, effects, odds_ratios, one_sided_p
from tasks.contrast.confirm import holm_levels
from tasks.contrast.fdr import q_values
from tasks.contrast.features import Bools, Columns
from tasks.contrast.recoveries.trials import Trials, done_by_then
from tasks.contrast.suggest import FAIR_POWER, MIN_POWER, shares

SCREEN_P = 0.05
GONE_P = 0.05
MIN_WORKED = 5
"""Independent groups in which the call worked after the remedy; fewer are an anecdote."""

MIN_RATE = 1 / 3
"""A remedy after which the call works less often than this is none."""

AT_LEAST, AT_MOST = 5, 40
EXACT_CELLS = 10_000
TANGLED = 0.9
MOST_FOUND, MOST_WAITING = 100, 20


@dataclass(frozen=True)
class Earlier:
    """A stored confirmation of another night."""

    fold: int
    p_value: float
    alpha: float
    odds_ratio: float | None
    groups: tuple[str, ...]


@dataclass(frozen=True)
class Look:
    """One test of one column on one fold tonight."""

    column: int
    fold: int
    p_value: float
    alpha: float
    odds_ratio: float
    low: float
    high: float
    groups: tuple[str, ...]

    @property
    def confirmed(self) -> bool:
        """Whether it passed at its level."""
        return self.p_value <= self.alpha


@dataclass(frozen=True)
class Strictness:
    """``alpha`` of tonight's look, ``q_level`` of the screen, ``salt`` of the folds.

    ``past`` confirmations by column; ``looked`` by column: the last run that tested it on each fold, empty for none.
    """

    alpha: float
    q_level: float
    salt: str
    past: Mapping[int, Sequence[Earlier]] = field(default_factory=dict)
    looked: Mapping[int, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Judged:
    """What became of one column. ``under``: columns that only go along with it, or say it in other words.

    ``tangled``: columns that always went together with it, so that nobody can tell which of them helps.
    """

    column: int
    q_value: float
    looks: tuple[Look, ...]
    past: tuple[Earlier, ...]
    adjusted: Adjusted
    under: tuple[int, ...]
    tangled: tuple[int, ...]
    verdict: str


@dataclass(frozen=True)
class Judgement:
    """``tests`` columns could be tested; ``seen`` are their effects on everything; ``looks`` cost alpha."""

    tests: int
    seen: Effects
    tables: Tables
    looks: list[Look]
    found: list[Judged]


@dataclass
class _Kept:
    column: int
    under: list[int] = field(default_factory=list)
    tangled: list[int] = field(default_factory=list)


def judge(trials: Trials, strictness: Strictness) -> Judgement:
    """Every remedy that promises something, with its verdict, most certain first."""
    tables = trials.sample.tables()
    seen = effects(tables)
    if not trials.acts:
        return Judgement(0, seen, tables, [], [])
    testable = seen.variance > 0
    q = np.ones(len(seen.p))
    q[testable] = q_values(seen.p[testable])
    looks = _look(trials, strictness)
    tested = {one.column for one in looks} | set(strictness.past)
    promising = _promising(seen, np.ones(len(seen.p), bool))
    strong = [f for f in promising if q[f] <= strictness.q_level or f in tested]
    kept = _own(trials, strong, seen, np.ones(len(trials.rows), bool))
    level = SCREEN_P / max(1, len(kept))
    found = [
        _judged(trials, one, seen, tables, float(q[one.column]), looks, strictness, level)
        for one in kept
        if not trials.shadows[one.column]
    ]
    shown = {f for one in kept for f in (one.column, *one.under, *one.tangled)}
    # What was tested keeps a row of its own for its looks, whatever became of it since.
    heads = {one.column for one in found}
    for f in sorted(tested - heads):
        one = _judged(trials, _Kept(f), seen, tables, float(q[f]), looks, strictness, level)
        found.append(replace(one, verdict="unconfirmed") if one.verdict == "confirmed" else one)
    shown |= tested
    waiting = _waiting(trials, tables, shown)
    found += [Judged(f, float(q[f]), (), (), Adjusted("not-asked", 0), (), (), "insufficient") for f in waiting]
    return Judgement(int(testable.sum()), seen, tables, looks, found[:MOST_FOUND])


def _promising(seen: Effects, allowed: Bools) -> list[int]:
    """Columns that help rather than hinder, as far as chance can be told, surest first."""
    helps = (seen.excess > 0) & (seen.variance > 0) & (seen.p <= SCREEN_P) & allowed
    return sorted((int(f) for f in np.flatnonzero(helps)), key=lambda f: (seen.p[f], f))


def _own(trials: Trials, columns: Sequence[int], seen: Effects, units: Bools) -> list[_Kept]:
    """Columns that help by themselves; the others under the one that they go along with or reword."""
    kept: list[_Kept] = []
    rivals = Counter(trials.sample.columns.predicates[f].parts[0] for f in columns)
    for f in sorted(columns, key=lambda f: (seen.p[f], not trials.acts[f][1], f)):
        over = next((one for one in kept if _goes_with(trials, f, one.column, units, rivals)), None)
        if over is None:
            kept.append(_Kept(f))
        elif _same_act(trials, f, over.column):
            if _reaches_beyond(trials, f, over.column, units):
                over.under.append(over.column)
                over.column = f
            else:
                over.under.append(f)
        elif _always_together(trials, f, over.column, units):
            over.tangled.append(f)
        else:
            over.under.append(f)
    return kept


def _goes_with(trials: Trials, f: int, other: int, units: Bools, rivals: Mapping[str, int]) -> bool:
    """Whether ``f`` helps no more where ``other`` was not done; of another command it is a thing of its own.

    So many are asked of a command (``rivals``) that one in twenty would pass by chance: each gets its share.
    """
    columns = trials.sample.columns
    if columns.predicates[f].parts[0] != columns.predicates[other].parts[0]:
        return False
    if not (units & columns.mask[:, f] & columns.mask[:, other]).any():
        return False
    without = units & ~done_by_then(trials, trials.acts[other])
    done = without & columns.mask[:, f] & columns.values[:, f]
    if (done & trials.sample.success).sum() < MIN_RATE * done.sum():
        return True
    return _helps_p(trials, f, without) > GONE_P / rivals[columns.predicates[f].parts[0]]


def _helps_p(trials: Trials, f: int, units: Bools) -> float:
    sample = trials.sample.with_columns(trials.sample.columns.take([f]))
    return one_sided_p(sample.tables(units), 1)


def _same_act(trials: Trials, one: int, two: int) -> bool:
    return trials.acts[one][0] == trials.acts[two][0]


def _reaches_beyond(trials: Trials, f: int, narrower: int, units: Bools) -> bool:
    """Whether the same remedy, under a wider signature, helps where the narrower one does not speak as well."""
    outside = units & ~trials.sample.columns.mask[:, narrower]
    return _helps_p(trials, f, outside) <= GONE_P


def _always_together(trials: Trials, f: int, other: int, units: Bools) -> bool:
    columns = trials.sample.columns
    both = units & columns.mask[:, f] & columns.mask[:, other]
    left, right = columns.values[both, f].astype(float), columns.values[both, other].astype(float)
    if not left.size or left.std() == 0 or right.std() == 0:
        return False
    return bool(np.corrcoef(left, right)[0, 1] >= TANGLED)


def _look(trials: Trials, strictness: Strictness) -> list[Look]:
    """Test on each fold what the other suggests, on groups it was not tested on before; [] costs nothing.

    What was confirmed and still stands is not tested again: that would cost what is open its alpha.
    """
    if strictness.alpha <= 0:
        return []
    folds = np.array([_coin(strictness.salt, group) for group in trials.sample.groups], dtype=bool)
    new = trials.sample.columns.mask & ~_tested_before(trials, folds, strictness.looked)
    settled = {f for f, looks in strictness.past.items() if any(_still(trials, f, one) for one in looks)}
    found: list[Look] = []
    for fold in (False, True):
        testing, alpha = new & (folds == fold)[:, None], strictness.alpha / 2
        suggested = _suggested(trials, folds != fold, testing, settled, alpha, strictness.q_level)
        found += _tested(trials, suggested, testing, int(fold), alpha)
    return found


def _coin(salt: str, name: str) -> bool:
    return bool(hashlib.sha256(f"{salt}\x00{name}".encode("utf-8", "surrogatepass")).digest()[0] & 1)


def _tested_before(trials: Trials, folds: Bools, looked: Mapping[int, Sequence[str]]) -> Bools:
    """Where a column was tested before, shape (rows, columns); run ids are in order of time."""
    found = np.zeros_like(trials.sample.columns.mask)
    arrived, side = np.array(trials.arrived, dtype=str), folds.astype(np.int64)
    for f, runs in looked.items():
        found[:, f] = arrived <= np.array(runs, dtype=str)[side]
    return found


def _suggested(
    trials: Trials, units: Bools, testing: Bools, settled: Collection[int], alpha: float, q_level: float
) -> list[int]:
    """Columns in order of promise whose test has a chance at its share of ``alpha``; [] if none has a fair one.

    Args:
        units: the rows that suggest.
        testing: where each column may be tested, shape (rows, columns). Of it only is seen how many met the error.
    """
    tables = trials.sample.tables(units)
    seen = effects(tables)
    testable = seen.variance > 0
    q = np.ones(len(seen.p))
    q[testable] = q_values(seen.p[testable])
    worth = (tables.success_with.sum(0) >= 2) & (_rate(tables) >= MIN_RATE)
    own = [one.column for one in _own(trials, _promising(seen, worth), seen, units)]
    own = [f for f in own if not trials.shadows[f] and f not in settled]
    chosen = [f for place, f in enumerate(own) if place < AT_LEAST or q[f] <= q_level][:AT_MOST]
    met, to_come = _met(trials, trials.sample.columns.mask & units[:, None]), _met(trials, testing)
    chosen = [f for f in chosen if to_come[f]]
    share = [float(one) for one in to_come / np.maximum(met, 1)]
    hoped = {f: _Hoped.of(tables, f, share[f]) for f in chosen}
    chosen.sort(key=lambda f: (-hoped[f].margin(alpha), f))
    power = [hoped[f].power(level) for f, level in zip(chosen, alpha * shares(len(chosen)), strict=True)]
    if max(power, default=0.0) < FAIR_POWER:
        return []
    return [f for f, chance in zip(chosen, power, strict=True) if chance >= MIN_POWER]


def _met(trials: Trials, where: Bools) -> Floats:
    """By column, in how many groups its error was met and retried: known whatever was done, and whatever came of it."""
    first = np.array([row.number == 0 for row in trials.rows], dtype=bool)
    met: Floats = where[first].sum(0).astype(np.float64)
    return met


def _rate(tables: Tables) -> Floats:
    done = tables.success_with.sum(0) + tables.failure_with.sum(0)
    rate: Floats = tables.success_with.sum(0) / np.maximum(done, 1)
    return rate


@dataclass(frozen=True)
class _Hoped:
    """What a test will see if it is as the suggesting half has it: ``n`` retries, of which a part ``p`` works."""

    n_with: int
    n_without: int
    p_with: float
    p_without: float

    @staticmethod
    def of(tables: Tables, f: int, share: float) -> _Hoped:
        """Shrunk by one case of each kind; ``share`` is how many will be tested on for each that was seen."""
        won, lost, won_without, lost_without = _counts(tables, f)
        return _Hoped(
            max(1, round((won + lost) * share)), max(1, round((won_without + lost_without) * share)),
            (won + 1) / (won + lost + 2), (won_without + 1) / (won_without + lost_without + 2),
        )  # fmt: skip

    def margin(self, alpha: float) -> float:
        """How far beyond the level the test is expected to fall, in standard errors; by the normal law."""
        n1, n0, p1, p0 = self.n_with, self.n_without, self.p_with, self.p_without
        pooled = (n1 * p1 + n0 * p0) / (n1 + n0)
        null = math.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n0))
        spread = math.sqrt(p1 * (1 - p1) / n1 + p0 * (1 - p0) / n0)
        return float(p1 - p0 + ndtri(alpha) * null) / spread

    def power(self, alpha: float) -> float:
        """Chance to pass: exact as the test is where little is tested, for few cases cannot reach a level at all."""
        if self.n_with * self.n_without > EXACT_CELLS:
            return float(ndtr(self.margin(alpha)))
        won = np.arange(self.n_with + 1)[:, None]
        won_without = np.arange(self.n_without + 1)[None, :]
        n = self.n_with + self.n_without
        passes = stats.hypergeom.sf(won - 1, n, self.n_with, won + won_without) <= alpha
        chance = stats.binom.pmf(won, self.n_with, self.p_with)
        return float((chance * stats.binom.pmf(won_without, self.n_without, self.p_without))[passes].sum())


def _counts(tables: Tables, f: int) -> tuple[int, int, int, int]:
    """Worked with, failed with, worked without, failed without."""
    return (
        int(tables.success_with[:, f].sum()), int(tables.failure_with[:, f].sum()),
        int(tables.success_without[:, f].sum()), int(tables.failure_without[:, f].sum()),
    )  # fmt: skip


def _tested(trials: Trials, columns: Sequence[int], testing: Bools, fold: int, alpha: float) -> list[Look]:
    if not columns:
        return []
    some = trials.sample.columns.take(columns)
    where = testing[:, columns]
    tables = trials.sample.with_columns(Columns(some.predicates, some.values & where, where)).tables()
    ratio, low, high = odds_ratios(tables)
    p = np.array([one_sided_p(tables.feature(place), 1) for place in range(len(columns))])
    levels = holm_levels(p, alpha, shares(len(p)))
    return [
        Look(f, fold, float(p[i]), float(levels[i]), float(ratio[i]), float(low[i]), float(high[i]),
             _groups(where[:, i], trials))
        for i, f in enumerate(columns)
    ]  # fmt: skip


def _groups(rows: Bools, trials: Trials) -> tuple[str, ...]:
    return tuple(sorted({trials.sample.groups[row] for row in np.flatnonzero(rows).tolist()}))


def _judged(
    trials: Trials,
    kept: _Kept,
    seen: Effects,
    tables: Tables,
    q: float,
    looks: Sequence[Look],
    strictness: Strictness,
    level: float,
) -> Judged:
    f = kept.column
    mine = tuple(one for one in looks if one.column == f)
    past = tuple(one for one in strictness.past.get(f, ()) if _still(trials, f, one))
    strong = q <= strictness.q_level
    adjusted = adjust(trials.sample, f, _log_odds(seen, f), level) if strong else Adjusted("not-asked", 0)
    passed = any(one.confirmed for one in mine) or bool(past)
    verdict = _verdict(trials, f, tables, strong, bool(mine), passed, adjusted)
    if verdict == "confirmed" and kept.tangled:
        verdict = "unconfirmed"
    return Judged(f, q, mine, past, adjusted, tuple(kept.under), tuple(kept.tangled), verdict)


def _verdict(
    trials: Trials, f: int, tables: Tables, strong: bool, looked: bool, confirmed: bool, adjusted: Adjusted
) -> str:
    if not strong:
        return "unconfirmed" if looked else "insufficient"
    if adjusted.verdict in ("gone", "inseparable"):
        return "agent-confounded"
    columns = trials.sample.columns
    worked = columns.values[:, f] & columns.mask[:, f] & trials.sample.success
    if len(_groups(worked, trials)) < MIN_WORKED or _rate(tables)[f] < MIN_RATE:
        return "insufficient"
    return "confirmed" if confirmed and adjusted.verdict != "weaker" else "unconfirmed"


def _still(trials: Trials, f: int, earlier: Earlier) -> bool:
    """Whether an earlier confirmation stands on those of its groups that still count."""
    units = np.isin(np.asarray(trials.sample.groups), list(earlier.groups))
    return _helps_p(trials, f, units) <= earlier.alpha


def _log_odds(seen: Effects, f: int) -> float:
    ratio = seen.odds_ratio[f]
    if np.isfinite(ratio) and ratio > 0:
        return float(np.log(ratio))
    return float(seen.excess[f] / max(seen.variance[f], 1e-9))


def _waiting(trials: Trials, tables: Tables, shown: set[int]) -> list[int]:
    """Acts after which a call worked, where too little speaks for or against them: the most common one an error."""
    best: dict[tuple[str, str], int] = {}
    worked = tables.success_with.sum(0)
    for f in sorted(range(len(trials.acts)), key=lambda f: (-int(worked[f]), not trials.acts[f][1], f)):
        won, lost, won_without, lost_without = _counts(tables, f)
        open_question = won_without + lost_without < MIN_WORKED or won + lost < MIN_WORKED
        if f not in shown and not trials.shadows[f] and won >= max(3, lost) and open_question and not won_without:
            best.setdefault(trials.sample.columns.predicates[f].parts[:2], f)  # type: ignore[arg-type]
    told = {trials.sample.columns.predicates[f].parts[:2] for f in shown}
    return [f for key, f in best.items() if key not in told][:MOST_WAITING]
