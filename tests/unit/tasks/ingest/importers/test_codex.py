import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.mangling import mangle
from tasks.ingest.importers.base import Imported, Rejected
from tasks.ingest.importers.codex import IMPORTER
from tasks.ingest.importers.registry import choose
from tasks.ingest.outcome import settled

from ..conftest import as_source

Found = list[Imported | Rejected]
AT = "2026-05-01T10:00:00Z"


def wrapped(kind: str, payload: Any, at: str | None = AT) -> dict[str, Any]:
    return {"timestamp": at, "type": kind, "payload": payload}


def head(name: str = "r1", **more: Any) -> dict[str, Any]:
    about = {"cwd": "/boat", "cli_version": "0.9", "originator": "codex_cli_rs", "git": {"branch": "main"}}
    return wrapped("session_meta", {"id": name, **about, **more})


def said(role: str, text: str, **more: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return wrapped("response_item", {"type": "message", "role": role, "content": content, **more})


def shown(kind: str, text: str) -> dict[str, Any]:
    return wrapped("event_msg", {"type": kind, "text" if kind == "agent_reasoning" else "message": text})


def call(call_id: str = "c1", name: str = "shell", **given: Any) -> dict[str, Any]:
    arguments = json.dumps(given or {"command": ["bash", "-lc", "make test"]})
    item = {"type": "function_call", "name": name, "arguments": arguments, "call_id": call_id}
    return wrapped("response_item", item)


def output(content: Any, call_id: str = "c1") -> dict[str, Any]:
    return wrapped("response_item", {"type": "function_call_output", "call_id": call_id, "output": content})


def structured(code: int, text: str = "oars") -> str:
    return json.dumps({"output": text, "metadata": {"exit_code": code, "duration_seconds": 0.1}})


def session(name: str = "r1") -> list[dict[str, Any]]:
    return [
        head(name),
        said("user", "<environment_context>\n<cwd>/boat</cwd>\n</environment_context>"),
        said("user", f"Mend {name}"),
        shown("user_message", f"Mend {name}"),
        wrapped("turn_context", {"cwd": "/boat", "model": "model-x"}),
        wrapped("response_item", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look."}]}),
        shown("agent_reasoning", "Look."),
        call(),
        output(structured(0)),
        wrapped("event_msg", {"type": "token_count", "info": None}),
        said("assistant", "Mended."),
        shown("agent_message", "Mended."),
    ]


def dump(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def read(*values: Any) -> Found:
    source = as_source(dump(*values))
    assert choose(source).name == "codex"
    return list(IMPORTER.read(source))


def only(found: Found) -> Any:
    assert len(found) == 1, [getattr(each, "reason", "") for each in found]
    return found[0]


def after_request(*values: Any) -> list[Any]:
    return list(only(read(head(), said("user", "Go"), *values)).episode.steps[1:])


def test_a_rollout_is_one_episode_and_each_message_counts_once() -> None:
    found = only(read(*session()))
    episode = found.episode
    assert (episode.task, episode.source_id, episode.session_id) == ("Mend r1", "r1", "r1")
    assert (episode.agent, episode.agent_version, episode.model) == ("codex", "0.9", "model-x")
    assert episode.environment == {"codex": "0.9"}
    assert episode.metadata == {"cwd": "/boat", "git_branch": "main", "originator": "codex_cli_rs"}
    assert [step.kind for step in episode.steps] == ["system", "user", "plan", "tool_call", "observation", "answer"]
    assert (episode.steps[3].initiated_by, episode.steps[4].of) == (["2"], "4")
    assert (episode.outcome, episode.task_key) == ("unknown", None)
    assert found.record == session()
    assert found.details == {"shown_again": 3, "not_kept": {"event_msg/token_count": 1}}


def test_what_was_only_shown_is_kept() -> None:
    told = only(
        read(head(), shown("user_message", "Go"), shown("agent_reasoning", "Hm"), shown("agent_message", "Done"))
    )
    assert [(step.kind, step.text) for step in told.episode.steps] == [
        ("user", "Go"),
        ("plan", "Hm"),
        ("answer", "Done"),
    ]
    twice = only(read(head(), said("user", "Go"), shown("user_message", "Go"), shown("user_message", "Go")))
    assert [step.text for step in twice.episode.steps] == ["Go", "Go"]


def test_an_older_file_without_the_wrapper_is_read_alike() -> None:
    first = {"id": "r1", "timestamp": AT, "instructions": None, "git": {"branch": "main"}}
    items = [each["payload"] for each in session() if each["type"] == "response_item"]
    found = only(read(first, {"record_type": "state"}, *items))
    episode = found.episode
    assert (episode.source_id, episode.task, episode.metadata) == ("r1", "Mend r1", {"git_branch": "main"})
    assert [step.kind for step in episode.steps] == ["system", "user", "plan", "tool_call", "observation", "answer"]
    assert found.details == {"not_kept": {"state": 1}}


def test_an_item_without_a_type_is_told_by_its_fields() -> None:
    message = {"role": "user", "content": [{"type": "input_text", "text": "Go"}]}
    items = [message, {"name": "shell", "call_id": "c1"}, {"call_id": "c1", "output": "ok"}]
    found = only(read(head(), *(wrapped("response_item", item) for item in items)))
    assert [step.kind for step in found.episode.steps] == ["user", "tool_call", "observation"]


@pytest.mark.parametrize(
    ("payload", "arguments", "raw"),
    [
        ({"arguments": '{"cmd": "ls"}'}, {"cmd": "ls"}, None),
        ({"arguments": {"cmd": "ls"}}, {"cmd": "ls"}, None),
        ({"arguments": '{"cmd": "a\\u0000b"}'}, {"cmd": "a\u2400b"}, None),
        ({"arguments": '{"cmd": '}, None, '{"cmd": '),
        ({}, None, None),
        ({"arguments": [1]}, None, "[1]"),
    ],
)
def test_arguments_are_an_object_or_stay_as_they_were_written(payload: Any, arguments: Any, raw: Any) -> None:
    (made,) = after_request(wrapped("response_item", {"type": "function_call", "name": "f", "call_id": "c", **payload}))
    assert (made.arguments, made.raw_arguments) == (arguments, raw)


def test_two_calls_of_one_id_are_two_calls_and_none_needs_an_output() -> None:
    one, two = ({"type": "function_call", "call_id": "c", "name": name, "summary": name} for name in ("f", "g"))
    made = after_request(wrapped("response_item", one), wrapped("response_item", two))
    assert [(step.name, step.text) for step in made] == [("f", "f"), ("g", "g")]


def test_other_kinds_of_calls_are_calls() -> None:
    patch = {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch", "call_id": "p"}
    done = {"type": "custom_tool_call_output", "call_id": "p", "output": structured(0, "Done")}
    shell = {"type": "local_shell_call", "call_id": "l", "action": {"type": "exec", "command": ["ls"]}}
    search = {"type": "web_search_call", "id": "w", "action": {"type": "search", "query": "oars"}}
    drawn = {"type": "image_generation_call", "id": "i", "result": "QUJD" * 10}
    made = after_request(*(wrapped("response_item", item) for item in (patch, done, shell, search, drawn)))
    names = [(step.name, step.arguments or step.raw_arguments) for step in made if step.kind == "tool_call"]
    assert names[:3] == [
        ("apply_patch", "*** Begin Patch"),
        ("local_shell", shell["action"]),
        ("web_search", search["action"]),
    ]
    assert (made[1].text, made[1].exit_code, made[1].of) == ("Done", 0, made[0].id)
    assert made[-1].text == "[image: type not recorded, 30 bytes, not kept]"


@pytest.mark.parametrize(
    ("content", "code", "is_error", "text"),
    [
        (structured(2), 2, True, "oars"),
        (structured(0), 0, False, "oars"),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno", 1, True, None),
        ("Chunk ID: x\nWall time: 1.2 seconds\nProcess exited with code 1\nOutput:\nno", 1, True, None),
        ("Wall time: 1 seconds\nOutput:\nExit code: 1", None, None, None),
        ({"content": "no", "success": False}, None, True, "no"),
        ({"content": "yes", "success": True}, None, False, "yes"),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], None, None, "a\nb"),
        ("plain", None, None, "plain"),
        (None, None, None, ""),
    ],
)
def test_an_output_is_read_in_every_shape_with_the_code_that_the_harness_wrote(
    content: Any, code: int | None, is_error: bool | None, text: str | None
) -> None:
    seen = after_request(call(), output(content))[-1]
    assert (seen.exit_code, seen.is_error) == (code, is_error)
    assert seen.text == (content if text is None else text)


def test_a_code_in_the_output_of_a_tool_that_is_no_shell_is_only_text() -> None:
    seen = after_request(call(name="read_mail"), output("Exit code: 1\nOutput:\n"))[-1]
    assert (seen.exit_code, seen.is_error) == (None, None)


def test_a_failing_check_is_a_failure_and_one_that_passed_later_is_none() -> None:
    failed = only(read(*session()[:8], output(structured(2))))
    assert settled(failed.episode, capped=False)[0].outcome == "failure"
    mended = only(read(*session()[:8], output(structured(2)), call("c2"), output(structured(0), "c2")))
    assert settled(mended.episode, capped=False)[0].outcome == "unknown"


def test_a_command_that_outlives_its_call_has_the_code_with_which_it_ended() -> None:
    first = call("c1", "exec_command", cmd="make test")
    running = output("Chunk ID: 1\nProcess running with session ID 7\nOutput:\n")
    more = call("c2", "write_stdin", session_id=7, chars="")
    ended = output("Chunk ID: 2\nProcess exited with code 2\nOutput:\nno", "c2")
    found = only(read(head(), said("user", "Go"), first, running, more, ended))
    assert [step.exit_code for step in found.episode.steps if step.kind == "observation"] == [2, 2]
    assert found.details["codes_from_later_calls"] == 1


def test_a_code_in_an_event_belongs_to_its_call_with_or_without_an_output() -> None:
    ended = wrapped("event_msg", {"type": "exec_command_end", "call_id": "c1", "exit_code": 3, "stdout": "no"})
    with_output = after_request(call(), output("no"), ended)
    assert [(step.kind, step.exit_code) for step in with_output] == [("tool_call", None), ("observation", 3)]
    alone = after_request(call(), ended)
    assert [(step.kind, step.exit_code, step.text) for step in alone[1:]] == [("observation", 3, "no")]


@pytest.mark.parametrize("role", ["user", "developer"])
@pytest.mark.parametrize(
    "text",
    [
        "<user_instructions>\nBe kind</user_instructions>",
        "# AGENTS.md instructions for /boat\nBe kind",
        "<INSTRUCTIONS>",
    ],
)
def test_instructions_are_no_request(role: str, text: str) -> None:
    found = only(read(head(), said(role, text), said("user", "Go")))
    assert found.episode.task == "Go"
    assert [step.kind for step in found.episode.steps] == ["system", "user"]


def test_words_before_a_call_are_a_plan_and_the_last_ones_an_answer() -> None:
    kinds = [step.kind for step in after_request(said("assistant", "I look"), call(), said("assistant", "Done"))]
    assert kinds == ["plan", "tool_call", "answer"]
    assert after_request(said("assistant", "So far", phase="commentary"))[0].kind == "plan"


def test_a_compaction_is_copied_context() -> None:
    history = [each["payload"] for each in session()[1:] if each["type"] == "response_item"]
    packed = wrapped(
        "compacted", {"message": "We mended.", "replacement_history": [*history, {"type": "compaction"}, 5]}
    )
    found = only(read(*session(), packed, call("c1"), output("ok")))
    copied = [step for step in found.episode.steps if step.is_copied_context]
    assert [step.kind for step in copied] == [
        "system", "system", "system", "plan", "tool_call", "observation", "system"
    ]  # fmt: skip
    assert found.details["compactions"] == 1
    last = found.episode.steps[-2:]
    assert (last[1].of, last[1].is_copied_context) == (last[0].id, False)


def test_reasoning_that_was_encrypted_is_counted() -> None:
    hidden = wrapped("response_item", {"type": "reasoning", "summary": [], "encrypted_content": "x"})
    assert only(read(*session(), hidden)).details["not_kept"]["reasoning without text"] == 1


def test_errors_and_aborts_are_steps_and_unknown_kinds_are_counted() -> None:
    told = [
        wrapped("event_msg", {"type": "error", "message": "no network"}),
        wrapped("event_msg", {"type": "turn_aborted", "reason": "interrupted"}),
        wrapped("event_msg", {"type": "new_event"}),
        wrapped("response_item", {"type": "ghost_snapshot"}),
        wrapped("new_kind", {}),
    ]
    found = only(read(head(), said("user", "Go"), *told))
    assert [(step.name, step.text, step.is_error) for step in found.episode.steps[1:]] == [
        ("error", "no network", True),
        ("turn_aborted", "interrupted", None),
    ]
    assert found.details["not_kept"] == {"event_msg/new_event": 1, "ghost_snapshot": 1, "new_kind": 1}


def test_a_fork_stays_one_session_and_says_where_it_came_from() -> None:
    found = only(read(head("r2", forked_from_id="r1"), *session("r1"), *session("r2")[1:]))
    assert found.episode.source_id == "r2"
    assert (found.details["forked_from"], found.details["heads_copied_from"]) == ("r1", ["r1"])


def test_a_spawned_session_says_by_which_one() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "r0"}}}
    assert only(read(head(source=source), *session()[1:])).details["spawned_by"] == "r0"


