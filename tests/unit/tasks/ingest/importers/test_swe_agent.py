"""Runs of SWE-agent: an invented repository of a lighthouse."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.mangling import mangle
from tasks.ingest.importers.base import Imported, Rejected
from tasks.ingest.importers.swe_agent import IMPORTER

from ..conftest import as_source

TASK = "Here is the issue:\nThe lamp blinks twice."


def entry(action: str = "open lamp.py\n", **changes: Any) -> dict[str, Any]:
    told = {"observation": "1:def blink()", "response": f"I look.\n```\n{action}```", "thought": "I look.\n"}
    return {"action": action, **told, "state": '{"open_file": "n/a", "working_dir": "/tower"}', **changes}


def turn(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "agent": "primary", **more}


def history(*more: dict[str, Any]) -> list[dict[str, Any]]:
    return [turn("system", "You edit files."), turn("user", TASK), *more]


def run(**changes: Any) -> dict[str, Any]:
    acted = turn("assistant", "I look.\n```\nopen lamp.py\n```", thought="I look.\n", action="open lamp.py\n")
    info = {"exit_status": "submitted", "submission": "diff --git a/lamp.py", "model_stats": {"api_calls": 2}}
    told = history(acted, turn("user", "1:def blink()\n(Open file: lamp.py)"))
    done = [entry(), entry("submit\n", observation="diff --git a/lamp.py")]
    return {"environment": "swe_main", "trajectory": done, "history": told, "info": info, **changes}


def only(found: list[Imported | Rejected]) -> Any:
    assert len(found) == 1
    return found[0]


def test_thought_action_observation_and_submission_become_steps(read: Any) -> None:
    found = only(read(run()))
    episode = found.episode
    assert [step.kind for step in episode.steps] == [
        "system", "user", *(["plan", "tool_call", "observation"] * 2), "answer"
    ]  # fmt: skip
    made, seen = episode.steps[3:5]
    assert (made.name, made.arguments, made.initiated_by) == ("open", {"command": "open lamp.py\n"}, ["2"])
    assert (seen.of, seen.text) == (made.id, "1:def blink()")
    assert episode.steps[-1].text == "diff --git a/lamp.py"
    assert (episode.task, episode.agent) == (TASK, "swe-agent")
    assert found.details == {}


def test_submitted_is_not_success(read: Any) -> None:
    episode = only(read(run())).episode
    assert (episode.outcome, episode.metadata["exit_status"]) == ("unknown", "submitted")


@pytest.mark.parametrize("status", ["exit_cost", "early_exit", "submitted (exit_context)"])
def test_other_ends_are_kept_as_they_are_and_are_no_outcome(read: Any, status: str) -> None:
    episode = only(read(run(info={"exit_status": status}))).episode
    assert (episode.outcome, episode.metadata["exit_status"]) == ("unknown", status)


@pytest.mark.parametrize("state", ['{"open_file": "n/a"}', {"open_file": "n/a"}, None, "not json"])
def test_a_state_may_be_text_or_an_object(read: Any, state: Any) -> None:
    assert len(only(read(run(trajectory=[entry(state=state)]))).episode.steps) == 6


def test_carriage_returns_are_kept_and_hurt_nothing(read: Any) -> None:
    crlf = json.dumps(run(trajectory=[entry(observation="a\r\nb\r\n")]), indent=1).replace("\n", "\r\n").encode()
    assert only(read(crlf)).episode.steps[4].text == "a\r\nb\r\n"


@pytest.mark.parametrize(
    "demonstration",
    [
        turn("user", "Try it like this", is_demo=True),
        turn("user", "Here is a demonstration of how to correctly accomplish this task.\nopen it"),
        turn("user", "Try it like this", message_type="demonstration"),
    ],
)
def test_a_demonstration_is_copied_context_and_never_the_task(read: Any, demonstration: dict[str, Any]) -> None:
    told = [history()[0], demonstration, turn("assistant", "like so", is_demo=True), history()[1]]
    found = only(read(run(history=told)))
    assert found.episode.task == TASK
    assert [(step.kind, step.is_copied_context) for step in found.episode.steps[:4]] == [
        ("system", False), ("system", True), ("system", True), ("user", False)
    ]  # fmt: skip
    assert found.details["demonstrations"] == {"messages": 2}


@pytest.mark.parametrize("environment", ["swe_main", "main"])
def test_the_environments_name_is_no_task(read: Any, environment: str) -> None:
    assert only(read(run(environment=environment))).episode.task_key is None


@pytest.mark.parametrize(
    "named",
    [
        {"instance_id": "lamp-7"},
        {"info": {"instance_id": "lamp-7"}},
        {"replay_config": {"problem_statement": {"id": "lamp-7"}}},
        {"replay_config": json.dumps({"problem_statement": {"id": "lamp-7"}})},
    ],
)
def test_an_instance_that_the_record_names_is_the_task_key(read: Any, named: dict[str, Any]) -> None:
    assert only(read(run(**named))).episode.task_key == "lamp-7"


def test_two_runs_of_one_instance_are_two_runs(read: Any) -> None:
    found = read([run(instance_id="lamp-7"), run(instance_id="lamp-7", info={})])
    assert [each.episode.source_id for each in found] == [None, None]


def test_a_configuration_gives_the_model_and_nothing_secret(read: Any) -> None:
    model = {"name": "model-x", "api_key": "do-not-copy-me"}
    found = only(read(run(replay_config={"agent": {"model": model}})))
    assert found.episode.model == "model-x"
    assert "do-not-copy-me" not in found.episode.model_dump_json()


def test_a_function_call_is_named_by_the_history(read: Any) -> None:
    called = {"id": "k1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    told = history(turn("assistant", "I look.", action="ls", tool_calls=[called]), turn("tool", "lamp.py"))
    found = only(read(run(trajectory=[entry("ls"), entry("cat lamp.py")], history=told)))
    calls = [(step.name, step.arguments) for step in found.episode.steps if step.kind == "tool_call"]
    assert calls == [("bash", {"command": "ls"}), ("cat", {"command": "cat lamp.py"})]


def test_a_step_without_an_action_is_kept_and_counted(read: Any) -> None:
    found = only(read(run(trajectory=[entry(""), entry()])))
    assert found.details["steps_without_action"] == {"kept as what was said and seen": 1}
    assert [step.of for step in found.episode.steps if step.kind == "observation"] == [None, "6"]


def test_the_head_may_stand_in_the_first_steps_query(read: Any) -> None:
    record = run(trajectory=[entry(query=history())])
    del record["history"]
    assert only(read(record)).episode.task == TASK


def test_a_run_that_has_only_its_history_is_read_from_it(read: Any) -> None:
    called = {"id": "k1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    told = history(
        turn("assistant", "I look.\n```\nopen lamp.py\n```"),
        turn("user", "1:def blink()"),
        turn("assistant", "I list.", thought="I list.", action="ls", tool_calls=[called]),
        turn("tool", "lamp.py", tool_call_ids=["k1"]),
        turn("assistant", "It is mended."),
        turn("user", "Thank you."),
    )
    episode = only(read({"history": told, "info": {}})).episode
    assert [(step.kind, step.name) for step in episode.steps] == [
        ("system", None), ("user", None), ("plan", None), ("tool_call", "open"), ("observation", None), ("plan", None),
        ("tool_call", "bash"), ("observation", None), ("answer", None), ("user", None),
    ]  # fmt: skip
    assert [step.of for step in episode.steps if step.kind == "observation"] == ["4", "7"]
    assert episode.task == TASK


@pytest.mark.parametrize(
    ("found", "outcome", "where"),
    [
        ({"resolved": True}, "success", "resolved"),
        ({"report": {"resolved": False}}, "failure", "resolved in report"),
        ({"report": {"lamp-7": {"resolved": True}}}, "success", "resolved in report"),
        ({"info": {"report": {"resolved": True}}}, "success", "resolved in info.report"),
        ({"resolved": "yes"}, "unknown", None),
    ],
)
def test_a_recorded_report_is_the_outcome(read: Any, found: dict[str, Any], outcome: str, where: str | None) -> None:
    made = only(read(run(**found)))
    assert (made.episode.outcome, made.details.get("outcome_from")) == (outcome, where)
    assert made.episode.outcome_source == (None if where is None else "verifier")


def test_reports_that_contradict_each_other_settle_nothing(read: Any) -> None:
    made = only(read(run(resolved=True, report={"resolved": False})))
    assert made.episode.outcome == "unknown"
    assert "different things" in made.details["outcome_note"]


def test_without_a_history_the_task_is_unknown(read: Any) -> None:
    assert "task is unknown" in only(read(run(history=[]))).reason


def broken(record: dict[str, Any]) -> bytes:
    """A quote is missing in the second entry."""
    return json.dumps(record, indent=1).encode().replace(b'"submit', b"submit", 1)


def test_a_broken_file_whose_task_is_lost_is_rejected_with_the_line_of_the_fault(read: Any) -> None:
    record = run()
    refused = only(read(broken(record)))
    text = broken(record).split(b"\n")[refused.line - 1]
    assert text.strip().startswith(b'"action": submit')
    assert "task is unknown" in refused.reason
    assert b"def blink" in refused.data


def test_a_broken_file_whose_task_is_known_is_kept_and_does_not_pass_for_whole(read: Any) -> None:
    record = {key: run()[key] for key in ("history", "trajectory", "info")}
    kept, refused = read(broken(record))
    assert [step.kind for step in kept.episode.steps].count("tool_call") == 1
    assert kept.details["broken_off"] == f"the file breaks at line {refused.line}: the rest of the run is missing"


def test_runs_one_a_line_are_read(read: Any) -> None:
    data = b"\n".join(json.dumps(each).encode() for each in (run(), {"trajectory": 5, "info": {}}, run()))
    assert [type(each).__name__ for each in read(data)] == ["Imported", "Rejected", "Imported"]


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 6), st.booleans())
def test_a_mangled_run_never_raises_and_never_costs_the_good_one_beside_it(rng: Random, times: int, bare: bool) -> None:
    record = {"history": run()["history"], "info": {}} if bare else run(replay_config="{}", report={"resolved": True})
    lines = [json.dumps(each).encode() for each in (mangle(record, rng.randrange, times), run(instance_id="good"))]
    found = list(IMPORTER.read(as_source(b"\n".join(lines) + b"\n")))
    good = [each for each in found if isinstance(each, Imported) and each.episode.task_key == "good"]
    assert len(good) == 1
    assert len(found) >= 2
