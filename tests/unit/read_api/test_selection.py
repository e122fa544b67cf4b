"""Which rules an answer holds."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from read_api.selection import Asker, choose, estimate_tokens, in_range, out_of_scope, with_other_sides
from read_api.shelf import Option, Shelf, shelf_of

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def asker(**given: Any) -> Asker:
    return Asker(**{"environment": {}, "agent": None, "k": 2, "token_budget": None, "now": NOW, **given})


def options(*scopes: dict[str, Any]) -> Shelf:
    return shelf_of([Option(f"r{at}", 1, scope) for at, scope in enumerate(scopes)])


def scores(*given: float) -> np.ndarray:
    return np.array(given, float)


def test_few_rules_are_all_served_even_without_a_shared_word() -> None:
    choice = choose(options({}, {}), scores(0.0, 0.0), asker())
    assert choice.served == [0, 1]
    assert not choice.found


def test_many_rules_are_cut_to_the_best() -> None:
    choice = choose(options({}, {}, {}, {}), scores(1.0, 3.0, 0.01, 2.0), asker(k=3))
    assert choice.served == [1, 3, 0]


def test_many_rules_without_a_shared_word_are_no_answer() -> None:
    assert choose(options({}, {}, {}), scores(0.0, 0.0, 0.0), asker()).served == []


@pytest.mark.parametrize(
    ("scope", "given", "reason"),
    [
        ({"environment": {"shop": ">=2.0,<=2.4"}}, {"environment": {"shop": "3.0"}}, "environment"),
        ({"agents": ["clerk"]}, {"agent": "cook"}, "agent"),
        ({"agents": ["clerk"]}, {}, "agent"),
        ({"valid_from": "2027-01-01"}, {}, "time"),
        ({"valid_to": "2026-01-01T00:00:00Z"}, {}, "time"),
    ],
)
def test_a_rule_outside_its_scope_is_withheld_with_the_reason(scope: Any, given: Any, reason: str) -> None:
    choice = choose(options(scope, {}), scores(5.0, 1.0), asker(**given))
    assert choice.served == [1]
    assert [(at, why.split(":")[0]) for at, why in choice.withheld] == [(0, reason)]


@pytest.mark.parametrize(
    ("scope", "given"),
    [
        ({"environment": {"shop": ">=2.0,<=2.4"}}, {"environment": {"shop": "2.1.3"}}),
        ({"environment": {"shop": "2.1"}}, {}),
        ({"environment": {"model": "*"}}, {"environment": {"model": "large-v2"}}),
        ({"agents": ["clerk"]}, {"agent": "clerk"}),
        ({"valid_from": None}, {}),
    ],
)
def test_a_rule_inside_its_scope_is_served(scope: Any, given: Any) -> None:
    assert out_of_scope(scope, asker(**given)) == ""


@pytest.mark.parametrize(
    ("version", "verified", "inside"),
    [("2.10", ">=2.2,<=2.11", True), ("2.0", "2", True), ("2.12", ">=2.2,<=2.11", False), ("blue", "red", False)],
)
def test_versions_are_compared_as_numbers(version: str, verified: str, inside: bool) -> None:
    assert in_range(version, verified) is inside


def test_what_does_not_fit_the_budget_is_withheld_and_a_shorter_one_may_still_fit() -> None:
    both = shelf_of([Option("long", 1, {}, "lengthy " * 100), Option("short", 1, {}, "brief " * 20)])
    choice = choose(both, scores(2.0, 1.0), asker(token_budget=50))
    assert choice.served == [1]
    assert choice.withheld[0][1].startswith("token budget")


def test_tokens_are_counted_by_script() -> None:
    assert estimate_tokens("取消订单" * 10) > estimate_tokens("cancel it " * 4)


def test_what_says_the_same_is_withheld_with_the_one_that_is_served() -> None:
    text = "look at the status of the order before it is cancelled for the customer"
    shelf = shelf_of([Option("a", 1, {}, text), Option("b", 2, {}, text.upper())])
    choice = choose(shelf, scores(2.0, 1.0), asker())
    assert choice.served == [0]
    assert choice.withheld == [(1, "says the same as 'a' version 1")]


def test_few_of_many_in_scope_are_found_behind_any_number_out_of_scope() -> None:
    shelf = options(*[{"agents": ["cook"]}] * 300, {}, {}, {}, {})
    found = choose(shelf, scores(*[2.0] * 300, 1.0, 0.9, 0.0, 0.0), asker())
    assert found.served == [300, 301]


def test_the_other_side_of_a_conflict_joins_in_the_place_of_the_last_free_one() -> None:
    shelf = options({}, {}, {}, {})
    choice = choose(shelf, scores(4.0, 3.0, 2.0, 1.0), asker())
    whole = with_other_sides(choice, {0: {3}, 3: {0}}, shelf, asker())
    assert whole.served == [0, 3]
    assert whole.withheld[0] == (1, "gave way to the other side of a conflict")


def test_both_sides_are_withheld_where_not_both_fit() -> None:
    shelf = options({}, {}, {})
    asked = asker(k=1)
    choice = choose(shelf, scores(4.0, 3.0, 2.0), asked)
    whole = with_other_sides(choice, {0: {2}, 2: {0}}, shelf, asked)
    assert whole.served == []
    assert [(at, why.split(":")[0]) for at, why in whole.withheld] == [(0, "conflict"), (2, "conflict")]


def test_both_sides_are_withheld_where_the_budget_holds_one() -> None:
    shelf = shelf_of(
        [Option("a", 1, {}, "short text"), Option("b", 1, {}, "a much longer text " * 9), Option("c", 1, {})]
    )
    asked = asker(token_budget=20)
    choice = choose(shelf, scores(4.0, 1.0, 3.0), asked)
    assert choice.served == [0, 2]
    whole = with_other_sides(choice, {0: {1}, 1: {0}}, shelf, asked)
    assert whole.served == [2]
    assert {at for at, why in whole.withheld if why.startswith("conflict")} == {0, 1}


def test_what_is_out_of_scope_asks_for_no_other_side() -> None:
    shelf = options({}, {"agents": ["cook"]}, {})
    choice = choose(shelf, scores(4.0, 3.0, 0.0), asker())
    assert with_other_sides(choice, {0: {1}, 1: {0}}, shelf, asker()).served == choice.served


@pytest.mark.parametrize("seed", range(200))
def test_no_side_is_ever_served_alone(seed: int) -> None:
    chance = random.Random(seed)
    shelf = shelf_of([Option(f"r{at}", 1, {}, f"{chr(97 + at)}word " * chance.randint(1, 30)) for at in range(8)])
    asked = asker(k=chance.randint(1, 6), token_budget=chance.choice([None, 40, 80]))
    sides: dict[int, set[int]] = {}
    for _ in range(chance.randint(1, 3)):
        one, other = chance.sample(range(8), 2)
        sides.setdefault(one, set()).add(other)
        sides.setdefault(other, set()).add(one)
    choice = choose(shelf, scores(*(chance.random() for _ in range(8))), asked)
    known = {at: sides[at] for at in choice.served if at in sides}
    whole = with_other_sides(choice, known, shelf, asked)
    assert len(whole.served) == len(set(whole.served)) <= asked.k
    for at in whole.served:
        assert known.get(at, set()) <= set(whole.served), f"seed {seed}"
    assert not set(whole.served) & {at for at, _ in whole.withheld}
    if asked.token_budget is not None:
        assert sum(estimate_tokens(shelf[at].text) for at in whole.served) <= asked.token_budget
