"""The contrast of one family, whole: screen, confirm, adjust, reduce to findings, say how far each may go."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from tasks.contrast.agent import Adjusted, Crew, adjust
from tasks.contrast.cmh import Effects, Floats, Tables, effects, odds_ratios
from tasks.contrast.confirm import MOST_FOLDS, Trial, already_tested, is_by_task, look, still_holds
from tasks.contrast.fdr import q_values
from tasks.contrast.features import Bools
from tasks.contrast.predicate import Direction, Predicate, predicate_id
from tasks.contrast.redundancy import Worded, under, wordings
from tasks.contrast.sample import Sample
from tasks.contrast.scope import at_releases, fold_scopes
from tasks.contrast.verdict import (
    Effect,
    Finding,
    HeldOut,
    HeldOutTest,
    Needs,
    Stratum,
    Verdict,
    exceptions,
    needs,
    shrunk,
    statement,
)

DIRECTIONS: tuple[Direction, ...] = ("do", "avoid")
SUGGESTIVE_P = 0.05
AGENT_P = 0.05
"""Shared by all strong features: so many adjusted effects are looked at, and some would pass by chance."""

MOST_SUGGESTIVE, MOST_CONFOUNDED, MOST_FOUND = 10, 40, 100
MOST_ADJUSTED = 40
"""Findings adjusted for the agent by regression; those after them by comparing within task and agent."""

ENOUGH_STRATA = 5
"""Fewer informative tasks than this cannot show that an association is gone within tasks."""


@dataclass(frozen=True)
class PastLook:
    """A stored confirmation of an earlier night: one test on one fold."""

    fold: int
    p_value: float
    alpha: float
    odds_ratio: float | None
    groups: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """Where the family is and how strict to be, and what earlier nights did.

    ``past`` holds earlier confirmations by predicate id; ``looked`` the last run that tested a predicate on each fold,
    empty for never; ``arrived`` the run in which each unit's group was first seen. Run ids grow with time.
    ``look_number`` counts the nights of the namespace that spent alpha, with this one.
    """

    namespace: str
    family: str
    alpha: float
    q_level: float = 0.10
    min_strata: int = 8
    past: Mapping[str, Sequence[PastLook]] = field(default_factory=dict)
    look_number: int = 1
    looked: Mapping[str, Sequence[str]] = field(default_factory=dict)
    arrived: Sequence[str] = ()

    @property
    def salt(self) -> str:
        """What the folds are drawn with."""
        return f"fold\x00{self.namespace}"


@dataclass(frozen=True)
class Analysis:
    """``tests`` features were testable; ``trials`` maps a predicate id to its confirmation tests of tonight,
    ``sides`` to the side that the effect on all evidence is on."""

    tests: int
    findings: list[Finding]
    trials: dict[str, list[Trial]]
    sides: dict[str, int]


@dataclass(frozen=True)
class _Screen:
    sample: Sample
    tables: Tables
    seen: Effects
    q: Floats
    crude: Effects
    crude_q: Floats


def analyse(sample: Sample, question: Question) -> Analysis:
    """Findings of a family. ``sample.columns`` should be ``distinct``; identical columns would only cost power."""
    is_length = [predicate.kind == "length" for predicate in sample.columns.predicates]
    lengths = sample.with_columns(sample.columns.take(np.flatnonzero(is_length)))
    if any(is_length):
        sample = sample.with_columns(sample.columns.take(np.flatnonzero(~np.array(is_length))))
    if not sample.columns.predicates:
        return Analysis(0, _consequences(lengths, question), {}, {})
    screen = _screen(sample)
    trials = look(
        sample, alpha=question.alpha, salt=question.salt, q_level=question.q_level, min_strata=question.min_strata,
        tested=_tested(sample, question),
    )  # fmt: skip
    by_feature: dict[int, list[Trial]] = {}
    for trial in trials:
        by_feature.setdefault(trial.feature, []).append(trial)
    findings = _found(screen, question, by_feature)
    said = {finding.predicate.undirected() for finding in findings}
    findings += _confounded(screen, question, said) + _consequences(lengths, question)
    identity = {f: predicate_id(question.namespace, question.family, _directed(screen, f)) for f in by_feature}
    sides = {identity[f]: -1 if screen.seen.excess[f] < 0 else 1 for f in by_feature}
    tests = int((screen.seen.variance > 0).sum())
    return Analysis(tests, findings, {identity[f]: tested for f, tested in by_feature.items()}, sides)


def weigh_one(sample: Sample, question: Question, predicate: Predicate, held: HeldOut | None, tests: int) -> Finding:
    """One claim with a direction over these units, as a finding of theirs. Nothing is looked for and no alpha spent.

    Args:
        sample: with the claim's column alone.
        held: how it was confirmed, if it was.
        tests: how many such claims there were to choose from; its q is Bonferroni's over them.
    """
    screen = _screen(sample)
    effect, strata = _effect(screen, 0), _strata(screen, 0)
    effect = replace(effect, q_value=min(1.0, effect.p_value * tests))
    adjusted = Adjusted("not-asked", 0)
    if effect.strata:
        adjusted = adjust(sample, 0, _log_odds(screen, 0), AGENT_P, crew=Crew.of(sample), fully=True)
    confirmed = held is not None and _verdict(True, held, adjusted) == "confirmed"
    verdict: Verdict = "confirmed" if confirmed else "unconfirmed"
    likely = shrunk(float(screen.seen.excess[0]), float(screen.seen.variance[0]))
    wanted = None if confirmed else needs(effect, strata, likely)
    opposite = exceptions(strata, -1 if predicate.direction == "avoid" else 1)
    return _assemble(screen, question, 0, predicate, effect, held, strata, opposite, adjusted, verdict, wanted, [])


def _tested(sample: Sample, question: Question) -> list[Bools] | None:
    """Where each feature was tested before, whichever direction it was then given."""
    if not question.looked or not question.arrived:
        return None
    runs = sorted(set(question.arrived))
    looked: dict[int, list[int]] = {}
    for feature, predicate in enumerate(sample.columns.predicates):
        for direction in DIRECTIONS:
            identity = predicate_id(question.namespace, question.family, predicate.toward(direction))
            for fold, run in enumerate(question.looked.get(identity, ())):
                last = looked.setdefault(feature, [-1] * MOST_FOLDS)
                last[fold] = max(last[fold], bisect_right(runs, run) - 1)
    arrived = np.array([bisect_left(runs, run) for run in question.arrived], dtype=np.int64)
    return already_tested(sample, question.salt, arrived, looked)


def _screen(sample: Sample) -> _Screen:
    tables, crude = sample.tables(), effects(sample.crude())
    seen = effects(tables)
    return _Screen(sample, tables, seen, _q(seen), crude, _q(crude))


def _q(seen: Effects) -> Floats:
    testable = seen.variance > 0
    q = np.ones(len(seen.p))
    q[testable] = q_values(seen.p[testable])
    return q


def _directed(screen: _Screen, feature: int) -> Predicate:
    return screen.sample.columns.predicates[feature].toward("avoid" if screen.seen.excess[feature] < 0 else "do")


def _found(screen: _Screen, question: Question, trials: Mapping[int, list[Trial]]) -> list[Finding]:
    """Findings within tasks: what passed the screen or was tested on held-out groups, then the merely suggestive."""
    strong = {int(f) for f in np.flatnonzero((screen.q <= question.q_level) & (screen.seen.variance > 0))} | set(trials)
    held = {f: _held_out(screen, question, f, trials.get(f, [])) for f in strong}
    confirmed = [f for f in strong if (one := held[f]) is not None and one.confirmed and one.same_direction]
    grouped = wordings(screen.sample, confirmed, screen.seen)
    covered = {f for kept, others in grouped for f in (kept, *others)}
    grouped, beyond = under(screen.sample, grouped, [f for f in strong if f not in covered], screen.seen)
    grouped += wordings(screen.sample, beyond, screen.seen)
    grouped += _with_looks(grouped, beyond, trials)
    grouped = fold_scopes(screen.sample, grouped, screen.seen)
    hinted = np.flatnonzero((screen.seen.p <= SUGGESTIVE_P) & (screen.seen.variance > 0))
    weak = sorted((int(f) for f in hinted if f not in strong), key=lambda f: (screen.seen.p[f], f))
    _, suggestive = under(screen.sample, grouped, weak[: 3 * MOST_SUGGESTIVE], screen.seen)
    own = wordings(screen.sample, suggestive, screen.seen)[:MOST_SUGGESTIVE]
    crew = Crew.of(screen.sample)
    return [
        _finding(screen, question, f, held.get(f), others, crew, fully=place < MOST_ADJUSTED)
        for place, (f, others) in enumerate([*grouped[:MOST_FOUND], *own])
    ]


def _with_looks(grouped: list[Worded], beyond: Sequence[int], trials: Mapping[int, list[Trial]]) -> list[Worded]:
    """What was tested tonight and reworded by something unconfirmed: it keeps a row of its own for its looks."""
    shown = {kept for kept, _ in grouped}
    return [(f, []) for f in sorted(beyond) if f in trials and f not in shown]


def _held_out(screen: _Screen, question: Question, feature: int, trials: Sequence[Trial]) -> HeldOut | None:
    """Tonight's tests and the earlier ones that still stand; the best of them on top."""
    identity = predicate_id(question.namespace, question.family, _directed(screen, feature))
    side = -1 if screen.seen.excess[feature] < 0 else 1
    tests = [_tonight(trial, trial.side == side) for trial in trials]
    for past in question.past.get(identity, ()):
        if still_holds(screen.sample, feature, past.groups, side, past.alpha):
            tests.append(_earlier(screen.sample, past))
    if not tests:
        return None
    best = min(tests, key=lambda test: (not test.confirmed, test.p_value, test.fold))
    return HeldOut(**vars(best), folds=[asdict(test) for test in tests])


