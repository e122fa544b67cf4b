"""The plot of a rule's readers over time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review_ui.timeline import LEFT, PLOT_HEIGHT, RIGHT, SHAPES, Count, Mark, level_above, timeline

FROM = datetime(2026, 11, 1, tzinfo=UTC)
EDGES = [FROM + timedelta(days=day) for day in range(31)]
LABELS = [f"{day + 1} Nov" for day in range(30)]


def at(day: float, version: int = 1, kind: str = "promoted") -> Mark:
    return Mark(FROM + timedelta(days=day), version, kind, f"{kind} on day {day}")


def test_a_bar_is_as_high_as_its_answers_and_stands_on_the_base() -> None:
    drawn = timeline(EDGES, LABELS, [Count(3, 1, 50, 10), Count(4, 1, 100, 100)], [], newest=1)
    half, whole = drawn.bars
    assert (half.height, whole.height) == (PLOT_HEIGHT / 2, PLOT_HEIGHT)
    assert half.y + half.height == whole.y + whole.height == drawn.base
    assert half.x < whole.x


def test_versions_are_stacked_the_older_below_and_told_apart() -> None:
    counts = [Count(0, 3, 10, 1), Count(0, 1, 20, 1), Count(0, 2, 20, 1)]
    drawn = timeline(EDGES, LABELS, counts, [], newest=3)
    assert [(bar.version, bar.layer) for bar in drawn.bars] == [(1, "older"), (2, "before"), (3, "newest")]
    first, second, third = drawn.bars
    assert first.y == pytest.approx(second.y + second.height)
    assert second.y == pytest.approx(third.y + third.height)


def test_sessions_are_a_line_across_the_whole_bar() -> None:
    drawn = timeline(EDGES, LABELS, [Count(0, 1, 60, 20), Count(0, 2, 40, 30), Count(5, 1, 1, 0)], [], newest=2)
    (line,) = drawn.lines
    assert line.y == drawn.base - PLOT_HEIGHT / 2
    assert line.x1 < drawn.bars[0].x
    assert line.x2 > drawn.bars[0].x + drawn.bars[0].width


def test_marks_lie_at_their_time_and_those_outside_are_left_out() -> None:
    drawn = timeline(EDGES, LABELS, [], [at(-1), at(0), at(15), at(30), at(31)], newest=1)
    assert [mark.x for mark in drawn.marks] == [LEFT, (LEFT + drawn.right) / 2, drawn.right]


def test_marks_that_are_close_get_rows_of_their_own() -> None:
    drawn = timeline(EDGES, LABELS, [], [at(10, 1, "superseded"), at(10, 2), at(10.1, 2, "revoked"), at(20, 3)], 3)
    assert len({mark.y for mark in drawn.marks[:3]}) == 3
    assert drawn.marks[3].y == drawn.marks[0].y
    assert [mark.label for mark in drawn.marks] == ["v1", "v2", "v2", "v3"]
    assert max(mark.y for mark in drawn.marks) < drawn.top


def test_each_kind_of_mark_has_a_shape_of_its_own() -> None:
    assert len(set(SHAPES.values())) == len(SHAPES)
    drawn = timeline(EDGES, LABELS, [], [at(3, 1, kind) for kind in SHAPES], newest=1)
    assert sorted(mark.shape for mark in drawn.marks) == sorted(SHAPES.values())


def test_without_marks_no_room_is_kept_for_them() -> None:
    assert timeline(EDGES, LABELS, [], [], 1).height < timeline(EDGES, LABELS, [], [at(3)], 1).height


def test_a_day_that_summer_time_makes_longer_is_as_wide_as_another() -> None:
    edges = [*EDGES[:5], *(edge + timedelta(hours=1) for edge in EDGES[5:])]
    drawn = timeline(edges, LABELS, [], [Mark(edges[4], 1, "promoted", ""), Mark(edges[5], 1, "promoted", "")], 1)
    assert drawn.marks[1].x - drawn.marks[0].x == pytest.approx((drawn.right - LEFT) / 30, abs=0.11)


@pytest.mark.parametrize("width", [340, 760])
@pytest.mark.parametrize("spans", [1, 30, 48])
def test_labels_of_the_time_axis_keep_apart_and_the_last_span_has_one(width: int, spans: int) -> None:
    edges = [FROM + timedelta(hours=hour) for hour in range(spans + 1)]
    labels = [f"{hour}:00" for hour in range(spans)]
    times = timeline(edges, labels, [], [], 1, width=width).times
    assert times[-1].text == labels[-1]
    places = [tick.place for tick in times]
    assert all(after - before >= 60 for before, after in pairwise(places))


@pytest.mark.parametrize(
    ("value", "level"), [(0, 1), (1, 1), (2, 2), (3, 4), (9, 10), (11, 20), (5999, 6000), (8001, 10_000)]
)
def test_the_scale_ends_at_a_round_figure(value: int, level: int) -> None:
    assert level_above(value) == level


@given(
    st.lists(
        st.builds(Count, st.integers(0, 29), st.integers(1, 4), st.integers(1, 10**6), st.integers(0, 10**3)),
        max_size=20,
        unique_by=lambda count: (count.span, count.version),
    ),
    st.lists(st.floats(0, 30), max_size=12),
    st.sampled_from([340, 760]),
)
def test_nothing_is_drawn_outside_the_plot(counts: list[Count], days: list[float], width: int) -> None:
    drawn = timeline(EDGES, LABELS, counts, [at(day) for day in days], newest=4, width=width)
    for bar in drawn.bars:
        assert bar.x >= LEFT
        assert bar.x + bar.width <= width - RIGHT + 0.2
        assert drawn.top - 0.2 <= bar.y
        assert bar.y + bar.height <= drawn.base + 0.2
    assert len(drawn.marks) == len(days)
    assert all(LEFT <= mark.x <= drawn.right and 0 < mark.y < drawn.top for mark in drawn.marks)
