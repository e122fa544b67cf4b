"""Token buckets: never more than was agreed, never less, in bounded memory."""

from __future__ import annotations

from hypothesis import given, seed
from hypothesis import strategies as st

from read_api.bucket import Buckets

SEED = 57


@seed(SEED)
@given(
    rate=st.integers(1, 50),
    burst=st.integers(1, 50),
    steps=st.lists(st.integers(0, 400), min_size=1, max_size=200),
)
def test_no_span_of_time_lets_more_through_than_its_burst_and_its_rate(rate: int, burst: int, steps: list[int]) -> None:
    print("seed", SEED)
    buckets, now, taken = Buckets(rate, burst), 0.0, list[float]()
    for step in steps:
        now += step / 100
        if buckets.take("a", now) == 0.0:
            taken.append(now)
    for first, start in enumerate(taken):
        for last in range(first, len(taken)):
            assert last - first + 1 <= burst + (taken[last] - start) * rate + 1e-6


@seed(SEED)
@given(rate=st.integers(1, 50), burst=st.integers(1, 50), asked=st.integers(1, 100))
def test_who_waits_as_long_as_was_said_is_let_through(rate: int, burst: int, asked: int) -> None:
    print("seed", SEED)
    buckets = Buckets(rate, burst)
    for _ in range(asked):
        wait = buckets.take("a", 0.0)
    assert buckets.take("a", wait + 1.0 / rate + 1e-6) == 0.0


def test_one_key_takes_nothing_from_another() -> None:
    buckets = Buckets(1, 1)
    assert buckets.take("a", 0.0) == 0.0
    assert buckets.take("a", 0.0) == 1.0
    assert buckets.take("b", 0.0) == 0.0


def test_a_clock_that_goes_back_gives_nothing() -> None:
    buckets = Buckets(1, 1)
    assert buckets.take("a", 100.0) == 0.0
    assert buckets.take("a", 0.0) > 0.0
    assert buckets.take("a", 100.5) > 0.0


def test_memory_is_bounded_and_the_keys_used_last_are_kept() -> None:
    buckets = Buckets(1, 1, most=3)
    for key in ("a", "b", "c", "a", "d"):
        buckets.take(key, 0.0)
    assert len(buckets) == 3
    assert buckets.take("a", 0.0) > 0.0
    assert buckets.take("b", 0.0) == 0.0


def test_a_rate_of_nothing_refuses_nothing() -> None:
    buckets = Buckets(0, 1)
    assert {buckets.take("a", 0.0) for _ in range(100)} == {0.0}
    assert len(buckets) == 0
