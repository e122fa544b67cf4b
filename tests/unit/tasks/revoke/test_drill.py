"""What a drill makes of what its readers noted: until when they were served, and whether that was soon enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.revoke.drill import Reading, Spell, judge, limit_of, percentile, reading, spread


def stopped(at: float, served: float | None = None) -> Reading:
    return Reading(served_until=at - 0.01 if served is None else served, refused_from=at)


def test_a_reader_stops_between_its_last_answer_with_the_canary_and_its_next_question() -> None:
    assert reading([Spell(True, -3.0, 0.2), Spell(False, 0.25, 1.9)]) == Reading(0.2, 0.25)


def test_a_reader_that_is_served_to_the_end_never_stopped() -> None:
    assert reading([Spell(True, -3.0, 30.0)]).refused_from is None


def test_what_was_answered_before_the_commit_counts_as_nothing() -> None:
    assert reading([Spell(True, -3.0, -0.1), Spell(False, -0.05, 2.0)]) == Reading(0.0, 0.0)


def test_a_reader_without_a_cache_for_a_moment_before_the_commit_has_not_stopped_then() -> None:
    found = reading([Spell(True, -5, -4), Spell(False, -3.9, -3.5), Spell(True, -3.4, 0.3), Spell(False, 0.35, 2)])
    assert found == Reading(0.3, 0.35, came_back=0)


def test_a_canary_that_is_served_again_after_a_refusal_came_back() -> None:
    found = reading([Spell(True, -5, 0.1), Spell(False, 0.2, 1.0), Spell(True, 1.1, 1.2), Spell(False, 1.3, 4.0)])
    assert found == Reading(1.2, 1.3, came_back=1)


def test_an_answer_that_was_asked_for_before_the_commit_is_no_coming_back() -> None:
    found = reading([Spell(True, -5, -2), Spell(False, -1.9, -1.0), Spell(True, -0.1, 0.4), Spell(False, 0.5, 2)])
    assert found.came_back == 0
    assert found.served_until == 0.4


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 50), (0.95, 95), (0.99, 99), (0.991, 100), (1.0, 100)])
def test_a_percentile_is_the_nearest_rank(share: float, value: int) -> None:
    assert percentile(range(100, 0, -1), share) == value


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_a_percentile_was_measured_and_enough_values_are_no_larger(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(each <= found for each in values) >= share * len(values)


def test_nobody_has_no_percentile() -> None:
    assert spread([]) == {}
    with pytest.raises(ValueError, match="nobody read"):
        percentile([], 0.5)


def test_a_drill_passes_where_everyone_stopped_in_time() -> None:
    found = judge([stopped(0.1), stopped(0.4)], "connected", wanted=2, lease=15)
    assert found.passed
    assert (found.refused["p50"], found.refused["max"], found.limit_seconds) == (0.1, 0.4, 1.0)


def test_where_readers_are_told_the_later_end_counts() -> None:
    found = judge([stopped(1.2, served=0.9)], "connected", wanted=1, lease=15)
    assert found.wrong == ("the 99th percentile is 1.200 s, over the limit of 1 s",)


@pytest.mark.parametrize("condition", ["disconnected", "web-down"])
def test_where_readers_are_not_told_only_the_lease_counts(condition: str) -> None:
    in_time = judge([stopped(15.01, served=14.99)], condition, wanted=1, lease=15, limit=1)
    assert not in_time.passed, "a limit that was asked for holds"
    assert judge([stopped(15.01, served=14.99)], condition, wanted=1, lease=15).passed
    late = judge([stopped(15.2, served=15.1)], condition, wanted=1, lease=15)
    assert late.past_lease == 1
    assert not late.passed


def test_one_reader_past_its_lease_fails_a_drill_whatever_the_percentile_says() -> None:
    found = judge([*[stopped(0.1)] * 199, stopped(16.0)], "connected", wanted=200, lease=15)
    assert found.refused["p99"] == 0.1
    assert found.wrong == ("1 served it after their lease of 15 s",)


def test_a_reader_that_never_stopped_fails_a_drill() -> None:
    found = judge([stopped(0.1), Reading(12.0, None)], "connected", wanted=2, lease=15)
    assert (found.never, found.passed) == (1, False)


def test_a_reader_that_was_served_again_fails_a_drill() -> None:
    assert not judge([Reading(0.2, 0.3, came_back=1)], "connected", wanted=1, lease=15).passed


def test_readers_that_told_nothing_fail_a_drill() -> None:
    assert judge([stopped(0.1)], "connected", wanted=2, lease=15).wrong == ("1 of 2 readers told nothing",)
    assert not judge([], "web-down", wanted=2, lease=15).passed


def test_no_limit_is_longer_than_the_lease() -> None:
    assert limit_of("redis-down", 15, None) == 5
    assert limit_of("redis-down", 2, None) == 2
    assert limit_of("connected", 15, 60) == 15
    assert limit_of("web-down", 15, None) == 15
