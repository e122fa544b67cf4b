"""Sensitivity: does a finding survive when runs are compared within the agent as well?

An agent that is weak, and also has the habit, makes the habit look harmful. Conditional logistic regression on task
strata with one effect for each agent tells the two apart where agents vary in the habit; where they do not, nothing
here can, and it says so. Beside it the plain test stratified by task and agent, which uses every unit.
"""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

from tasks.contrast.cmh import Effects, Floats, Ints, Tables, effects
from tasks.contrast.conditional import Matched, fit
from tasks.contrast.features import Bools
from tasks.contrast.sample import Sample

GONE, UNTOUCHED = 0.5, 0.8
"""Shares of the unadjusted effect: below the first it is gone, from the second on the agent explains none of it."""

UNITS_IN_ALL, LEAST_UNITS, MOST_UNITS = 10_000, 40, 160
"""Units in the likelihood: about so many over all strata, and of one stratum between these."""

MAX_STRATA = 250
"""Tasks in the likelihood: enough to see whether an effect vanishes."""

MAX_AGENTS = 40

Method = Literal["", "conditional", "stratified"]


@dataclass(frozen=True)
class Adjusted:
    """The feature's odds ratio with agent effects, and by strata of task and agent; ``verdict`` says what became of it.

    ``same``: still there. ``weaker``: part of it left, not certain. ``gone``: most of it vanished. ``inseparable``:
    no agent varies in it. ``one-agent``: there is nothing to adjust for. ``method``: ``conditional`` logistic
    regression with agent effects on ``units`` units, or only the comparison ``stratified`` by task and agent.
    """

    verdict: str
    agents: int
    odds_ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    within_agent_odds_ratio: float | None = None
    within_agent_p: float | None = None
    within_agent_strata: int = 0
    method: Method = ""
    units: int = 0

    def as_dict(self) -> dict[str, Any]:
        """For storage."""
        return asdict(self)


@dataclass(frozen=True)
class Crew:
    """By unit, a number for its agent, and its place in a draw of units that is blind to what the run did."""

    agent: Ints
    drawn: Ints

    @staticmethod
    def of(sample: Sample) -> Crew:
        """Of a sample; made once, asked of many features."""
        number = {agent: at for at, agent in enumerate(sorted(set(sample.agents)))}
        agent = np.fromiter((number[agent] for agent in sample.agents), np.int64, len(sample.agents))
        return Crew(agent, np.array([_draw(group) for group in sample.groups], dtype=np.int64))


def _draw(group: str) -> int:
    return zlib.crc32(group.encode("utf-8", "surrogatepass"))


