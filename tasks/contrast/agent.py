"""Sensitivity: does a finding survive when runs are compared within the agent as well?

An agent that is weak, and also has the habit, makes the habit look harmful. Conditional logistic regression on task
strata with one effect for each agent (Breslow and Day 1980, chapter 7) tells the two apart where agents vary in the
habit; where they do not, nothing here can, and it says so. Beside it the plain test stratified by task and agent.

Shrinkage: a weak normal prior on every coefficient keeps a separated likelihood finite (Gelman et al. 2008, scale 2.5).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import optimize, stats

from tasks.contrast.cmh import Floats, Ints, count, effects
from tasks.contrast.features import Bools
from tasks.contrast.sample import Sample

PRIOR_SCALE = 2.5
GONE, UNTOUCHED = 0.5, 0.8
"""Shares of the unadjusted effect: below the first it is gone, from the second on the agent explains none of it."""

MAX_UNITS = 120
"""Units of one stratum in the likelihood; the first so many are taken, for its cost grows with the square."""

MAX_STRATA = 200
"""Tasks in the likelihood, the first so many in order of name: enough to see whether an effect vanishes."""

MAX_AGENTS = 40


@dataclass(frozen=True)
class Adjusted:
    """The feature's odds ratio with agent effects, and by strata of task and agent; ``verdict`` says what became of it.

    ``same``: still there. ``weaker``: part of it left, not certain. ``gone``: most of it vanished. ``inseparable``:
    no agent varies in it. ``one-agent``: there is nothing to adjust for.
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

    def as_dict(self) -> dict[str, Any]:
        """For storage."""
        return asdict(self)


