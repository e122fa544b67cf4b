"""Odds ratios, their intervals, and where they are drawn."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review_ui.plot import (
    LEFT,
    PLOT_WIDTH,
    Estimate,
    Stratum,
    estimate,
    forest,
    informative,
    interval_words,
    mini,
    place_of,
)

CELLS = st.integers(0, 50)
STRATA = st.builds(Stratum, st.text(max_size=60), CELLS, CELLS, CELLS, CELLS)


def test_an_estimate_is_the_textbook_odds_ratio_with_woolfs_interval() -> None:
    found = estimate(Stratum("a", 10, 20, 30, 15))
    assert found.odds_ratio == pytest.approx(10 * 15 / (20 * 30))
    spread = 1.959964 * math.sqrt(1 / 10 + 1 / 20 + 1 / 30 + 1 / 15)
    assert found.low == pytest.approx(0.25 * math.exp(-spread), rel=1e-5)
    assert found.high == pytest.approx(0.25 * math.exp(spread), rel=1e-5)


def test_an_empty_cell_is_corrected_by_one_half() -> None:
    assert estimate(Stratum("a", 0, 4, 3, 1)).odds_ratio == pytest.approx(0.5 * 1.5 / (4.5 * 3.5))


@given(st.lists(STRATA, max_size=40))
def test_everything_is_drawn_inside_the_frame(strata: list[Stratum]) -> None:
    drawn = forest(strata, Estimate(0.1, 0.0, math.inf))
    for row in drawn.rows:
        assert LEFT <= row.x_low <= row.x <= row.x_high <= LEFT + PLOT_WIDTH
        assert 0 < row.y < drawn.height
    assert len(drawn.rows) + drawn.left_out == len(drawn.table) == sum(map(informative, strata))


@pytest.mark.parametrize(
    "stratum", [Stratum("a", 3, 4, 0, 0), Stratum("a", 0, 0, 3, 4), Stratum("a", 3, 0, 4, 0), Stratum("a", 0, 3, 0, 4)]
)
def test_a_task_without_both_outcomes_and_both_ways_says_nothing(stratum: Stratum) -> None:
    assert not informative(stratum)
    assert forest([stratum], None).rows == ()


def test_a_task_where_successes_do_the_opposite_is_marked() -> None:
    rows = forest([Stratum("with", 1, 9, 9, 1), Stratum("against", 9, 1, 1, 8)], Estimate(0.2, 0.1, 0.6)).rows
    assert {row.name: row.opposite for row in rows} == {"with": False, "against": True}


def test_an_interval_that_leaves_the_axis_is_marked_at_its_end() -> None:
    row = forest([Stratum("a", 0, 1, 1, 1)], None).rows[0]
    assert (row.cut_low, row.cut_high) == (True, False)


def test_one_lies_in_the_middle_of_the_axis() -> None:
    assert place_of(1.0) == LEFT + PLOT_WIDTH / 2


def test_a_small_drawing_says_whether_no_effect_is_excluded() -> None:
    assert mini(None) is None
    away, across = mini(Estimate(0.1, 0.03, 0.4)), mini(Estimate(0.8, 0.3, 2.0))
    assert away is not None
    assert away.away
    assert across is not None
    assert not across.away


def test_words_for_an_interval_never_hide_an_open_end() -> None:
    assert interval_words(Estimate(0.11, 0.004, math.inf)) == "0.11 (< 0.01 to ∞)"
    assert interval_words(None) == "no estimate"


def test_a_task_that_was_found_to_be_an_exception_is_drawn_and_marked_however_small() -> None:
    many = [Stratum(f"task {n}", 5, 20, 20, 5) for n in range(40)]
    drawn = forest([*many, Stratum("small", 1, 2, 2, 1)], Estimate(0.1, 0.05, 0.2), 10, exceptions={"small"})
    assert {row.name: row.opposite for row in drawn.rows}["small"]
    assert drawn.rows[-1].name == "small", "in its place by size"
    assert (len(drawn.rows), drawn.left_out, drawn.opposite) == (10, 31, 1)
    assert [row.name for row in drawn.table if row.opposite] == ["small"]


def test_what_is_neither_drawn_nor_listed_is_counted() -> None:
    strata = [Stratum(f"task {n}", 5, 20, 20, 5) for n in range(300)] + [Stratum("alike", 5, 0, 5, 0)]
    drawn = forest(strata, None)
    assert (len(drawn.table), drawn.unlisted, drawn.silent) == (200, 100, 1)
    assert len(drawn.rows) + drawn.left_out == 300
