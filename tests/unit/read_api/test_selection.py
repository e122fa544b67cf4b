"""Which rules an answer holds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from read_api.selection import Asker, Option, choose, estimate_tokens, in_range, out_of_scope

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def asker(**given: Any) -> Asker:
    return Asker(**{"environment": {}, "agent": None, "k": 2, "token_budget": None, "now": NOW, **given})


def options(*scopes: dict[str, Any], tokens: int = 10) -> list[Option]:
    return [Option(f"r{at}", 1, scope, tokens) for at, scope in enumerate(scopes)]


def test_few_rules_are_all_served_even_without_a_shared_word() -> None:
    choice = choose(options({}, {}), [0.0, 0.0], asker())
    assert choice.served == [0, 1]
    assert not choice.found


def test_many_rules_are_cut_to_the_best() -> None:
    choice = choose(options({}, {}, {}, {}), [1.0, 3.0, 0.01, 2.0], asker(k=3))
    assert choice.served == [1, 3, 0]


def test_many_rules_without_a_shared_word_are_no_answer() -> None:
    assert choose(options({}, {}, {}), [0.0, 0.0, 0.0], asker()).served == []


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
    choice = choose(options(scope, {}), [5.0, 1.0], asker(**given))
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
    long, short = Option("long", 1, {}, 100), Option("short", 1, {}, 20)
    choice = choose([long, short], [2.0, 1.0], asker(token_budget=50))
    assert choice.served == [1]
    assert choice.withheld[0][1].startswith("token budget")


def test_tokens_are_counted_by_script() -> None:
    assert estimate_tokens("取消订单" * 10) > estimate_tokens("cancel it " * 4)