def _tonight(trial: Trial, same: bool) -> HeldOutTest:
    return HeldOutTest(
        fold=trial.fold, groups=len(trial.groups), odds_ratio=_finite(trial.odds_ratio), low=_finite(trial.low) or 0.0,
        high=_finite(trial.high), p_value=trial.p_value, alpha=trial.alpha, same_direction=same,
        confirmed=trial.confirmed and same, strata=trial.strata, earlier=False, by_task=is_by_task(trial.fold),
    )  # fmt: skip


def _earlier(sample: Sample, past: PastLook) -> HeldOutTest:
    units = np.isin(np.asarray(sample.groups), list(past.groups))
    return HeldOutTest(
        fold=past.fold, groups=int(units.sum()), odds_ratio=past.odds_ratio, low=0.0, high=None, p_value=past.p_value,
        alpha=past.alpha, same_direction=True, confirmed=True, strata=int(sample.informative_strata(units).sum()),
        earlier=True, by_task=is_by_task(past.fold),
    )  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _finding(
    screen: _Screen,
    question: Question,
    feature: int,
    held: HeldOut | None,
    others: Sequence[int],
    crew: Crew,
    *,
    fully: bool,
) -> Finding:
    predicate, effect, strata = _directed(screen, feature), _effect(screen, feature), _strata(screen, feature)
    strong = effect.q_value <= question.q_level
    adjusted = Adjusted("not-asked", 0)
    if strong:
        level = AGENT_P / max(1, int((screen.q <= question.q_level).sum()))
        adjusted = adjust(screen.sample, feature, _log_odds(screen, feature), level, crew=crew, fully=fully)
    verdict = _verdict(strong, held, adjusted)
    likely = shrunk(float(screen.seen.excess[feature]), float(screen.seen.variance[feature]))
    wanted = needs(effect, strata, likely) if verdict in ("insufficient", "unconfirmed") else None
    opposite = exceptions(strata, -1 if predicate.direction == "avoid" else 1)
    also = [_directed(screen, other) for other in others]
    return _assemble(
        screen, question, feature, predicate, effect, held, strata, opposite, adjusted, verdict, wanted, also
    )


