"""Ranges of versions and times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.conflict.scopes import is_newer, overlap, parse_range


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("*", "3.2", True),
        ("3.2", "3.2.0", True),
        ("3.2", "3.3", False),
        (">=3.1,<=3.4", ">=3.4,<=4", True),
        (">=3.1,<=3.4", ">=3.5", False),
        (">=3.10", "<=3.9", False),
        ("blue", "blue", True),
        ("blue", "green", False),
        ("blue", "3.2", False),
        ("blue", "*", True),
    ],
)
def test_ranges_overlap_where_some_version_is_in_both(one: str, two: str, expected: bool) -> None:
    assert parse_range(one).overlaps(parse_range(two)) is expected
    assert parse_range(two).overlaps(parse_range(one)) is expected


BOUND = st.integers(0, 6)


@given(BOUND, BOUND, BOUND, BOUND)
def test_ranges_agree_with_counting_the_versions(a: int, b: int, c: int, d: int) -> None:
    one, two = sorted((a, b)), sorted((c, d))
    shared = set(range(one[0], one[1] + 1)) & set(range(two[0], two[1] + 1))
    left, right = (parse_range(f">={low},<={high}") for low, high in (one, two))
    assert left.overlaps(right) is bool(shared)


def test_components_that_only_one_side_names_do_not_part_them() -> None:
    assert overlap({"environment": {"api": "3"}}, {"environment": {"db": "1"}})


def test_intervals_that_only_touch_are_disjoint() -> None:
    assert not overlap({"valid_to": "2026-02-01"}, {"valid_from": "2026-02-01T00:00:00Z"})


def test_newer_is_by_time_or_by_version() -> None:
    assert is_newer({"valid_from": "2026-02-01"}, {})
    assert is_newer({"environment": {"api": "3.10"}}, {"environment": {"api": "<=3.9"}})
    assert not is_newer({"environment": {"api": "3.9"}}, {"environment": {"api": "*"}})
    assert not is_newer({}, {})


@pytest.mark.parametrize(
    ("one", "two", "covers"),
    [
        ("*", "3.2", True),
        ("*", "b7", True),
        ("3.2", "*", False),
        (">=3.1,<=3.4", "3.2", True),
        (">=3.1,<=3.4", ">=3.2", False),
        (">=3.1", ">=3.2,<=3.4", True),
        ("3.2", "3.2.0", True),
        ("b7", "b7", True),
        ("b7", "b8", False),
        (">=3", "b7", False),
    ],
)
def test_a_range_covers_another_if_every_version_of_it_lies_within(one: str, two: str, covers: bool) -> None:
    assert parse_range(one).covers(parse_range(two)) is covers
