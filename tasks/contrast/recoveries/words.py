"""What a judged remedy says to a person, and how much more evidence it would take."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from tasks.contrast.agent import Adjusted
from tasks.contrast.cmh import odds_ratios
from tasks.contrast.predicate import AGAIN, Predicate, call_words
from tasks.contrast.recoveries.judge import Judged, Judgement, Look
from tasks.contrast.recoveries.trials import Trials
from tasks.contrast.verdict import number

WANTED_Z = 1.96 + 0.84
"""A later test at the 5 % level with 80 % power needs the difference so many standard errors from none."""

FOLDS = 2
LEAST_GAP = 0.2


@dataclass(frozen=True)
class Cases:
    """Retries by whether the remedy came before and whether they worked; of how many sessions, agents, groups."""

    worked_with: int
    failed_with: int
    worked_without: int
    failed_without: int
    sessions: int
    agents: int
    principals: int
    cured: int
    """Sessions in which the call worked after the remedy."""

    @property
    def with_it(self) -> int:
        """Retries that the remedy preceded."""
        return self.worked_with + self.failed_with

    @property
    def without(self) -> int:
        """Retries that it did not."""
        return self.worked_without + self.failed_without


def cases(trials: Trials, column: int) -> Cases:
    """The counts of one column, over every retry it speaks of."""
    spoken = trials.sample.columns.mask[:, column]
    done, worked = trials.sample.columns.values[:, column] & spoken, trials.sample.success
    rows = np.flatnonzero(spoken).tolist()
    told = [trials.told[trials.rows[row].session] for row in rows]
    return Cases(
        int((done & worked).sum()), int((done & ~worked).sum()),
        int((spoken & ~done & worked).sum()), int((spoken & ~done & ~worked).sum()),
        sessions=len({one.group for one in told}), agents=len({one.agent for one in told}),
        principals=len({one.principal or "operators" for one in told}),
        cured=len({trials.sample.groups[row] for row in np.flatnonzero(done & worked).tolist()}),
    )  # fmt: skip


def statement(trials: Trials, judgement: Judgement, judged: Judged) -> str:
    """The finding as a sentence with its figures."""
    predicate, seen = trials.sample.columns.predicates[judged.column], cases(trials, judged.column)
    ratio, low, high = _bounds(judgement, judged.column)
    parts = [
        f"{_figures(predicate, seen)}; odds ratio {number(ratio)}, 95 % interval {number(low)} to {number(high)}, "
        f"q = {number(judged.q_value)}",
        _confirmation(judged),
        _agents(judged.adjusted, judged.verdict),
    ]
    if judged.tangled:
        named = ", ".join(call_words(trials.sample.columns.predicates[f].parts[2]) for f in judged.tangled[:3])
        parts.append(f"{named} nearly always went together with it, so nobody can tell which of them helped")
    if judged.verdict in ("insufficient", "unconfirmed"):
        parts.append(needs(seen)["words"])
    return "; ".join(part for part in parts if part) + "."


def _bounds(judgement: Judgement, column: int) -> tuple[float | None, float, float | None]:
    """Odds ratio and its 95 % interval, exact where a cell is empty. None is infinite."""
    ratio, low, high = odds_ratios(judgement.tables.feature(column))
    return _finite(float(ratio[0])), _finite(float(low[0])) or 0.0, _finite(float(high[0]))


def _figures(predicate: Predicate, seen: Cases) -> str:
    command, error, then = predicate.parts
    before = f"it was called as {call_words(then)}" if then.startswith(AGAIN) else f"{call_words(then)} came before"
    compared = (
        f"and in {seen.worked_without} of {seen.without} where not" if seen.without else "and nobody tried without it"
    )
    return (
        f"after `{command}` had failed with “{error}”, the next try worked in {seen.worked_with} of {seen.with_it} "
        f"cases where {before}, {compared} ({_many(seen.sessions, 'session')}, {_many(seen.agents, 'agent')})"
    )


def _confirmation(judged: Judged) -> str:
    if judged.past:
        best = min(judged.past, key=lambda one: one.p_value)
        return f"confirmed on an earlier night on {len(best.groups)} sessions it was not found on"
    if not judged.looks:
        return ""
    best_look = min(judged.looks, key=lambda look: (not look.confirmed, look.p_value))
    words = "confirmed" if best_look.confirmed else "not confirmed"
    against = "level" if best_look.confirmed else "above the level"
    return (
        f"{words} on {len(best_look.groups)} sessions it was not found on (p = {number(best_look.p_value)}, "
        f"{against} {number(best_look.alpha)})"
    )


def _agents(adjusted: Adjusted, verdict: str) -> str:
    if adjusted.verdict == "inseparable":
        return "no agent sometimes did it and sometimes did not, so it cannot be told from who ran"
    if adjusted.odds_ratio is None:
        return ""
    figures = f"{number(adjusted.odds_ratio)} (p = {number(adjusted.p_value)})"
    if verdict == "agent-confounded":
        return f"adjusted for which of {adjusted.agents} agents ran, it vanishes: odds ratio {figures}"
    return f"adjusted for {adjusted.agents} agents, odds ratio {figures}"


def needs(seen: Cases) -> dict[str, Any]:
    """How many more sessions a confirmation would take, with the remedy and without it, if it is what it looks like.

    Two proportions, shrunk by one case of each kind; both folds must carry the difference.
    """
    p1, p0 = (seen.worked_with + 1) / (seen.with_it + 2), (seen.worked_without + 1) / (seen.without + 2)
    gap = max(p1 - p0, LEAST_GAP)
    wanted = math.ceil(FOLDS * WANTED_Z**2 * (p1 * (1 - p1) + p0 * (1 - p0)) / gap**2)
    more_with, more_without = max(0, wanted - seen.with_it), max(0, wanted - seen.without)
    total = max(1, more_with + more_without)
    words = f"not enough evidence yet: needs about {total} more sessions with this error"
    if more_without and not more_with:
        words += ", tried again without it" if seen.without < wanted else ""
    elif more_with and not more_without:
        words += ", tried again after it"
    return {"sessions": total, "with": more_with, "without": more_without, "words": words}


def statistics(trials: Trials, judgement: Judgement, judged: Judged, family: str) -> dict[str, Any]:
    """The figures in the shape every packet has. ``strata`` are the agents: one row each."""
    seen, f = cases(trials, judged.column), judged.column
    strata, (ratio, low, high) = _by_agent(trials, f), _bounds(judgement, f)
    columns = trials.sample.columns
    return {
        "effect": {
            "odds_ratio": ratio, "low": low, "high": high, "p_value": float(judgement.seen.p[f]),
            "q_value": judged.q_value,
            "strata": sum(min(row["success_with"] + row["failure_with"],
                              row["success_without"] + row["failure_without"]) > 0 for row in strata),
            "success_with": seen.worked_with, "success_total": seen.worked_with + seen.worked_without,
            "failure_with": seen.failed_with, "failure_total": seen.failed_with + seen.failed_without,
            "variance": float(judgement.seen.variance[f]),
        },
        "held_out": _held_out(judged),
        "strata": strata,
        "exceptions": [],
        "agent_adjusted": judged.adjusted.as_dict(),
        "needs": needs(seen) if judged.verdict in ("insufficient", "unconfirmed") else None,
        "also_worded": [columns.predicates[other].toward("do").canonical(family) for other in judged.under
                        if trials.acts[other][0] == trials.acts[f][0]],
        "went_along": sorted({columns.predicates[other].parts[2] for other in judged.under
                              if trials.acts[other][0] != trials.acts[f][0]})[:8],
        "cases": {"sessions": seen.sessions, "agents": seen.agents, "cured": seen.cured},
    }  # fmt: skip


def _by_agent(trials: Trials, column: int) -> list[dict[str, Any]]:
    counts: Counter[tuple[str, bool, bool]] = Counter()
    columns = trials.sample.columns
    for row in np.flatnonzero(columns.mask[:, column]).tolist():
        agent = trials.told[trials.rows[row].session].agent or "unnamed"
        counts[agent, bool(trials.sample.success[row]), bool(columns.values[row, column])] += 1
    return [
        {
            "stratum": f"agent {agent}",
            "success_with": counts[agent, True, True], "success_without": counts[agent, True, False],
            "failure_with": counts[agent, False, True], "failure_without": counts[agent, False, False],
        }
        for agent in sorted({agent for agent, _, _ in counts})
    ]  # fmt: skip


def _held_out(judged: Judged) -> dict[str, Any] | None:
    tests = [_test(look) for look in judged.looks]
    tests += [
        {"fold": one.fold, "groups": len(one.groups), "odds_ratio": one.odds_ratio, "low": 0.0, "high": None,
         "p_value": one.p_value, "alpha": one.alpha, "same_direction": True, "confirmed": True, "strata": 1,
         "earlier": True}
        for one in judged.past
    ]  # fmt: skip
    if not tests:
        return None
    best = min(tests, key=lambda test: (not test["confirmed"], test["p_value"], test["fold"]))
    return {**best, "folds": tests}


def _test(look: Look) -> dict[str, Any]:
    return {
        "fold": look.fold, "groups": len(look.groups), "odds_ratio": _finite(look.odds_ratio),
        "low": _finite(look.low) or 0.0, "high": _finite(look.high), "p_value": look.p_value, "alpha": look.alpha,
        "same_direction": look.odds_ratio > 1, "confirmed": look.confirmed, "strata": 1, "earlier": False,
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
