"""How far a finding may go, what it needs, and the sentence a person reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

from tasks.contrast.agent import Adjusted
from tasks.contrast.predicate import Predicate, call_words, happened_words, scope_words
from tasks.contrast.scope import AtRelease

Verdict = Literal["confirmed", "unconfirmed", "insufficient", "confounded", "agent-confounded", "consequence"]

NEEDED_Z = 2.8 + 0.13
"""Each fold's test is held to about 0.0025 and passes slightly more often than not, so that one of the two does in 80 %
of cases: the effect must lie this many standard errors from none in a fold."""

LUCK = 2.0
"""What selection adds to a squared z, about: so that simulated confirmations come to 80 % after what ``needs`` asks."""

NAMED = 8


@dataclass(frozen=True)
class Stratum:
    """Counts of one task."""

    stratum: str
    success_with: int
    success_without: int
    failure_with: int
    failure_without: int

    @property
    def informative(self) -> bool:
        """Whether it has both outcomes, and runs with and without."""
        with_, without = self.success_with + self.failure_with, self.success_without + self.failure_without
        won, lost = self.success_with + self.success_without, self.failure_with + self.failure_without
        return min(with_, without, won, lost) > 0


@dataclass(frozen=True)
class Effect:
    """The stratified effect on all untainted evidence; totals are over the informative tasks. None is infinite."""

    odds_ratio: float | None
    low: float
    high: float | None
    p_value: float
    q_value: float
    strata: int
    success_with: int
    success_total: int
    failure_with: int
    failure_total: int
    variance: float


@dataclass(frozen=True)
class HeldOutTest:
    """One test on groups the finding was not found on. ``earlier``: of another night. None is infinite.

    ``by_task``: on tasks it was not found on either; else on other groups of ``strata`` tasks.
    """

    fold: int
    groups: int
    odds_ratio: float | None
    low: float
    high: float | None
    p_value: float
    alpha: float
    same_direction: bool
    confirmed: bool
    strata: int
    earlier: bool
    by_task: bool


@dataclass(frozen=True)
class HeldOut(HeldOutTest):
    """The confirmation: the best test on top, every one of them in ``folds``."""

    folds: list[dict[str, Any]]


@dataclass(frozen=True)
class Needs:
    """What a verdict would take: more runs of each outcome on so many more tasks."""

    failures: int
    successes: int
    tasks: int

    def words(self) -> str:
        """As a person reads it: the scarcer outcome is named."""
        kind, number = ("failures", self.failures) if self.failures <= self.successes else ("successes", self.successes)
        return f"needs about {number} more {kind} on at least {self.tasks} {'task' if self.tasks == 1 else 'tasks'}"


@dataclass(frozen=True)
class Finding:
    """One conclusion, with everything a packet is built from."""

    predicate: Predicate
    predicate_id: str
    effect: Effect
    held_out: HeldOut | None
    strata: list[Stratum]
    exceptions: list[str]
    agent_adjusted: Adjusted
    verdict: Verdict
    statement: str
    needs: Needs | None
    crude_odds_ratio: float | None
    crude_q: float
    also_worded: list[Predicate]
    releases: Sequence[AtRelease] = ()

    def statistics(self, family: str) -> dict[str, Any]:
        """Everything but the predicate and the sentence, as JSON."""
        return {
            "effect": asdict(self.effect),
            "held_out": None if self.held_out is None else asdict(self.held_out),
            "strata": [asdict(stratum) for stratum in self.strata],
            "exceptions": self.exceptions,
            "agent_adjusted": self.agent_adjusted.as_dict(),
            "needs": None if self.needs is None else {**asdict(self.needs), "words": self.needs.words()},
            "unstratified": {"odds_ratio": self.crude_odds_ratio, "q_value": self.crude_q},
            "also_worded": [predicate.canonical(family) for predicate in self.also_worded],
            "releases": [asdict(each) for each in self.releases],
        }


def exceptions(strata: Sequence[Stratum], side: int) -> list[str]:
    """Tasks where the act is at stake and at least half of the successes do the opposite, most such runs first."""
    against = []
    for each in strata:
        at_stake = each.success_with + each.failure_with > 0
        does, does_not = each.success_with, each.success_without
        opposite, along = (does, does_not) if side < 0 else (does_not, does)
        if at_stake and opposite and opposite >= along:
            against.append((-opposite, each.stratum))
    return [name for _, name in sorted(against)]


def shrunk(excess: float, variance: float) -> float:
    """A log odds ratio with the luck taken out that brought it to attention.

    What is listed for being suggestive looks stronger than it is, the more so the weaker it is: the positive-part
    estimator of James and Stein (1961) on top of the test's own shrinkage, with half of the effect left at least.
    """
    z_squared = excess**2 / max(variance, 1e-9)
    return excess / (variance + 1.0) * max(0.5, 1 - LUCK / max(z_squared, 1e-9))


def needs(effect: Effect, strata: Sequence[Stratum], shrunk_log_odds: float) -> Needs:
    """How much more evidence a confirmation would take, if the effect is what it looks like (shrunk).

    Both folds must carry the effect, so twice the information of one test; a new task is taken to be worth what an
    informative one is worth now.
    """
    wanted = 2 * (NEEDED_Z / max(abs(shrunk_log_odds), 0.2)) ** 2
    worth = effect.variance / effect.strata if effect.strata else 0.2
    tasks = max(1, math.ceil((wanted - effect.variance) / max(worth, 0.1)))
    seen = [each for each in strata if each.informative]
    failures = sum(each.failure_with + each.failure_without for each in seen) / len(seen) if seen else 1.5
    successes = sum(each.success_with + each.success_without for each in seen) / len(seen) if seen else 1.5
    return Needs(math.ceil(tasks * failures), math.ceil(tasks * successes), tasks)


def statement(
    predicate: Predicate,
    effect: Effect,
    held_out: HeldOut | None,
    opposite: Sequence[str],
    adjusted: Adjusted,
    verdict: Verdict,
    wanted: Needs | None,
    crude: float | None,
    releases: Sequence[AtRelease] = (),
) -> str:
    """The finding as a sentence with its figures."""
    parts = [_figures(predicate, effect), _confirmation(held_out, verdict), _release_words(releases)]
    if verdict == "consequence":
        parts.append("how long a run is follows from what was done in it, so this is no advice")
    if verdict == "confounded":
        parts = [_confounded(predicate, effect, crude)]
    if wanted is not None and verdict in ("insufficient", "unconfirmed"):
        parts.append(wanted.words())
    parts.append(_agent_words(adjusted, verdict))
    if opposite and verdict not in ("confounded",):
        parts.append(_exception_words(predicate, opposite))
    return "; ".join(part for part in parts if part) + "."


def number(value: float | None) -> str:
    """An odds ratio or p in two significant digits; None and infinity as a word."""
    if value is None or math.isinf(value):
        return "infinite"
    if value == 0:
        return "0"
    return f"{value:.2g}" if 0.001 <= abs(value) < 100 else f"{value:.1e}" if abs(value) < 0.001 else f"{value:.0f}"


def _figures(predicate: Predicate, effect: Effect) -> str:
    scope = scope_words(predicate)
    tasks = "1 task" if effect.strata == 1 else f"{effect.strata} tasks"
    return (
        f"{happened_words(predicate)} in {effect.success_with} of {effect.success_total} successes and "
        f"{effect.failure_with} of {effect.failure_total} failures of the same {tasks}"
        f"{f' ({scope})' if scope else ''}; odds ratio {number(effect.odds_ratio)}, 95 % interval "
        f"{number(effect.low)} to {number(effect.high)}, q = {number(effect.q_value)}"
    )


def _confirmation(held_out: HeldOut | None, verdict: Verdict) -> str:
    if held_out is None:
        return "not tested yet on groups it was not found on" if verdict == "unconfirmed" else ""
    tasks = "1 task" if held_out.strata == 1 else f"{held_out.strata} tasks"
    where = (
        f"{held_out.groups} groups of {tasks} it was not found on"
        if held_out.by_task
        else f"{held_out.groups} groups it was not found on, of {tasks}"
    )
    figures = f"odds ratio {number(held_out.odds_ratio)}, p = {number(held_out.p_value)}"
    if held_out.confirmed:
        return f"confirmed on {where} ({figures}, level {number(held_out.alpha)})"
    return f"not confirmed on {where} ({figures}, above the level {number(held_out.alpha)})"


def _confounded(predicate: Predicate, effect: Effect, crude: float | None) -> str:
    within, across = _distance(effect.odds_ratio), _distance(crude)
    meaning = (
        "it tells hard tasks from easy ones, not good runs from bad"
        if within <= across / 2
        else "part of it tells hard tasks from easy ones, and what is left may be chance"
    )
    return (
        f"{happened_words(predicate)}: over all runs taken together the odds ratio is {number(crude)}, but between "
        f"runs of the same task it is {number(effect.odds_ratio)} (95 % interval {number(effect.low)} to "
        f"{number(effect.high)}, {effect.strata} tasks, p = {number(effect.p_value)}): {meaning}"
    )


def _release_words(releases: Sequence[AtRelease]) -> str:
    """Said only where the effect at one release is not the effect elsewhere."""
    for one, other in pairwise(releases):
        apart = one.high is not None and other.high is not None and (one.high < other.low or other.high < one.low)
        if one.component == other.component and apart:
            return (
                f"at {one.component} {one.version} the odds ratio is {number(one.odds_ratio)}, "
                f"at {other.version} {number(other.odds_ratio)}"
            )
    return ""


def _distance(odds_ratio: float | None) -> float:
    """How far an odds ratio is from one, on the log scale."""
    return math.inf if not odds_ratio else abs(math.log(odds_ratio))


def _agent_words(adjusted: Adjusted, verdict: Verdict) -> str:
    if verdict == "agent-confounded" and adjusted.verdict == "inseparable":
        return "no agent sometimes did it and sometimes did not, so it cannot be told from who ran"
    if adjusted.odds_ratio is None or verdict == "confounded":
        return ""
    figures = f"{number(adjusted.odds_ratio)} (p = {number(adjusted.p_value)})"
    if verdict == "agent-confounded":
        return f"adjusted for which of {adjusted.agents} agents ran, it vanishes: odds ratio {figures}"
    unsure = ", not certain any more" if adjusted.verdict == "weaker" else ""
    return f"adjusted for {adjusted.agents} agents, odds ratio {figures}{unsure}"


def _exception_words(predicate: Predicate, opposite: Sequence[str]) -> str:
    named = ", ".join(opposite[:NAMED]) + (f" and {len(opposite) - NAMED} more" if len(opposite) > NAMED else "")
    tasks = "1 task" if len(opposite) == 1 else f"{len(opposite)} tasks"
    subject = call_words(predicate.calls[-1]) if predicate.calls else "it"
    if predicate.kind == "call-present" and predicate.direction == "avoid":
        return f"in {tasks} ({named}) successes do call {subject}: check whether it applies, don't avoid it"
    return f"in {tasks} ({named}) successes do the opposite: check whether it applies"
