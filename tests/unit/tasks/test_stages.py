from __future__ import annotations

from typing import Any

import pytest

from tasks.stages import (
    NIGHT,
    AddSteps,
    Close,
    StageUnknown,
    StepView,
    Wait,
    families_left,
    plan,
    step_function,
)


def step(stage: str, shard: str = "", state: str = "done", **result: Any) -> StepView:
    return StepView(stage, shard, state, result, "ValueError: no" if state == "parked" else None)


def whole_night(**states: str) -> list[StepView]:
    results: dict[str, dict[str, Any]] = {
        "select": {"episodes": 9},
        "cluster": {"families": ["a"], "clusters": 2},
        "contrast": {"tests": 4},
        "stage": {"candidates": 1},
    }
    return [
        step(stage, "a" if stage == "contrast" else "", states.get(stage, "done"), **results.get(stage, {}))
        for stage in NIGHT
    ]


def test_a_night_begins_with_select() -> None:
    assert plan("night", []) == AddSteps("select", ("",))


def test_a_stage_waits_for_every_shard_of_the_one_before() -> None:
    steps = [
        step("select"),
        step("cluster", families=["b", "a"]),
        step("contrast", "a"),
        step("contrast", "b", "leased"),
    ]
    assert plan("night", steps) == Wait("contrast")


def test_the_contrast_has_one_shard_for_each_family() -> None:
    assert plan("night", [step("select"), step("cluster", families=["b", "a"])]) == AddSteps("contrast", ("a", "b"))


def test_sessions_that_nobody_judged_are_compared_over_all_families() -> None:
    steps = [step("select", unjudged=2), step("cluster", families=["a"])]
    assert plan("night", steps) == AddSteps("contrast", ("*", "a"))
    steps = [step("select", unjudged=0), step("cluster", families=["a"])]
    assert plan("night", steps) == AddSteps("contrast", ("a",))


def test_families_that_an_earlier_night_left_join_the_contrast() -> None:
    steps = [step("select"), step("cluster", families=["a"])]
    assert plan("night", steps, carried=["z", "a"]) == AddSteps("contrast", ("a", "z"))


def test_a_night_without_families_goes_on_to_the_draft() -> None:
    assert plan("night", [step("select"), step("cluster", families=[])]) == AddSteps("draft", ("",))


def test_a_missing_shard_is_added_though_its_siblings_are_there() -> None:
    steps = [step("select"), step("cluster", families=["a", "b"]), step("contrast", "a")]
    assert plan("night", steps) == AddSteps("contrast", ("b",))


def test_a_night_with_every_step_done_is_completed_with_its_counts() -> None:
    closed = plan("night", whole_night())
    assert isinstance(closed, Close)
    assert closed.state == "completed"
    counts = {name: closed.stats[name] for name in ("episodes", "clusters", "tests", "candidates")}
    assert counts == {"episodes": 9, "clusters": 2, "tests": 4, "candidates": 1}
    assert closed.problems == []


def test_counts_are_summed_over_shards() -> None:
    steps = [*whole_night(), step("contrast", "b", tests=5)]
    steps[1] = step("cluster", families=["a", "b"], clusters=2)
    closed = plan("night", steps)
    assert isinstance(closed, Close)
    assert closed.stats["tests"] == 9


def test_one_parked_shard_makes_the_night_partial_with_the_reason() -> None:
    steps = [*whole_night(), step("contrast", "b", "parked")]
    steps[1] = step("cluster", families=["a", "b"])
    closed = plan("night", steps)
    assert isinstance(closed, Close)
    assert closed.state == "partial"
    assert closed.problems == [{"stage": "contrast", "shard": "b", "error": "ValueError: no"}]


@pytest.mark.parametrize("stage", ["select", "cluster", "contrast", "draft", "stage"])
def test_a_stage_parked_whole_fails_the_night(stage: str) -> None:
    steps = whole_night(**{stage: "parked"})
    closed = plan("night", steps[: NIGHT.index(stage) + 1])
    assert isinstance(closed, Close)
    assert closed.state == "failed"


def test_a_repair_has_one_step() -> None:
    assert plan("repair", []) == AddSteps("repair", ("",))
    closed = plan("repair", [step("repair")])
    assert isinstance(closed, Close)
    assert closed.state == "completed"


def test_a_completed_night_leaves_no_families() -> None:
    assert families_left("completed", whole_night()) == set()


def test_a_partial_night_leaves_its_parked_families() -> None:
    assert families_left("partial", [step("contrast", "a"), step("contrast", "b", "parked")]) == {"b"}


def test_what_a_finished_step_could_not_do_makes_the_night_partial_and_leaves_its_family() -> None:
    problem = {"stage": "draft", "shard": "cluster-1", "family": "a", "error": "3 replies were no answer"}
    steps = [step("draft", problems=[problem]) if one.stage == "draft" else one for one in whole_night()]
    closed = plan("night", steps)
    assert isinstance(closed, Close)
    assert (closed.state, closed.problems) == ("partial", [problem])
    assert families_left("partial", steps) == {"a"}


def test_a_failed_night_leaves_all_its_families() -> None:
    assert families_left("failed", whole_night(draft="parked")) == {"a"}


def test_a_night_that_failed_before_its_contrast_sends_one_further_back() -> None:
    assert families_left("failed", [step("select", state="parked")]) is None


def test_every_stage_has_a_function() -> None:
    for stage in (*NIGHT, "repair"):
        assert callable(step_function(stage))


def test_an_unknown_stage_is_named() -> None:
    with pytest.raises(StageUnknown, match="dream"):
        step_function("dream")
