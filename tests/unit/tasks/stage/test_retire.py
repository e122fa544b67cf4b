"""How much one night may propose to retire."""

from __future__ import annotations

import pytest

from tasks.stage.retire import LIMIT, halts, limit_of, words


@pytest.mark.parametrize(
    ("retired", "active", "halted"),
    [(0, 0, False), (1, 1, False), (1, 3, False), (2, 5, True), (2, 10, False), (3, 10, True), (20, 100, False),
     (21, 100, True)],
)  # fmt: skip
def test_a_plan_that_would_retire_more_than_a_fifth_halts_and_one_rule_never_does(
    retired: int, active: int, halted: bool
) -> None:
    assert halts([f"r{n}" for n in range(retired)], active, LIMIT) is halted


def test_a_rule_named_twice_is_retired_once() -> None:
    assert not halts(["r", "r", "r"], 5, LIMIT)


def test_the_limit_is_policy_and_the_words_say_how_to_go_on() -> None:
    assert limit_of({}) == LIMIT
    assert not halts(["a", "b", "c"], 4, limit_of({"retire_limit": 0.9}))
    assert "retire_limit" in words(["a", "b"], 4, LIMIT)
    assert "2 of 4 active rules" in words(["a", "b"], 4, LIMIT)