def adjust(
    sample: Sample, feature: int, log_odds: float, level: float = 0.05, *, crew: Crew | None = None, fully: bool = True
) -> Adjusted:
    """Adjust one feature for the agent.

    Args:
        log_odds: its unadjusted effect (log odds ratio, finite).
        level: the p that the adjusted effect must reach; of many findings asked of at once, each gets its share.
        fully: by regression; else only by comparing within task and agent, which is much faster.
    """
    crew = crew or Crew.of(sample)
    mask = sample.columns.mask[:, feature]
    agents, code = np.unique(crew.agent[mask], return_inverse=True)
    if len(agents) < 2:
        return Adjusted("one-agent", len(agents))
    value, success, stratum = sample.columns.values[mask, feature], sample.success[mask], sample.stratum[mask]
    within = _within(value, success, stratum * len(agents) + code)
    side_by_side = (_finite(within.odds_ratio[0]), float(within.p[0]), int(within.strata[0]))
    if not _varies(value, code):
        return Adjusted("inseparable", len(agents), None, None, None, None, *side_by_side, method="stratified")
    if not fully:
        return _stratified(within, len(agents), log_odds, level, int(mask.sum()))
    rows = _chosen(success, stratum, crew.drawn[mask])
    data = Matched.build(_design(value[rows], code[rows]), success[rows], stratum[rows])
    if data is None:
        return Adjusted("inseparable", len(agents), None, None, None, None, *side_by_side, method="stratified")
    best = fit(data)
    beta, spread = float(best.beta[0]), float(best.spread[0])
    p = float(2 * stats.norm.sf(abs(beta) / spread))
    width = float(stats.norm.ppf(0.975)) * spread
    # The comparison within agents has all units; where only some are in the likelihood it may be the surer of the two.
    surest = min(p, float(within.p[0])) if len(rows) < len(value) and within.excess[0] * beta > 0 else p
    ratio, low, high = (float(np.exp(value)) for value in (beta, beta - width, beta + width))
    verdict = _verdict(beta, surest, log_odds, level)
    return Adjusted(
        verdict, len(agents), ratio, low, high, p, *side_by_side, method="conditional", units=int(data.real.sum())
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _varies(value: Bools, code: Ints) -> bool:
    with_, all_ = np.bincount(code, value), np.bincount(code)
    return bool(((with_ > 0) & (with_ < all_)).any())


def _within(value: Bools, success: Bools, cell: Ints) -> Effects:
    """The effect by strata of task and agent."""
    names, dense = np.unique(cell, return_inverse=True)
    size = 2 * len(names)
    with_, without = np.bincount(dense * 2 + success, value, size), np.bincount(dense * 2 + success, ~value, size)
    parts = (with_[1::2], without[1::2], with_[0::2], without[0::2])
    return effects(Tables(*(part.astype(np.int64)[:, None] for part in parts)))


def _stratified(within: Effects, agents: int, log_odds: float, level: float, units: int) -> Adjusted:
    """Judged by the comparison within task and agent alone; its one-step estimate never is infinite."""
    beta = float(within.excess[0] / max(within.variance[0], 1e-9)) if within.variance[0] > 0 else 0.0
    ratio = float(within.odds_ratio[0])
    known = np.isfinite(ratio) and ratio > 0
    p = float(within.p[0])
    verdict = _verdict(float(np.log(ratio)) if known else beta, p, log_odds, level)
    return Adjusted(
        verdict, agents, _finite(ratio), float(within.low[0]), _finite(within.high[0]), p,
        _finite(ratio), p, int(within.strata[0]), method="stratified", units=units,
    )  # fmt: skip


def _verdict(beta: float, p: float, log_odds: float, level: float) -> str:
    kept = beta / log_odds if log_odds else 0.0
    if p <= level and kept > 0:
        return "same"
    if kept < GONE:
        return "gone"
    return "same" if kept >= UNTOUCHED and p <= 0.05 else "weaker"


def _chosen(success: Bools, stratum: Ints, drawn: Ints) -> Ints:
    """Units for the likelihood: a bounded number of each stratum, half of each outcome where there are so many.

    Drawn by a hash of the group, blind to the feature. How many of each outcome are taken does not bias it: the
    likelihood is conditional on that number.
    """
    names, index = np.unique(stratum, return_inverse=True)
    won, all_ = np.bincount(index, success).astype(np.int64), np.bincount(index)
    both = (won > 0) & (won < all_)
    cap = int(np.clip(UNITS_IN_ALL // max(1, int(both.sum())), LEAST_UNITS, MOST_UNITS))
    lost = all_ - won
    take_lost = np.minimum(lost, np.maximum(cap // 2, cap - won))
    take_won = np.minimum(won, cap - take_lost)
    informative = np.flatnonzero(both)
    most = informative[np.argsort(-np.minimum(won, lost)[informative], kind="stable")][:MAX_STRATA]
    room = np.zeros((len(names), 2), np.int64)
    room[most] = np.stack([take_lost, take_won], axis=1)[most]
    order = np.lexsort((drawn, success, index))
    cell = index[order] * 2 + success[order]
    place = np.arange(len(order)) - np.searchsorted(cell, cell)
    kept: Ints = np.sort(order[place < room.reshape(-1)[cell]])
    return kept


def _design(value: Bools, code: Ints) -> Floats:
    """The feature, then one column for each agent but the most common one; rare agents beyond the cap share one."""
    counts = np.bincount(code)
    ranked = np.argsort(-counts, kind="stable")
    shown = [int(agent) for agent in ranked[1 : MAX_AGENTS + 1] if counts[agent]]
    columns = [value.astype(float), *((code == agent).astype(float) for agent in shown)]
    rest = np.isin(code, ranked[MAX_AGENTS + 1 :])
    return np.stack([*columns, rest.astype(float)] if rest.any() else columns, axis=1)
