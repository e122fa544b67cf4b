"""Grading findings against the planted truth."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from worlds import generate, planted
from worlds.engine.shows import shows
from worlds.grade import findable_habits, grade

HABITS = planted(("travel",))
GOOD = {"kind": "call-present", "call": "cancel_reservation", "direction": "avoid", "family": "f"}
AGAIN = {"kind": "call-present", "call": "issue_travel_credit", "direction": "do", "family": "f"}
ROUNDABOUT = {"kind": "order", "first": "find_traveller", "then": "cancel_reservation", "direction": "avoid"}
WRONG = {"kind": "call-present", "call": "cancel_reservation", "direction": "do"}
HARMLESS = {"kind": "call-present", "call": "get_seat_map", "direction": "avoid"}


def test_a_stated_habit_is_true_once_and_redundant_after() -> None:
    graded = grade([GOOD, AGAIN, ROUNDABOUT], HABITS)
    assert [habit for _, habit in graded.true] == ["cancel-on-request"]
    assert [habit for _, habit in graded.redundant] == ["cancel-on-request"] * 2
    assert graded.precision == 1.0


def test_harmless_calls_and_wrong_advice_are_false() -> None:
    graded = grade([GOOD, HARMLESS, WRONG], HABITS)
    assert graded.false == (HARMLESS, WRONG)
    assert graded.precision == pytest.approx(1 / 3)


def test_recall_counts_what_could_be_found() -> None:
    graded = grade([GOOD], HABITS, {"cancel-on-request", "bag-first"})
    assert graded.found == ("cancel-on-request",)
    assert graded.missed == ("bag-first",)
    assert graded.unfindable == ("repeated-search",)
    assert graded.recall == 0.5


def test_a_habit_found_against_the_odds_counts_as_findable() -> None:
    assert grade([GOOD], HABITS, set()).recall == 1.0


def test_nothing_staged_is_nothing_false_and_nothing_found() -> None:
    graded = grade([], HABITS)
    assert (graded.precision, graded.recall) == (1.0, 0.0)


def test_more_episodes_make_more_habits_findable() -> None:
    start = datetime(2026, 1, 5, 8, tzinfo=UTC)
    few, many = (findable_habits(generate(7, n, worlds=("travel",), start=start), HABITS) for n in (40, 600))
    assert not few
    assert set(many) == {habit.id for habit in HABITS}


def trace(*calls: str | tuple[str, dict[str, Any]], errors: dict[int, str] | None = None) -> dict[str, Any]:
    steps: list[dict[str, Any]] = []
    for at, call in enumerate(calls):
        name, arguments = call if isinstance(call, tuple) else (call, {})
        steps.append({"id": f"c{at}", "kind": "tool_call", "name": name, "arguments": arguments})
        said = (errors or {}).get(at, "")
        steps.append({"id": f"o{at}", "kind": "observation", "of": f"c{at}", "text": said, "is_error": bool(said)})
    return {"steps": steps, "environment": {"api": "2.0"}}


@pytest.mark.parametrize(
    ("predicate", "episode", "expected"),
    [
        ({"kind": "call-present", "call": "a"}, trace("a"), True),
        ({"kind": "order", "first": "a", "then": "b"}, trace("b", "a"), False),
        ({"kind": "order", "first": "a", "then": "b"}, trace("a"), None),
        ({"kind": "missing-check", "check": "a", "before": "b"}, trace("b", "a"), True),
        ({"kind": "missing-check", "check": "a", "before": "b"}, trace("a", "b"), False),
        ({"kind": "loop", "call": "a"}, trace("a", "b", "a"), False),
        ({"kind": "loop", "call": "a"}, trace("a", "b", "a", "b", "a"), True),
        ({"kind": "loop", "call": "a"}, trace(("a", {"n": 1}), ("a", {"n": 2})), False),
        ({"kind": "recovery", "call": "a", "error": "busy", "then": "b"}, trace("a", "b", errors={0: "busy"}), True),
        ({"kind": "recovery", "call": "a", "error": "busy", "then": "b"}, trace("a", "b"), None),
        ({"kind": "argument", "call": "a", "argument": "x", "value": '"y"'}, trace(("a", {"x": "y"})), True),
        ({"kind": "argument", "call": "a", "argument": "x", "value": "<absent>"}, trace("a"), True),
        ({"kind": "argument", "call": "a", "argument": "x", "value": "y"}, trace("b"), None),
        ({"kind": "environment", "component": "api", "version": "1.0"}, trace("a"), False),
    ],
)
def test_predicates_are_read_off_a_trace(predicate: dict[str, str], episode: dict[str, Any], expected: object) -> None:
    assert shows(predicate, episode) is expected