def adjust(sample: Sample, feature: int, log_odds: float, level: float = 0.05) -> Adjusted:
    """Adjust one feature for the agent.

    Args:
        log_odds: its unadjusted effect (log odds ratio, finite).
        level: the p that the adjusted effect must reach; of many findings asked of at once, each gets its share.
    """
    mask = sample.columns.mask[:, feature]
    agents = sorted({agent for agent, spoken in zip(sample.agents, mask, strict=True) if spoken})
    if len(agents) < 2:
        return Adjusted("one-agent", len(agents))
    code = np.array([agents.index(agent) if agent in agents else 0 for agent in sample.agents], dtype=np.int64)
    column = sample.columns.take([feature])
    within = effects(
        count(column, sample.success, sample.stratum * len(agents) + code, len(sample.strata) * len(agents))
    )
    value = sample.columns.values[:, feature]
    varies = any(len(set(value[mask & (code == index)])) == 2 for index in range(len(agents)))
    fitted = _fit(value[mask], code[mask], sample.success[mask], sample.stratum[mask], log_odds, level)
    verdict = "inseparable" if not varies else fitted.verdict
    return Adjusted(
        verdict, len(agents), fitted.odds_ratio, fitted.low, fitted.high, fitted.p_value,
        _finite(within.odds_ratio[0]), float(within.p[0]), int(within.strata[0]),
    )  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _fit(value: Bools, code: Ints, success: Bools, stratum: Ints, log_odds: float, level: float) -> Adjusted:
    design = _design(value, code)
    strata = _Strata.build(design, success, stratum)
    if strata is None:
        return Adjusted("inseparable", 0)
    start = np.zeros(design.shape[1])
    best = optimize.minimize(strata.objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    beta, spread = float(best.x[0]), _standard_error(strata, best.x)
    p = float(2 * stats.norm.sf(abs(beta) / spread))
    width = float(stats.norm.ppf(0.975)) * spread
    ratio, low, high = (float(np.exp(value)) for value in (beta, beta - width, beta + width))
    return Adjusted(_verdict(beta, p, log_odds, level), 0, ratio, low, high, p)


def _verdict(beta: float, p: float, log_odds: float, level: float) -> str:
    kept = beta / log_odds if log_odds else 0.0
    if p <= level and kept > 0:
        return "same"
    if kept < GONE:
        return "gone"
    return "same" if kept >= UNTOUCHED and p <= 0.05 else "weaker"


def _design(value: Bools, code: Ints) -> Floats:
    """The feature, then one column for each agent but the most common one; rare agents beyond the cap share one."""
    counts = np.bincount(code)
    ranked = np.argsort(-counts, kind="stable")
    shown = [int(agent) for agent in ranked[1 : MAX_AGENTS + 1] if counts[agent]]
    columns = [value.astype(float), *((code == agent).astype(float) for agent in shown)]
    rest = np.isin(code, ranked[MAX_AGENTS + 1 :])
    return np.stack([*columns, rest.astype(float)] if rest.any() else columns, axis=1)


@dataclass(frozen=True)
class _Strata:
    """Informative strata, padded to one shape: ``x`` (strata, units, columns), ``y`` and ``real`` (strata, units)."""

    x: Floats
    y: Floats
    real: Bools

    @staticmethod
    def build(design: Floats, success: Bools, stratum: Ints) -> _Strata | None:
        rows: list[Ints] = []
        for index in np.unique(stratum):
            members = np.flatnonzero(stratum == index)[:MAX_UNITS]
            if 0 < success[members].sum() < len(members) and len(rows) < MAX_STRATA:
                rows.append(members)
        if not rows:
            return None
        widest = max(len(members) for members in rows)
        x = np.zeros((len(rows), widest, design.shape[1]))
        y, real = np.zeros((len(rows), widest)), np.zeros((len(rows), widest), bool)
        for place, members in enumerate(rows):
            x[place, : len(members)], y[place, : len(members)] = design[members], success[members]
            real[place, : len(members)] = True
        return _Strata(x, y, real)

    def objective(self, beta: Floats) -> tuple[float, Floats]:
        """Negative log posterior and its gradient.

        The denominator sums over all choices of as many successes: the elementary symmetric polynomial, built one
        unit at a time together with its derivative, and rescaled on the way so that it cannot overflow.
        """
        wins = self.y.sum(1).astype(int)
        strata, units, columns = self.x.shape
        weight = np.exp(np.clip(self.x @ beta, -30, 30)) * self.real
        total = np.zeros((strata, wins.max() + 1))
        total[:, 0] = 1.0
        slope = np.zeros((strata, wins.max() + 1, columns))
        scale = np.zeros(strata)
        for unit in range(units):
            w = weight[:, unit, None]
            grown = w[:, :, None] * (slope[:, :-1] + total[:, :-1, None] * self.x[:, unit, None, :])
            slope[:, 1:] += grown
            total[:, 1:] += w * total[:, :-1]
            top = total.max(1)
            total /= top[:, None]
            slope /= top[:, None, None]
            scale += np.log(top)
        at = np.arange(strata)
        chosen = total[at, wins]
        value = (self.y * (self.x @ beta)).sum() - (np.log(np.maximum(chosen, 1e-300)) + scale).sum()
        gradient = (self.y[:, :, None] * self.x).sum((0, 1)) - (slope[at, wins] / chosen[:, None]).sum(0)
        prior = beta / PRIOR_SCALE**2
        return float(-value + 0.5 * (beta * prior).sum()), prior - gradient


def _standard_error(strata: _Strata, beta: Floats, step: float = 1e-4) -> float:
    """Of the first coefficient, from the curvature of the posterior (central differences of the gradient)."""
    size = len(beta)
    curvature = np.zeros((size, size))
    for index in range(size):
        shift = np.zeros(size)
        shift[index] = step
        curvature[index] = (strata.objective(beta + shift)[1] - strata.objective(beta - shift)[1]) / (2 * step)
    covariance = np.linalg.pinv((curvature + curvature.T) / 2)
    return float(np.sqrt(max(covariance[0, 0], 1e-12)))