def test_a_resumed_session_is_one_and_rollouts_in_one_file_are_several() -> None:
    assert only(read(*session(), head("r1"), said("user", "More"))).episode.source_id == "r1"
    found = read(*session("r1"), *session("r2"), *session("r1"))
    assert [each.episode.source_id for each in found] == ["r1", "r2", "r1#2"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("oops", "an entry must be an object; this is text"),
        ({"silly": 1}, "type is missing: this is no line of Codex"),
        (wrapped("response_item", "x"), "the payload of 'response_item' must be an object"),
        (wrapped("response_item", {"x": 1}), "a response_item without a type that is neither a message nor a call"),
        (wrapped("response_item", {"type": "message", "role": "user"}), "a message without content"),
    ],
)
def test_a_line_that_cannot_be_read_is_rejected_by_place_and_the_session_is_kept(value: Any, reason: str) -> None:
    found = read(*session()[:3], value, *session()[3:])
    bad, good = found
    assert (bad.line, bad.reason) == (4, reason)
    assert len(good.episode.steps) == 6


def test_a_session_without_a_word_of_the_user_is_rejected_by_name() -> None:
    assert only(read(head(), call())).reason == "session r1: no word of the user is in it: the task is unknown"


def test_a_session_without_a_head_has_no_id() -> None:
    episode = only(read(*session()[1:])).episode
    assert (episode.source_id, episode.session_id, episode.task) == (None, None, "Mend r1")


