"""Runs and checkers: what counts is the final state, and it can be rebuilt from the calls."""

from __future__ import annotations

import random

import pytest

from worlds import POLICIES, WORLDS, Run, Setting, Task, World, calls_that_ran, replay, run
from worlds.engine.state import copy_state
from worlds.engine.tool import ToolError

ALL = [(world, spec.key) for world in WORLDS.values() for spec in world.specs]
by_key = pytest.mark.parametrize(("world", "key"), ALL, ids=[key for _, key in ALL])


def perform(world: World, key: str, seed: int = 1, agent: str = "careful") -> tuple[Task, Run]:
    rng = random.Random(f"{key}/{seed}")
    task = world.task(key, rng)
    return task, run(world, task, POLICIES[agent], rng, Setting(world.releases[0]))


@by_key
def test_nothing_done_is_never_success(world: World, key: str) -> None:
    task = world.task(key, random.Random(3))
    assert not world.check(task, copy_state(task.state)).success


@by_key
def test_a_run_leaves_the_task_as_it_was(world: World, key: str) -> None:
    rng = random.Random(5)
    task = world.task(key, rng)
    before = copy_state(task.state)
    run(world, task, POLICIES["hasty"], rng, Setting(world.releases[0]))
    assert task.state == before


@by_key
def test_both_outcomes_happen_in_every_task(world: World, key: str) -> None:
    assert {perform(world, key, seed, "hasty")[1].verdict.success for seed in range(60)} == {True, False}


@by_key
def test_the_calls_of_a_trace_rebuild_its_final_state_and_verdict(world: World, key: str) -> None:
    for seed in range(8):
        task, done = perform(world, key, seed, "stubborn")
        rebuilt = replay(world, task.state, calls_that_ran(done.steps), world.releases[0])
        assert rebuilt == done.final
        assert world.check(task, rebuilt) == done.verdict


def test_the_agents_words_are_the_same_whether_it_succeeded_or_failed() -> None:
    """Every agent says that all is done; the checker is given the state alone and is not impressed."""
    world = WORLDS["travel"]
    runs = [perform(world, "travel/cancel-broken-leg", seed, "hasty")[1] for seed in range(40)]
    said = {done.verdict.success: done.steps[-1]["text"].split(",")[0] for done in runs}
    assert said[True] == said[False] == "All done: I have taken care of it"


def test_right_words_with_a_wrong_state_fail_and_the_reason_names_the_state() -> None:
    world = WORLDS["shopping"]
    task = world.task("shopping/exchange-rain-jacket", random.Random(2))
    final = copy_state(task.state)
    final["items"][task.goal["other"]]["status"] = "exchanged"
    assert world.check(task, final).reason == "another item was changed"


def test_a_script_never_sees_the_checkers_goal() -> None:
    for world, key in ALL:
        task = world.task(key, random.Random(1))
        assert not {"late", "cash", "credit_is_fine", "charge", "other_charge", "variant"} & set(task.facts)


@pytest.mark.parametrize(
    ("world", "tool", "arguments", "code"),
    [
        ("shopping", "get_order", {"order_id": "L0"}, "not_found"),
        ("shopping", "search_products", {"query": "zeppelin"}, "no_results"),
        ("shopping", "find_customer", {"email": "nobody@mailbox.example"}, "not_found"),
        ("travel", "search_flights", {"route": "LIS-OSL", "day": "31 February"}, "no_flights"),
        ("travel", "cancel_reservation", {"code": "NOPE"}, "not_found"),
        ("support", "close_ticket", {"ticket": "#T0"}, "not_found"),
    ],
)
def test_a_tool_refuses_what_it_does_not_know_and_says_which(
    world: str, tool: str, arguments: dict[str, str], code: str
) -> None:
    task = WORLDS[world].task(WORLDS[world].specs[0].key, random.Random(1))
    with pytest.raises(ToolError) as refused:
        WORLDS[world].tools[tool].body(task.state, WORLDS[world].releases[0], **arguments)
    assert refused.value.code == code
    assert next(iter(arguments.values())) in str(refused.value)


def test_a_reservation_is_not_cancelled_twice() -> None:
    world = WORLDS["travel"]
    task = world.task("travel/cancel-strike", random.Random(1))
    cancel = world.tools["cancel_reservation"].body
    cancel(task.state, "7.1", code=task.facts["code"])
    with pytest.raises(ToolError, match="is cancelled"):
        cancel(task.state, "7.1", code=task.facts["code"])


def test_an_unknown_task_key_is_refused() -> None:
    with pytest.raises(KeyError, match="no task 'shopping/steal'"):
        WORLDS["shopping"].task("shopping/steal", random.Random(1))


@pytest.mark.parametrize("world", WORLDS.values(), ids=lambda w: w.name)
def test_every_named_compensation_is_a_tool_that_writes(world: World) -> None:
    for tool in world.tools.values():
        if tool.undo is not None:
            assert tool.writes
            assert world.tools[tool.undo].writes
