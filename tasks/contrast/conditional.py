"""Conditional logistic regression on matched strata, fast enough to be asked of dozens of features a night.

Given how many units of a stratum succeeded, who did depends on no effect of the stratum (Breslow and Day 1980,
chapter 7). That law is a sum of independent coin throws that is told its result: with the coins tilted so that the
expected sum is the one seen, every term of the recursion is a probability, nothing over- or underflows, and one pass
forward and one backward give each unit's chance of being among the successes (Chen, Dempster and Liu 1994). The
gradient is exact; the curvature is that of Hajek (1964) for such a law, exact where all units are alike.

Shrinkage: a weak normal prior on every coefficient keeps a separated likelihood finite (Gelman et al. 2008, scale 2.5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

PRIOR_SCALE = 2.5
MOST_STEPS, CLOSE_ENOUGH = 30, 1e-6
LOG_ODDS_LIMIT = 30.0


@dataclass(frozen=True)
class Matched:
    """Strata with both outcomes, padded to one shape: ``x`` (strata, units, columns), ``y``, ``real`` (strata, units).

    Each stratum counts its scarcer outcome, ``x`` turned round where that is failure: the law is the same and shorter.
    """

    x: Floats
    y: Floats
    real: Bools

    @staticmethod
    def build(design: Floats, success: Bools, stratum: Ints) -> Matched | None:
        """From one row a unit; None where no stratum has both outcomes."""
        order = np.argsort(stratum, kind="stable")
        names, starts, sizes = np.unique(stratum[order], return_index=True, return_counts=True)
        won = np.add.reduceat(success[order].astype(np.int64), starts) if len(names) else sizes
        both = np.flatnonzero((won > 0) & (won < sizes))
        if not len(both):
            return None
        shape = (len(both), int(sizes[both].max()))
        x, y, real = np.zeros((*shape, design.shape[1])), np.zeros(shape), np.zeros(shape, dtype=bool)
        for place, index in enumerate(both.tolist()):
            rows = order[starts[index] : starts[index] + sizes[index]]
            turned = 2 * won[index] > sizes[index]
            x[place, : len(rows)] = -design[rows] if turned else design[rows]
            y[place, : len(rows)] = ~success[rows] if turned else success[rows]
            real[place, : len(rows)] = True
        return Matched(x, y, real)

    @property
    def columns(self) -> int:
        """Number of coefficients."""
        return int(self.x.shape[2])


@dataclass(frozen=True)
class Fit:
    """Coefficients at the maximum of the posterior, and their standard errors."""

    beta: Floats
    spread: Floats


def fit(data: Matched) -> Fit:
    """Maximise the posterior by Newton's method, steps halved where they overshoot."""
    beta = np.zeros(data.columns)
    value, slope, curve = posterior(data, beta)
    for _ in range(MOST_STEPS):
        step = np.linalg.solve(curve, slope)
        for _ in range(10):
            tried = posterior(data, beta + step)
            if tried[0] >= value - 1e-12:
                break
            step = step / 2
        beta = beta + step
        value, slope, curve = tried
        if float(np.abs(step).max()) < CLOSE_ENOUGH:
            break
    return Fit(beta, np.sqrt(np.maximum(np.diag(np.linalg.inv(curve)), 1e-12)))


def posterior(data: Matched, beta: Floats) -> tuple[float, Floats, Floats]:
    """Log posterior (up to a constant), its exact gradient, and its curvature (negative Hessian) after Hajek."""
    odds = np.where(data.real, np.clip(data.x @ beta, -LOG_ODDS_LIMIT, LOG_ODDS_LIMIT), -np.inf)
    chance = _tilted(odds, data.y.sum(1))
    total, included = _inclusion(chance, data.y.sum(1).astype(np.int64))
    with np.errstate(divide="ignore"):
        said = np.where(data.y > 0, np.log(np.maximum(chance, 1e-300)), np.log1p(-chance))
    prior = beta / PRIOR_SCALE**2
    value = float((said * data.real).sum() - np.log(np.maximum(total, 1e-300)).sum() - 0.5 * (beta * prior).sum())
    slope = np.einsum("suc,su->c", data.x, data.y - included) - prior
    return value, slope, _curvature(data, included) + np.eye(len(beta)) / PRIOR_SCALE**2


def _curvature(data: Matched, included: Floats) -> Floats:
    units = data.real.sum(1)
    spread = included * (1 - included) * (units / np.maximum(units - 1, 1))[:, None]
    flat = data.x.reshape(-1, data.columns)
    means = np.einsum("suc,su->sc", data.x, spread)
    whole = spread.sum(1)
    curve: Floats = flat.T @ (flat * spread.reshape(-1, 1)) - means.T @ (means / np.maximum(whole, 1e-12)[:, None])
    return curve


def _tilted(odds: Floats, wins: Floats) -> Floats:
    """Chances with these log odds up to a constant a stratum, chosen so that they sum to ``wins``."""
    units = np.isfinite(odds).sum(1)
    ratio = wins / np.maximum(units, 1)
    mean = np.where(np.isfinite(odds), odds, 0.0).sum(1) / np.maximum(units, 1)
    shift = np.log(ratio / (1 - ratio)) - mean
    chance = _logistic(odds + shift[:, None])
    for _ in range(50):
        off = wins - chance.sum(1)
        if float(np.abs(off).max()) < 1e-9:
            break
        # Bounded: where nearly all chances are 0 or 1 the slope is flat and a full step would run away.
        shift += np.clip(off / np.maximum((chance * (1 - chance)).sum(1), 1e-9), -2.0, 2.0)
        chance = _logistic(odds + shift[:, None])
    return chance


def _logistic(odds: Floats) -> Floats:
    chance: Floats = 0.5 * (1 + np.tanh(odds / 2))
    return np.minimum(chance, 1 - 1e-12)


def _inclusion(chance: Floats, wins: Ints) -> tuple[Floats, Floats]:
    """Probability that the throws sum to ``wins``, and given that, of each throw to be one of them."""
    strata, units = chance.shape
    most = int(wins.max())
    before = np.zeros((units + 1, strata, most + 1))
    before[0, :, 0] = 1.0
    for unit in range(units):
        p = chance[:, unit, None]
        before[unit + 1] = before[unit] * (1 - p)
        before[unit + 1, :, 1:] += before[unit, :, :-1] * p
    at = np.arange(strata)
    total = before[units, at, wins]
    # What may still come after a unit, read at "as many as are missing": index j holds the chance of wins - 1 - j.
    missing = np.zeros((strata, most + 1))
    missing[at, wins - 1] = 1.0
    included = np.zeros((strata, units))
    for unit in range(units - 1, -1, -1):
        p = chance[:, unit]
        included[:, unit] = p * np.einsum("sj,sj->s", before[unit], missing)
        grown = missing * (1 - p)[:, None]
        grown[:, :-1] += missing[:, 1:] * p[:, None]
        missing = grown
    return total, included / np.maximum(total, 1e-300)[:, None]
