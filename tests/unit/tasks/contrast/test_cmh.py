"""Against numbers computed in other ways: textbook values, brute-force enumeration, scipy's own tests."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tasks.contrast.cmh import Tables, count, effects, exact_law, exact_p, odds_ratios, one_sided_p
from tasks.contrast.features import Columns
from tasks.contrast.predicate import Predicate

Cells = list[tuple[int, int, int, int]]


def tables(cells: Cells) -> Tables:
    return Tables(*(np.array([[row[i]] for row in cells], np.int64) for i in range(4)))


# Admissions to six departments of a university in 1973 (Bickel, Hammel and O'Connell 1975): men admitted, women
# admitted, men rejected, women rejected.
ADMISSIONS: Cells = [
    (512, 89, 313, 19), (353, 17, 207, 8), (120, 202, 205, 391), (138, 131, 279, 244), (53, 94, 138, 299),
    (22, 24, 351, 317),
]  # fmt: skip


def test_the_admissions_table_gives_the_published_result() -> None:
    """Published: common odds ratio 0.905, 95 % interval 0.772 to 1.060; uncorrected chi-square 1.5246, p 0.2169."""
    seen = effects(tables(ADMISSIONS))
    assert seen.odds_ratio[0] == pytest.approx(0.9047, abs=2e-4)
    assert (seen.low[0], seen.high[0]) == pytest.approx((0.7719, 1.0603), abs=1e-3)
    assert seen.excess[0] ** 2 / seen.variance[0] == pytest.approx(1.5246, abs=1e-3)
    assert seen.p[0] == pytest.approx(0.2169, abs=1e-3)


def test_one_stratum_is_the_plain_odds_ratio_with_woolfs_interval() -> None:
    ratio, low, high = odds_ratios(tables([(12, 5, 7, 20)]))
    spread = 1.959964 * math.sqrt(1 / 12 + 1 / 5 + 1 / 7 + 1 / 20)
    plain = 12 * 20 / (5 * 7)
    assert (ratio[0], low[0], high[0]) == pytest.approx((plain, plain * math.exp(-spread), plain * math.exp(spread)))


def test_one_stratum_without_mid_p_is_fishers_one_sided_test() -> None:
    for side, alternative in ((-1, "less"), (1, "greater")):
        for cells in ((3, 9, 8, 2), (5, 5, 5, 5), (0, 6, 4, 3)):
            fisher = stats.fisher_exact([[cells[0], cells[1]], [cells[2], cells[3]]], alternative=alternative)
            assert exact_p(tables([cells]), side=side, mid=False) == pytest.approx(fisher.pvalue)


SMALL = st.tuples(*[st.integers(0, 3)] * 4)


def enumerated(cells: Cells) -> dict[int, float]:
    """The law of the summed first cell, by trying every choice of who succeeded in every stratum."""
    law: dict[int, float] = {0: 1.0}
    for a, b, c, d in cells:
        n, with_, won = a + b + c + d, a + c, a + b
        counts: dict[int, float] = {}
        for chosen in itertools.combinations(range(n), won):
            hit = sum(unit < with_ for unit in chosen)
            counts[hit] = counts.get(hit, 0) + 1 / math.comb(n, won)
        law = {
            one: sum(p * counts.get(one - before, 0.0) for before, p in law.items())
            for one in range(sum(map(max, law, [0] * len(law))) + n + max(law) + 1)
        }
    return {value: p for value, p in law.items() if p > 0}


@settings(max_examples=30, deadline=None)
@given(st.lists(SMALL, min_size=1, max_size=3))
def test_the_exact_law_and_mid_p_agree_with_brute_force(cells: Cells) -> None:
    law, least, observed = exact_law(tables(cells))
    expected = enumerated(cells)
    assert {least + i: p for i, p in enumerate(law) if p > 1e-12} == pytest.approx(expected)
    below = sum(p for value, p in expected.items() if value < observed)
    above = sum(p for value, p in expected.items() if value > observed)
    half = expected[observed] / 2
    assert exact_p(tables(cells)) == pytest.approx(min(1.0, 2 * (min(below, above) + half)))
    assert exact_p(tables(cells), side=-1) == pytest.approx(below + half)
    assert exact_p(tables(cells), side=1, mid=False) == pytest.approx(min(1.0, above + 2 * half))


@settings(max_examples=30, deadline=None)
@given(st.lists(SMALL, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_strata_does_not_matter(cells: Cells, random: object) -> None:
    shuffled = sorted(cells, key=lambda _: random.random())  # type: ignore[attr-defined]
    one, two = effects(tables(cells)), effects(tables(shuffled))
    for name in ("odds_ratio", "low", "high", "p", "strata"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.lists(SMALL, min_size=1, max_size=5))
def test_swapping_success_and_failure_inverts_the_ratio_and_keeps_p(cells: Cells) -> None:
    one, two = effects(tables(cells)), effects(tables([(c, d, a, b) for a, b, c, d in cells]))
    assert one.p == pytest.approx(two.p)
    if 0 < one.odds_ratio[0] < math.inf:
        assert two.odds_ratio[0] == pytest.approx(1 / one.odds_ratio[0])


def test_a_stratum_with_one_outcome_says_nothing() -> None:
    cells: Cells = [(3, 9, 8, 2), (5, 1, 3, 4)]
    one, two = effects(tables(cells)), effects(tables([*cells, (7, 2, 0, 0), (0, 4, 0, 9)]))
    assert (one.p[0], one.strata[0]) == (two.p[0], two.strata[0])
    assert one.odds_ratio[0] == pytest.approx(two.odds_ratio[0])


def test_an_empty_cell_sum_gives_an_exact_open_interval() -> None:
    """With 0 of 6 against 5 of 5 the upper bound solves P(none) = 0.025 under Fisher's noncentral law."""
    ratio, low, high = odds_ratios(tables([(0, 6, 5, 2)]))
    assert (ratio[0], low[0]) == (0.0, 0.0)
    assert stats.nchypergeom_fisher.pmf(0, 13, 5, 6, high[0]) == pytest.approx(0.025, rel=1e-6)


def test_nothing_informative_is_p_one_and_an_interval_without_bounds() -> None:
    seen = effects(tables([(3, 0, 0, 0)]))
    assert (seen.p[0], seen.low[0], seen.high[0]) == (1.0, 0.0, math.inf)


def test_the_normal_law_takes_over_where_counts_are_large_and_stays_on_the_safe_side() -> None:
    cells: Cells = [(60, 50, 45, 60)] * 20
    assert one_sided_p(tables(cells), 1) == pytest.approx(exact_p(tables(cells), side=1, mid=False), rel=0.05)


def test_units_outside_the_mask_are_not_counted() -> None:
    column = Columns([Predicate("loop", ("a",))], np.array([[1], [0], [1]], bool), np.array([[1], [1], [0]], bool))
    got = count(column, np.array([True, False, True]), np.array([0, 0, 0]), 1)
    assert [int(part[0, 0]) for part in got.parts()] == [1, 0, 0, 1]
