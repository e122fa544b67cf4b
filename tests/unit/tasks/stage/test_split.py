"""Where a claim can be cut, what a part of it is, and how it is tested on groups that it was not found on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tasks.contrast.features import Columns
from tasks.contrast.predicate import Predicate, from_canonical, predicate_id, stored_id
from tasks.contrast.sample import Sample
from tasks.stage.split import (
    LEAST,
    MOST_CUTS,
    MOST_VERSIONS,
    PartTest,
    Setting,
    Side,
    cuts,
    held_out_of,
    is_worth_it,
    look_at_part,
    mark_of,
    part_content,
    part_title,
    side_words,
    split_words,
)
from tasks.verify.coverage import belongs

CLAIM = Predicate("call-present", ("cancel_order",), "avoid")
WHOLE: dict[str, Any] = {
    "when_to_use": "Orders that may have shipped",
    "guidance": ["Do not call `cancel_order`."],
    "scope": {
        "namespace": "acme", "environment": {"api": ">=3.1,<=3.3", "db": "9"}, "agents": [], "recheck_at": "2027-01-01",
    },
    "predicate": CLAIM.canonical("orders"),
}  # fmt: skip


def on(version: str, count: int = LEAST, agent: str = "") -> list[Setting]:
    return [Setting(agent, {"api": version})] * count


def by(agent: str, count: int = LEAST) -> list[Setting]:
    return [Setting(agent, {})] * count


def keys(found: list[Any]) -> list[str]:
    return [cut.key for cut in found]


# Where


def test_versions_are_cut_between_every_two_that_follow_each_other() -> None:
    found = cuts([*on("3.10"), *on("3.2"), *on("3.9")], ())
    assert sorted(keys(found)) == ["api<=3.2", "api<=3.9"]
    (low, high) = next(cut for cut in found if cut.key == "api<=3.2").sides
    assert (low.within, low.environment) == ({"component": "api", "versions": "<=3.2"}, {"api": "3.2"})
    assert (high.within, high.environment) == ({"component": "api", "versions": ">=3.9"}, {"api": ">=3.9,<=3.10"})


def test_two_spellings_of_one_version_are_not_cut_apart() -> None:
    assert cuts([*on("3.2"), *on("3.2.0")], ()) == []


def test_versions_without_an_order_are_each_a_side() -> None:
    (cut,) = cuts([*on("blue"), *on("green"), *on("red")], ())
    assert cut.key == "api="
    assert [side.environment for side in cut.sides] == [{"api": "blue"}, {"api": "green"}, {"api": "red"}]
    many = [one for number in range(MOST_VERSIONS + 1) for one in on(f"build-{number}")]
    assert cuts(many, ()) == []


def test_two_agents_are_a_side_each_and_of_more_each_is_set_against_the_others() -> None:
    two = cuts([*by("ann"), *by("bob")], {"ann", "bob"})
    assert [side.within for side in two[0].sides] == [{"agents": ["ann"]}, {"agents": ["bob"]}]
    three = cuts([*by("ann"), *by("bob"), *by("cy")], {"ann", "bob", "cy"})
    assert keys(three) == ["agent=ann", "agent=bob", "agent=cy"]
    assert three[0].sides[1].within == {"agents_but": ["ann"]}
    assert three[0].sides[1].agents == ("bob", "cy")


def test_a_name_that_no_agent_asks_under_is_no_side() -> None:
    assert cuts([*by("ann"), *by("some-model")], {"ann"}) == []


def test_a_side_of_too_few_groups_to_compare_is_not_offered() -> None:
    assert cuts([*on("3.1"), *on("3.2", LEAST - 1)], ()) == []
    assert keys(cuts([*on("3.1"), *on("3.2", LEAST)], ())) == ["api<=3.1"]


def test_where_it_can_be_cut_is_bounded_and_the_evenest_come_first() -> None:
    settings = [one for minor in range(30) for one in on(f"3.{minor}")]
    found = cuts(settings, ())
    assert len(found) == MOST_CUTS
    assert found[0].key == "api<=3.14"


def test_no_unit_is_on_two_sides_of_a_cut() -> None:
    settings = [*on("3.1", agent="ann"), *on("3.2", agent="bob"), *by("cy"), *on("beta", agent="dee")]
    for cut in cuts(settings, {"ann", "bob", "cy", "dee"}):
        for one in settings:
            assert sum(side.holds(one) for side in cut.sides) <= 1, (cut.key, one)


def test_a_key_has_a_mark_that_a_form_can_carry_whatever_it_holds() -> None:
    (cut,) = cuts([*on("\u202e<b>"), *on('"green"')], ())
    assert cut.mark == mark_of(cut.key)
    assert len(cut.mark) == 12
    assert cut.mark.isalnum()


# Which runs are of a part


@pytest.mark.parametrize(
    ("within", "environment", "agent", "expected"),
    [
        ([], {}, "", True),
        ([{"agents": ["ann"]}], {}, "ann", True),
        ([{"agents": ["ann"]}], {}, "", False),
        ([{"agents_but": ["ann"]}], {}, "bob", True),
        ([{"agents_but": ["ann"]}], {}, "ann", False),
        ([{"agents_but": ["ann"]}], {}, "", False),
        ([{"component": "api", "versions": "<=3.2"}], {"api": "3.1.9"}, "", True),
        ([{"component": "api", "versions": "<=3.2"}], {"api": "3.10"}, "", False),
        ([{"component": "api", "versions": "<=3.2"}], {"db": "1"}, "", False),
        ([{"component": "api", "versions": "<=3.2"}], {"api": "beta"}, "", False),
        ([{"component": "api", "versions": "beta"}], {"api": "beta"}, "", True),
        ([{"component": "api", "versions": "<=3.2"}, {"agents": ["ann"]}], {"api": "3.1"}, "bob", False),
    ],
)
def test_a_run_that_does_not_say_which_side_it_is_of_is_of_neither(
    within: list[dict[str, Any]], environment: dict[str, str], agent: str, expected: bool
) -> None:
    assert belongs({"within": within}, environment, agent) is expected


# What a part is


def test_a_part_has_the_text_of_the_whole_and_a_scope_inside_it() -> None:
    side = Side({"component": "api", "versions": "<=3.2"}, (), {"api": ">=3.1,<=3.2"})
    part = part_content(WHOLE, side)
    assert {name: part[name] for name in ("when_to_use", "guidance")} == {
        name: WHOLE[name] for name in ("when_to_use", "guidance")
    }
    assert part["scope"] == WHOLE["scope"] | {"environment": {"api": ">=3.1,<=3.2", "db": "9"}}
    assert WHOLE["predicate"].get("within") is None


def test_a_part_of_a_part_keeps_both_conditions() -> None:
    first = part_content(WHOLE, Side({"agents": ["ann"]}, ("ann",)))
    second = part_content(first, Side({"component": "api", "versions": "3.1"}, (), {"api": "3.1"}))
    assert second["predicate"]["within"] == [{"agents": ["ann"]}, {"component": "api", "versions": "3.1"}]
    assert second["scope"]["agents"] == ["ann"]


def test_a_part_makes_the_claim_of_the_whole_under_an_identity_of_its_own() -> None:
    part = part_content(WHOLE, Side({"agents": ["ann"]}, ("ann",)))["predicate"]
    other = part_content(WHOLE, Side({"agents": ["bob"]}, ("bob",)))["predicate"]
    assert from_canonical(part) == CLAIM
    assert stored_id("acme", WHOLE["predicate"]) == predicate_id("acme", "orders", CLAIM)
    assert len({stored_id("acme", one) for one in (WHOLE["predicate"], part, other)}) == 3


@pytest.mark.parametrize(
    ("within", "words"),
    [
        ({"agents": ["ann"]}, "agent ann"),
        ({"agents_but": ["ann"]}, "agents other than ann"),
        ({"component": "api", "versions": "<=3.2"}, "api 3.2 and earlier"),
        ({"component": "api", "versions": ">=3.3"}, "api 3.3 and later"),
        ({"component": "api", "versions": "beta"}, "api beta"),
    ],
)
def test_a_side_is_told_in_words(within: dict[str, Any], words: str) -> None:
    assert side_words(within) == words
    assert part_title("Avoid it", Side(within)) == f"Avoid it ({words})"


def test_the_whole_says_into_what_it_was_split() -> None:
    (cut,) = cuts([*on("3.1"), *on("3.2")], ())
    assert split_words(cut, ["a", "b"]) == "split into a, b: api 3.1 and earlier | api 3.2 and later"


# How it is tested


def sample(harm: bool, tasks: int = 10) -> Sample:
    """Two runs with the act and two without in every task; with it they fail where it does harm."""
    value = np.tile([True, True, False, False], tasks)
    success = ~value if harm else np.tile([True, False, True, False], tasks)
    columns = Columns([CLAIM.undirected()], value[:, None], np.ones((4 * tasks, 1), bool))
    groups = [f"g{number}" for number in range(4 * tasks)]
    return Sample(
        columns, success, np.repeat(np.arange(tasks), 4), [f"t{n}" for n in range(tasks)], groups, ["a"] * len(groups),
        np.ones(len(groups), bool),
    )  # fmt: skip


def everyone(made: Sample) -> Any:
    return np.ones(len(made.success), bool)


def test_a_part_whose_groups_show_the_effect_passes_its_level_and_one_without_does_not() -> None:
    shown, none = sample(True), sample(False)
    passed = look_at_part(shown, everyone(shown), -1, fold=12, alpha=0.001)
    failed = look_at_part(none, everyone(none), -1, fold=12, alpha=0.001)
    assert passed is not None
    assert failed is not None
    assert (passed.confirmed, passed.strata, len(passed.groups)) == (True, 10, 40)
    assert (failed.confirmed, failed.odds_ratio) == (False, 1.0)


def test_groups_that_say_nothing_of_it_are_no_test() -> None:
    made = sample(True)
    assert look_at_part(made, ~made.columns.values[:, 0], -1, fold=12, alpha=1.0) is None


def test_the_confirmation_is_the_best_test_and_keeps_all_of_them() -> None:
    made = sample(True)
    good = look_at_part(made, everyone(made), -1, fold=12, alpha=0.01)
    assert good is not None
    worse = replace(good, p_value=0.2, fold=13)
    held = held_out_of([worse, good], -1)
    assert held is not None
    assert (held.fold, held.confirmed, [one["fold"] for one in held.folds]) == (12, True, [13, 12])
    assert held_out_of([], -1) is None


def test_an_effect_the_other_way_confirms_nothing() -> None:
    away = PartTest(12, 0.05, 0.01, 4.0, 2.0, 8.0, 5, ("g",))
    held = held_out_of([away], -1)
    assert held is not None
    assert (held.confirmed, held.same_direction) == (False, False)


def test_a_test_is_worth_its_price_when_an_effect_as_seen_would_likely_pass_it() -> None:
    large, small = sample(True, 20), sample(True, 1)
    assert is_worth_it(large, everyone(large), -1, promised=2.0, alpha=0.01)
    assert not is_worth_it(small, everyone(small), -1, promised=2.0, alpha=0.01)
    assert not is_worth_it(large, everyone(large), -1, promised=None, alpha=0.01)
    assert not is_worth_it(large, everyone(large), -1, promised=0.01, alpha=0.001)


@pytest.mark.parametrize("side", [-1, 1])
def test_a_part_without_an_effect_passes_no_more_often_than_its_level(side: int) -> None:
    random, passed = np.random.default_rng(5), 0
    for _ in range(400):
        made = sample(False, 12).shuffled(random)
        test = look_at_part(made, everyone(made), side, fold=12, alpha=0.05)
        passed += test is not None and test.confirmed
    assert passed / 400 <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5
