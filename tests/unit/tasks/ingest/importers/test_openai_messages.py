"""Chat messages in the shapes they are kept in: a harbour's tide table."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.mangling import mangle
from tasks.ingest.importers.base import Imported, Rejected
from tasks.ingest.importers.openai_messages import IMPORTER
from tasks.ingest.importers.registry import choose

from ..conftest import as_source, tau1_run, tau2_file, tau2_run


def call(arguments: Any = '{"port": "Rhin"}', **more: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": arguments}, **more}


def messages(arguments: Any = '{"port": "Rhin"}') -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": "You know tides."},
        {"role": "user", "content": "When is high water?"},
        {"role": "assistant", "content": None, "tool_calls": [call(arguments)]},
        {"role": "tool", "tool_call_id": "c1", "content": "six"},
        {"role": "assistant", "content": "At six."},
    ]


def only(found: list[Imported | Rejected]) -> Any:
    assert len(found) == 1
    return found[0]


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)


@pytest.mark.parametrize("record", [messages(), {"messages": messages()}])
def test_a_list_and_an_object_with_messages_are_read_alike(read: Any, record: Any) -> None:
    found = only(read(record))
    episode = found.episode
    assert [step.kind for step in episode.steps] == ["system", "user", "tool_call", "observation", "answer"]
    made, seen = episode.steps[2:4]
    assert (made.name, made.arguments, made.initiated_by) == ("tide", {"port": "Rhin"}, ["2"])
    assert (seen.of, seen.text, seen.trust) == (made.id, "six", None)
    assert (episode.task, episode.outcome) == ("When is high water?", "unknown")
    assert found.details == {}


@pytest.mark.parametrize(
    "data",
    [
        lines(messages(), messages()),
        lines({"messages": messages()}, {"messages": messages()}),
        [{"messages": messages()}, {"messages": messages()}],
        [messages(), messages()],
    ],
)
def test_several_runs_may_stand_in_lines_or_in_a_list(read: Any, data: Any) -> None:
    assert [type(each).__name__ for each in read(data)] == ["Imported", "Imported"]


def test_arguments_that_are_not_json_are_kept_as_written(read: Any) -> None:
    made = only(read(messages('{"port": '))).episode.steps[2]
    assert (made.arguments, made.raw_arguments) == (None, '{"port": ')


def test_what_no_database_keeps_is_made_visible_in_arguments_too(read: Any) -> None:
    made = only(read(messages('{"port": "R\\u0000\\ud800"}'))).episode.steps[2]
    assert made.arguments == {"port": "R\u2400\ufffd"}


def test_old_function_calls_are_tied_by_name(read: Any) -> None:
    told = [
        {"role": "user", "content": "When is high water?"},
        {"role": "assistant", "content": None, "function_call": {"name": "tide", "arguments": "{}"}},
        {"role": "function", "name": "tide", "content": "six"},
    ]
    steps = only(read(told)).episode.steps
    assert [(step.kind, step.name, step.of) for step in steps[1:]] == [
        ("tool_call", "tide", None), ("observation", None, "2")
    ]  # fmt: skip


def test_results_without_ids_answer_the_calls_in_order(read: Any) -> None:
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in ("tide", "wind")]
    told = [
        {"role": "user", "content": "And now?"},
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "content": "six"},
        {"role": "tool", "content": "west"},
        {"role": "tool", "content": "stray"},
    ]
    found = only(read(told))
    assert [step.of for step in found.episode.steps if step.kind == "observation"] == ["2", "3", None]
    assert found.details["results_without_call"] == {"step 6": 1}


def test_parts_become_text_and_pictures_leave_a_mark(read: Any) -> None:
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 900}},
        {"type": "image_url", "image_url": {"url": "https://example.org/boat.png"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA"}},
    ]
    found = only(read([{"role": "user", "content": parts}, {"role": "assistant", "content": "A boat."}]))
    assert found.episode.task.splitlines() == [
        "What is this?", "[image_url of 922 characters]", "[image_url https://example.org/boat.png]", "[input_audio]"
    ]  # fmt: skip
    assert found.details["media_left_out"] == {"image_url": 2, "input_audio": 1}


@pytest.mark.parametrize("content", [None, "", [], "x", [{"type": "text", "text": "x"}], {"a": 1}, 5])
def test_content_may_be_anything(read: Any, content: Any) -> None:
    assert isinstance(only(read([*messages(), {"role": "assistant", "content": content}])), Imported)


def test_developers_and_unknown_roles_are_system_steps(read: Any) -> None:
    told = [{"role": "developer", "content": "Be brief."}, *messages(), {"role": "oracle", "content": "Hm."}]
    found = only(read({"messages": told}))
    assert [found.episode.steps[at].kind for at in (0, -1)] == ["system", "system"]
    assert found.details["unknown_roles"] == {"kept as a system step": 1}


def test_what_is_no_message_is_counted(read: Any) -> None:
    assert only(read({"messages": [*messages(), 5]})).details["not_kept"] == {"messages that are no objects": 1}


def test_reasoning_is_a_plan_and_a_refusal_an_answer(read: Any) -> None:
    told = [*messages()[:2], {"role": "assistant", "reasoning_content": "Hm.", "content": None, "refusal": "No."}]
    assert [(step.kind, step.text) for step in only(read(told)).episode.steps[2:]] == [
        ("plan", "Hm."),
        ("answer", "No."),
    ]


def test_responses_items_are_read(read: Any) -> None:
    record = {
        "instructions": "You know tides.",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "When is high water?"}]}],
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look it up."}]},
            {"type": "function_call", "call_id": "c1", "name": "tide", "arguments": '{"port": "Rhin"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "six"},
            {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"query": "tide"}},
            {"type": "mcp_call", "id": "m1", "name": "wind", "arguments": "{}", "error": "no wind", "output": None},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "At six."}]},
            {"type": "item_reference", "id": "x"},
        ],
    }
    found = only(read(record))
    steps = found.episode.steps
    assert [(step.kind, step.name) for step in steps] == [
        ("system", None), ("user", None), ("plan", None), ("tool_call", "tide"), ("observation", None),
        ("tool_call", "web_search"), ("tool_call", "wind"), ("observation", None), ("answer", None), ("system", None),
    ]  # fmt: skip
    assert (steps[4].of, steps[7].of, steps[7].is_error) == ("4", "7", True)
    assert steps[5].arguments == {"action": {"query": "tide"}}
    assert found.details["unknown_items"] == {"item_reference": 1}


def test_calls_and_results_among_the_parts_of_a_content_are_steps(read: Any) -> None:
    told = [
        {"role": "user", "content": "When is high water?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "x"},
                {"type": "text", "text": "I look it up."},
                {"type": "tool_use", "id": "u1", "name": "tide", "input": {"port": "Rhin"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u1", "content": "six", "is_error": True}]},
        {"role": "assistant", "content": [{"type": "text", "text": "At six."}]},
    ]
    steps = only(read(told)).episode.steps
    assert [(step.kind, step.text) for step in steps] == [
        ("user", "When is high water?"), ("plan", "Hm."), ("plan", "I look it up."), ("tool_call", ""),
        ("observation", "six"), ("answer", "At six."),
    ]  # fmt: skip
    assert (steps[4].of, steps[4].is_error, steps[3].arguments) == ("4", True, {"port": "Rhin"})


def test_tools_ids_and_sessions_are_used_where_they_are_given(read: Any) -> None:
    tools = [{"type": "function", "function": {"name": "tide"}}, {"type": "function", "name": "wind"}]
    record = {"id": "r-1", "messages": messages(), "tools": tools, "model": "m", "metadata": {"session_id": "s-1"}}
    episode = only(read({**record, "task_id": 7})).episode
    assert (episode.source_id, episode.session_id, episode.task_key) == ("r-1", "s-1", "7")
    assert (episode.tools_offered, episode.model) == (["tide", "wind"], "m")


@pytest.mark.parametrize(
    ("recorded", "outcome", "source"),
    [
        ({"reward": 1}, "success", None),
        ({"reward": 0.0}, "failure", None),
        ({"reward": 0.4}, "partial", None),
        ({"reward": "1"}, "unknown", None),
        ({"reward": True}, "unknown", None),
        ({"success": True}, "success", None),
        ({"resolved": False, "reward": 0.2}, "failure", None),
        ({"exit_code": 0}, "success", "exit-code"),
        ({"exit_code": 2}, "failure", "exit-code"),
        ({"success": "yes"}, "unknown", None),
    ],
)
def test_only_what_is_recorded_beside_the_messages_is_an_outcome(
    read: Any, recorded: dict[str, Any], outcome: str, source: str | None
) -> None:
    found = only(read({"messages": messages(), **recorded}))
    assert (found.episode.outcome, found.episode.outcome_source) == (outcome, source)
    assert ("outcome_from" in found.details) == (outcome != "unknown")


def test_prose_is_no_outcome(read: Any) -> None:
    assert (
        only(read([*messages(), {"role": "user", "content": "Perfect, all tests pass!"}])).episode.outcome == "unknown"
    )


@pytest.mark.parametrize(
    "record",
    [
        [tau1_run()],
        tau2_file(tau2_run()),
        {"messages": messages(), "suite_name": "harbour", "user_task_id": "user_task_0", "utility": True},
        {"sessionId": "g", "messages": [{"type": "user", "content": "x"}, {"type": "gemini", "content": "y"}]},
        {"history": messages(), "question": "When?", "mistake_agent": "a", "mistake_step": "1"},
        {"messages": messages(), "info": {}, "trajectory_format": "mini-swe-agent-1"},
        [
            {"role": "user", "content": "Mend it"},
            {"role": "assistant", "content": "```bash\nls\n```"},
            {"role": "user", "content": "<returncode>0</returncode>\n<output>\n</output>"},
        ],
        {"schema_version": "ATIF-v1.4", "agent": {}, "steps": [{"step_id": 1, "source": "user", "message": "x"}]},
    ],
)
def test_it_gives_way_to_every_format_with_marks_of_its_own(record: Any) -> None:
    source = as_source(record)
    assert choose(source).name != "openai-messages"


def test_settings_with_messages_that_are_none_are_not_taken_for_a_chat() -> None:
    assert IMPORTER.sniff(as_source({"messages": {"hello": "Hello"}}).sample()) == 0.0
    assert IMPORTER.sniff(as_source([{"role": "admin", "name": "Ida"}]).sample()) == 0.0


@pytest.mark.parametrize("record", [{"messages": []}, {"messages": 5}, [], 5, None])
def test_no_messages_are_no_run(record: Any) -> None:
    (refused,) = IMPORTER.read(as_source(record))
    assert isinstance(refused, Rejected)
    assert "messages" in refused.reason


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 6), st.booleans())
def test_a_mangled_chat_never_raises_and_never_costs_the_good_one_beside_it(
    rng: Random, times: int, bare: bool
) -> None:
    record: Any = messages() if bare else {"messages": messages(), "reward": 1, "metadata": {}, "tools": [call()]}
    good = {"id": "good", "messages": messages()}
    found = list(IMPORTER.read(as_source(lines(mangle(record, rng.randrange, times), good))))
    kept = [each for each in found if isinstance(each, Imported) and each.episode.source_id == "good"]
    assert len(kept) == 1
    assert len(found) >= 2
