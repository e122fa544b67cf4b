"""Runs of mini-SWE-agent: an invented lighthouse, one command a turn."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.mangling import mangle
from tasks.ingest.importers.base import Imported, Rejected
from tasks.ingest.importers.mini_swe_agent import IMPORTER
from tasks.ingest.importers.registry import choose

from ..conftest import as_source

TASK = "Please solve this issue: the lamp blinks twice."


def says(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def acts(command: str = "cat lamp.py", fence: str = "bash") -> dict[str, Any]:
    return says("assistant", f"THOUGHT: I look.\n\n```{fence}\n{command}\n```")


def seen(code: int = 0, output: str = "def blink()") -> dict[str, Any]:
    return says("user", f"<returncode>{code}</returncode>\n<output>\n{output}\n</output>")


def messages(*more: dict[str, Any]) -> list[dict[str, Any]]:
    return [says("system", "One bash block a turn."), says("user", TASK), acts(), seen(), *more]


def run(**changes: Any) -> dict[str, Any]:
    config = {"model": {"model_name": "model-x", "model_kwargs": {"api_key": "do-not-copy-me"}}}
    info = {"exit_status": "Submitted", "submission": "diff", "mini_version": "1.9", "config": config}
    return {"info": info, "messages": messages(), "trajectory_format": "mini-swe-agent-1", **changes}


def only(found: list[Imported | Rejected]) -> Any:
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("fence", ["bash", "mswea_bash_command"])
def test_a_bare_list_of_messages_is_one_run(read: Any, fence: str) -> None:
    told = [*messages()[:2], acts(fence=fence), seen(1, "no such file")]
    found = only(read(told))
    assert [step.kind for step in found.episode.steps] == ["system", "user", "plan", "tool_call", "observation"]
    made, saw = found.episode.steps[3:]
    assert (made.name, made.arguments) == ("bash", {"command": "cat lamp.py"})
    assert (saw.of, saw.exit_code, saw.source) == (made.id, 1, "tool")
    assert saw.text == told[3]["content"]
    assert found.episode.steps[2].text == "THOUGHT: I look."
    assert (found.episode.task, found.episode.outcome, found.episode.agent) == (TASK, "unknown", "mini-swe-agent")


def test_the_later_form_gives_model_version_and_submission(read: Any) -> None:
    episode = only(read(run())).episode
    assert (episode.model, episode.agent_version) == ("model-x", "1.9")
    assert (episode.steps[-1].kind, episode.steps[-1].text) == ("answer", "diff")
    assert "do-not-copy-me" not in episode.model_dump_json()


def test_submitted_is_not_success(read: Any) -> None:
    episode = only(read(run())).episode
    assert (episode.outcome, episode.metadata["exit_status"]) == ("unknown", "Submitted")


def test_an_exit_code_is_a_commands_and_never_the_runs(read: Any) -> None:
    assert only(read(messages(acts(), seen(1)))).episode.metadata == {}


def test_the_last_output_has_no_return_code_and_belongs_to_its_command(read: Any) -> None:
    last = only(read(messages(acts("git diff"), says("user", "diff --git a/lamp.py")))).episode.steps[-1]
    assert (last.kind, last.exit_code, last.of) == ("observation", None, "7")


def test_two_blocks_are_no_action_and_the_harness_asking_again_is_no_user(read: Any) -> None:
    twice = says("assistant", f"{acts()['content']}\n{acts()['content']}")
    episode = only(read(messages(twice, says("user", "Give exactly one action."), acts(), seen()))).episode
    assert [step.kind for step in episode.steps[5:]] == ["answer", "system", "plan", "tool_call", "observation"]


def test_an_example_in_another_block_is_not_the_command(read: Any) -> None:
    both = says("assistant", "See ```bash\nexample\n``` so:\n```mswea_bash_command\nls\n```")
    calls = [step for step in only(read(messages(both, seen()))).episode.steps if step.kind == "tool_call"]
    assert calls[-1].arguments == {"command": "ls"}


def test_a_person_who_breaks_in_is_a_user(read: Any) -> None:
    told = messages(says("assistant", "Done?"), says("user", "Interrupted by user: use the spare lamp"))
    assert only(read(told)).episode.steps[-1].kind == "user"


def test_tool_calls_are_read_with_their_results(read: Any) -> None:
    call = {"id": "k1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    told = [
        says("user", TASK),
        says("assistant", "I list.", tool_calls=[call], extra={"timestamp": 1767225600.5}),
        says("tool", "lamp.py", tool_call_id="k1", extra={"returncode": 3}),
        says("exit", "", extra={"exit_status": "Submitted"}),
    ]
    episode = only(read(run(messages=told, info={"mini_version": "2.0"}))).episode
    made, saw = episode.steps[2:4]
    assert (made.name, made.arguments, made.at.year) == ("bash", {"command": "ls"}, 2026)
    assert (saw.of, saw.exit_code) == (made.id, 3)
    assert episode.steps[-1].kind == "system"


def test_responses_have_a_kind_instead_of_a_role(read: Any) -> None:
    spoken = {"type": "message", "content": [{"type": "output_text", "text": "I list."}]}
    told = [
        says("user", TASK),
        {"object": "response", "output": [spoken], "extra": {"actions": [{"command": "ls", "tool_call_id": "k1"}]}},
        {"type": "function_call_output", "call_id": "k1", "output": "lamp.py", "extra": {"returncode": 0}},
    ]
    steps = only(read(run(messages=told))).episode.steps
    assert [(step.kind, step.text) for step in steps[1:4]] == [
        ("plan", "I list."), ("tool_call", ""), ("observation", "lamp.py")
    ]  # fmt: skip
    assert steps[3].of == steps[2].id


def test_an_instance_that_the_record_names_is_the_task_key(read: Any) -> None:
    assert only(read(run(instance_id="lamp-7"))).episode.task_key == "lamp-7"


def test_a_code_that_is_no_exit_code_stays_text(read: Any) -> None:
    told = messages(acts(), says("user", "<returncode>9999999999</returncode>\n<output>\n</output>"))
    assert only(read(told)).episode.steps[-1].exit_code is None


def test_an_unknown_role_is_a_system_step_and_counted(read: Any) -> None:
    found = only(read(messages(says("oracle", "Hm."))))
    assert found.episode.steps[-1].kind == "system"
    assert found.details["unknown_roles"] == {"kept as a system step": 1}


@pytest.mark.parametrize("data", [[run(), run()], [messages(), messages()]])
def test_a_list_of_runs_is_several(read: Any, data: Any) -> None:
    assert len(read(data)) == 2


@pytest.mark.parametrize("data", [{"info": {"mini_version": "1"}, "messages": 5}, {**run(), "messages": []}])
def test_a_run_without_messages_is_refused_by_name(data: Any) -> None:
    source = as_source(data)
    importer = choose(source)
    assert (importer.name, [type(each).__name__ for each in importer.read(source)]) == ("mini-swe-agent", ["Rejected"])


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 6), st.booleans())
def test_a_mangled_run_never_raises_and_never_costs_the_good_one_beside_it(rng: Random, times: int, bare: bool) -> None:
    record: Any = messages() if bare else run()
    good = run(instance_id="good")
    lines = [json.dumps(each).encode() for each in (mangle(record, rng.randrange, times), good)]
    found = list(IMPORTER.read(as_source(b"\n".join(lines) + b"\n")))
    kept = [each for each in found if isinstance(each, Imported) and each.episode.task_key == "good"]
    assert len(kept) == 1
    assert len(found) >= 2