def test_what_was_said_before_a_head_is_another_session_and_bookkeeping_before_it_is_not() -> None:
    found = read(*session("lost")[1:], *session())
    assert [each.episode.source_id for each in found] == [None, "r1"]
    assert only(read(wrapped("turn_context", {"model": "m"}), *session())).episode.source_id == "r1"


def test_a_picture_is_described_and_counted() -> None:
    parts = [{"type": "input_text", "text": "See"}, {"type": "input_image", "image_url": "data:image/png;base64,QUJD"}]
    found = only(read(head(), wrapped("response_item", {"type": "message", "role": "user", "content": parts})))
    assert found.episode.task == "See\n[image: image/png, 3 bytes, not kept]"
    assert found.details["not_kept"] == {"image": 1}


def test_odd_times_are_noted() -> None:
    lines = session()
    lines[2]["timestamp"], lines[4]["timestamp"] = "noon", "2026-05-01T09:00:00Z"
    assert {"times_unreadable": 1, "times_backwards": 1}.items() <= only(read(*lines)).details.items()


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_arbitrary_json_anywhere_never_raises_and_never_loses_the_session_beside_it(data: st.DataObject) -> None:
    def chosen(below: int) -> int:
        return data.draw(st.integers(0, below - 1))

    history = [each["payload"] for each in session()[1:] if each["type"] == "response_item"]
    compacted = wrapped("compacted", {"message": "x", "replacement_history": history})
    spoilt = mangle([*session("bad"), compacted], chosen, times=1 + chosen(5))
    lines = spoilt if isinstance(spoilt, list) else [spoilt]
    found = list(IMPORTER.read(as_source(dump(*lines, *session("good")))))
    (good,) = (each.episode for each in found if isinstance(each, Imported) and each.episode.source_id == "good")
    assert [step.text for step in good.steps][1] == "Mend good"
    assert all(each.reason for each in found if isinstance(each, Rejected))