def _assemble(
    screen: _Screen,
    question: Question,
    feature: int,
    predicate: Predicate,
    effect: Effect,
    held: HeldOut | None,
    strata: list[Stratum],
    opposite: list[str],
    adjusted: Adjusted,
    verdict: Verdict,
    wanted: Needs | None,
    also: list[Predicate],
) -> Finding:
    crude = _finite(screen.crude.odds_ratio[feature])
    releases = at_releases(screen.sample, feature) if verdict in ("confirmed", "unconfirmed") else []
    said = statement(predicate, effect, held, opposite, adjusted, verdict, wanted, crude, releases)
    return Finding(
        predicate, predicate_id(question.namespace, question.family, predicate), effect, held, strata, opposite,
        adjusted, verdict, said, wanted, crude, float(screen.crude_q[feature]), also, releases,
    )  # fmt: skip


def _verdict(strong: bool, held: HeldOut | None, adjusted: Adjusted) -> Verdict:
    if not strong:
        return "unconfirmed" if held is not None else "insufficient"
    if adjusted.verdict in ("gone", "inseparable"):
        return "agent-confounded"
    stands = held is not None and held.confirmed and held.same_direction and adjusted.verdict != "weaker"
    return "confirmed" if stands else "unconfirmed"


def _log_odds(screen: _Screen, feature: int) -> float:
    """Log odds ratio; the score's one-step estimate where the ratio is 0 or infinite."""
    ratio = screen.seen.odds_ratio[feature]
    if np.isfinite(ratio) and ratio > 0:
        return float(np.log(ratio))
    return float(screen.seen.excess[feature] / max(screen.seen.variance[feature], 1e-9))


