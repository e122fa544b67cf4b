"""The planted truth: declared habits cause failures within the tasks they name, and nothing else does."""

from __future__ import annotations

import random
from functools import cache

import pytest

from worlds import POLICIES, WORLDS, PlantedHabit, Setting, World, planted, run

HABITS = planted()
RUNS = 60


@cache
def success_rate(world_name: str, key: str, choice: str | None, release: str) -> float:
    """Share of successes over matched runs: one choice forced (or none), every other ruled out, and no slips."""
    world = WORLDS[world_name]
    forced = {other.id: other.id == choice for other in world.choices} | {"slip": False}
    won = 0
    for number in range(RUNS):
        rng = random.Random(f"{key}/{number}")
        task = world.task(key, rng)
        done = run(world, task, POLICIES["careful"], rng, Setting(release, frozenset()), forced=forced)
        won += done.verdict.success
    return won / RUNS


def cases(tasks: str) -> list[tuple[PlantedHabit, str]]:
    return [(habit, key) for habit in HABITS for key in getattr(habit, tasks)]


@pytest.mark.parametrize(("habit", "key"), cases("applies_to"), ids=lambda v: getattr(v, "id", v))
def test_a_habit_spoils_every_task_it_applies_to(habit: PlantedHabit, key: str) -> None:
    release = WORLDS[habit.world].releases[0]
    without, with_it = (success_rate(habit.world, key, h, release) for h in (None, habit.id))
    assert without == 1.0
    assert without - with_it >= habit.harm - 0.2


@pytest.mark.parametrize(("habit", "key"), cases("exceptions"), ids=lambda v: getattr(v, "id", v))
def test_in_an_exception_the_same_act_is_the_right_one(habit: PlantedHabit, key: str) -> None:
    release = WORLDS[habit.world].releases[0]
    assert success_rate(habit.world, key, habit.id, release) - success_rate(habit.world, key, None, release) >= 0.4


@pytest.mark.parametrize("habit", [h for h in HABITS if len(h.releases) == 1], ids=lambda h: h.id)
def test_a_habit_that_the_next_release_forgives_does_no_harm_there(habit: PlantedHabit) -> None:
    release = WORLDS[habit.world].releases[1]
    for key in habit.applies_to[:3]:
        assert success_rate(habit.world, key, habit.id, release) >= success_rate(habit.world, key, None, release) - 0.05


@pytest.mark.parametrize("world", WORLDS.values(), ids=lambda w: w.name)
def test_a_confounder_changes_no_outcome(world: World) -> None:
    for aside in world.asides:
        for spec in world.specs[::4]:
            rate = success_rate(world.name, spec.key, aside.choice.id, world.releases[0])
            assert rate == success_rate(world.name, spec.key, None, world.releases[0])


def test_the_planted_kinds_cover_calls_orders_checks_loops_recoveries_and_arguments() -> None:
    kinds = {habit.predicate["kind"] for habit in HABITS}
    assert kinds == {"call-present", "order", "missing-check", "loop", "recovery", "argument"}


def test_every_habit_names_tasks_that_exist_and_no_task_twice() -> None:
    for habit in HABITS:
        keys = {spec.key for spec in WORLDS[habit.world].specs}
        named = [*habit.applies_to, *habit.exceptions]
        assert set(named) <= keys
        assert len(named) == len(set(named))
        assert habit.predicate["direction"] in ("do", "avoid")


def test_a_finding_matches_only_with_the_right_advice() -> None:
    habit = next(habit for habit in HABITS if habit.id == "cancel-on-request")
    claim = {"kind": "call-present", "call": "cancel_reservation", "family": "f1"}
    assert habit.matches({**claim, "direction": "avoid"})
    assert not habit.matches({**claim, "direction": "do"})
    assert not habit.matches({**claim, "call": "rebook", "direction": "avoid"})


def test_a_finding_matches_however_its_value_and_error_were_read_off_the_trace() -> None:
    by_id = {habit.id: habit for habit in HABITS}
    value = {"kind": "argument", "call": "place_order", "argument": "shipping", "value": '"express"'}
    assert by_id["express-shipping"].matches({**value, "direction": "avoid"})
    error = {"kind": "recovery", "call": "refund_charge", "then": "release_invoice", "direction": "do"}
    assert by_id["retry-locked"].matches({**error, "error": "error [invoice_locked]: invoice is locked by"})
    assert not by_id["retry-locked"].matches({**error, "error": "error [not_found]: no charge with id"})


@pytest.mark.parametrize(
    ("claim", "redundant"),
    [
        ({"kind": "order", "first": "get_order", "then": "check_stock", "direction": "do"}, True),
        ({"kind": "order", "first": "get_order", "then": "check_stock", "direction": "avoid"}, False),
        ({"kind": "missing-check", "check": "check_stock", "before": "transfer_to_human", "direction": "avoid"}, True),
        ({"kind": "call-present", "call": "list_promotions", "direction": "avoid"}, False),
    ],
)
def test_a_roundabout_wording_is_known_as_the_same_habit(claim: dict[str, str], redundant: bool) -> None:
    habit = next(habit for habit in HABITS if habit.id == "exchange-unchecked")
    assert habit.restates(claim) is redundant
