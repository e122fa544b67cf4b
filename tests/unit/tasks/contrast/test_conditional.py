"""The conditional likelihood against trying out every choice of who succeeded."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.contrast.agent import Crew, adjust
from tasks.contrast.conditional import PRIOR_SCALE, Matched, fit, posterior
from tasks.contrast.features import Columns
from tasks.contrast.predicate import Predicate
from tasks.contrast.sample import Sample


def invented(seed: int, strata: int = 4, units: int = 7) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    design = random.integers(0, 2, (strata * units, 2)).astype(float)
    success = random.random(strata * units) < 0.5
    return design, success, np.repeat(np.arange(strata), units)


def by_brute_force(design: np.ndarray, success: np.ndarray, stratum: np.ndarray, beta: np.ndarray) -> float:
    total = 0.0
    for name in np.unique(stratum):
        rows = np.flatnonzero(stratum == name)
        wins = int(success[rows].sum())
        if 0 < wins < len(rows):
            odds = design[rows] @ beta
            every = [np.exp(sum(odds[list(chosen)])) for chosen in itertools.combinations(range(len(rows)), wins)]
            total += float(odds[success[rows]].sum() - np.log(sum(every)))
    return total - 0.5 * float((beta**2).sum()) / PRIOR_SCALE**2


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.tuples(st.floats(-4, 4), st.floats(-4, 4)))
def test_the_likelihood_is_that_of_every_possible_choice(seed: int, beta: tuple[float, float]) -> None:
    design, success, stratum = invented(seed)
    data = Matched.build(design, success, stratum)
    if data is not None:
        at = np.array(beta)
        assert posterior(data, at)[0] == pytest.approx(by_brute_force(design, success, stratum, at), abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.tuples(st.floats(-3, 3), st.floats(-3, 3)))
def test_the_gradient_is_the_slope_of_the_likelihood(seed: int, beta: tuple[float, float]) -> None:
    data = Matched.build(*invented(seed))
    if data is not None:
        at, step = np.array(beta), 1e-5
        slope = [
            (posterior(data, at + step * unit)[0] - posterior(data, at - step * unit)[0]) / (2 * step)
            for unit in np.eye(2)
        ]
        assert posterior(data, at)[1] == pytest.approx(slope, abs=1e-4)


def test_the_curvature_is_exact_where_all_units_are_alike() -> None:
    data = Matched.build(*invented(3))
    assert data is not None
    step, zero = 1e-5, np.zeros(2)
    slopes = [(posterior(data, step * one)[1] - posterior(data, -step * one)[1]) / (2 * step) for one in np.eye(2)]
    np.testing.assert_allclose(posterior(data, zero)[2], -np.array(slopes), rtol=1e-4, atol=1e-6)


def test_a_separated_likelihood_stays_finite() -> None:
    success = np.tile([True, False], 20)
    data = Matched.build(success[:, None].astype(float), success, np.repeat(np.arange(10), 4))
    assert data is not None
    best = fit(data)
    assert 1 < best.beta[0] < 10
    assert np.isfinite(best.spread[0])


def test_no_stratum_with_both_outcomes_is_nothing_to_fit() -> None:
    assert Matched.build(np.ones((6, 1)), np.ones(6, bool), np.zeros(6, np.int64)) is None


def large(agents: int, effect: float, seed: int = 5) -> Sample:
    """20,000 runs; weak agents have the habit more often, and it costs ``effect``."""
    random = np.random.default_rng(seed)
    n = 20_000
    stratum, agent = random.integers(0, 40, n), random.integers(0, agents, n)
    habit = random.random(n) < 0.2 + 0.6 * agent / (agents - 1)
    skill = 2.0 * (0.5 - agent / (agents - 1))
    success = random.random(n) < 1 / (1 + np.exp(-(skill - effect * habit + random.normal(0, 1, 40)[stratum])))
    columns = Columns([Predicate("call-present", ("habit",))], habit[:, None], np.ones((n, 1), bool))
    return Sample(
        columns, success, stratum, [f"t{i}" for i in range(40)], [f"g{i}" for i in range(n)],
        [f"a{a}" for a in agent], np.ones(n, bool),
    )  # fmt: skip


def test_a_bounded_draw_of_a_large_family_tells_a_habit_from_who_has_it() -> None:
    true, false = large(8, 1.0), large(8, 0.0)
    kept, gone = adjust(true, 0, -1.6, 0.001), adjust(false, 0, -0.8, 0.001)
    assert (kept.verdict, gone.verdict) == ("same", "gone")
    assert kept.odds_ratio == pytest.approx(np.exp(-1.0), rel=0.25)
    assert kept.units < len(true.success) / 2
    assert kept.method == "conditional"


def test_beyond_the_bound_only_runs_of_one_task_and_agent_are_compared() -> None:
    true, false = large(8, 1.0), large(8, 0.0)
    kept, gone = adjust(true, 0, -1.6, 0.001, fully=False), adjust(false, 0, -0.8, 0.001, fully=False)
    assert (kept.verdict, gone.verdict) == ("same", "gone")
    assert (kept.method, kept.units) == ("stratified", len(true.success))


def test_which_units_are_drawn_does_not_depend_on_what_they_did() -> None:
    one, two = large(8, 1.0), large(8, 0.0)
    assert (Crew.of(one).drawn == Crew.of(two).drawn).all()