def _effect(screen: _Screen, feature: int) -> Effect:
    informative = screen.tables.informative[:, feature]
    a, b, c, d = (int(part[informative, feature].sum()) for part in screen.tables.parts())
    seen, (_, low, high) = screen.seen, odds_ratios(screen.tables.feature(feature))
    return Effect(
        _finite(seen.odds_ratio[feature]), float(low[0]), _finite(high[0]),
        float(seen.p[feature]), float(screen.q[feature]), int(seen.strata[feature]), a, a + b, c, c + d,
        float(seen.variance[feature]),
    )  # fmt: skip


def _strata(screen: _Screen, feature: int) -> list[Stratum]:
    """Counts of every task in which a run was spoken of, informative ones first."""
    rows = []
    for index, name in enumerate(screen.sample.strata):
        a, b, c, d = (int(part[index, feature]) for part in screen.tables.parts())
        if a + b + c + d:
            rows.append(Stratum(name, a, b, c, d))
    return sorted(rows, key=lambda row: (not row.informative, row.stratum))


def _consequences(lengths: Sample, question: Question) -> list[Finding]:
    """The length of runs, if it tells good from bad: reported, for it follows from what was done and is no advice.

    It takes no part in the screen, the looks or the redundancy: it would cost the acts their power and swallow them.
    """
    if not lengths.columns.predicates:
        return []
    screen = _screen(lengths)
    best = int(np.argmin(screen.seen.p))
    if screen.q[best] > question.q_level or screen.seen.variance[best] <= 0:
        return []
    predicate, effect, strata = _directed(screen, best), _effect(screen, best), _strata(screen, best)
    adjusted = Adjusted("not-asked", 0)
    return [_assemble(screen, question, best, predicate, effect, None, strata, [], adjusted, "consequence", None, [])]


def _confounded(screen: _Screen, question: Question, said: Collection[Predicate]) -> list[Finding]:
    """Strong over all runs together, gone between runs of the same task; what is ``said`` already is not said again."""
    strong = screen.crude_q <= question.q_level
    gone = (screen.seen.p > SUGGESTIVE_P) & (screen.seen.strata >= ENOUGH_STRATA)
    features = (int(f) for f in np.flatnonzero(strong & gone) if screen.sample.columns.predicates[f] not in said)
    chosen = sorted(features, key=lambda f: (screen.crude.p[f], f))
    return [_confounded_finding(screen, question, f) for f in chosen[:MOST_CONFOUNDED]]


def _confounded_finding(screen: _Screen, question: Question, feature: int) -> Finding:
    direction = "avoid" if screen.crude.excess[feature] < 0 else "do"
    predicate = screen.sample.columns.predicates[feature].toward(direction)  # type: ignore[arg-type]
    effect, strata, adjusted = _effect(screen, feature), _strata(screen, feature), Adjusted("not-asked", 0)
    return _assemble(screen, question, feature, predicate, effect, None, strata, [], adjusted, "confounded", None, [])
