import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.mangling import mangle
from tasks.ingest.importers.base import Imported, Rejected
from tasks.ingest.importers.gemini_cli import IMPORTER
from tasks.ingest.importers.registry import choose
from tasks.ingest.outcome import settled

from ..conftest import as_source

Found = list[Imported | Rejected]


def made(name: str = "read_file", call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "args": {"path": "a"}, "status": "success", **more}


def response(call_id: str = "c1", **answer: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": "read_file", "response": answer}}


def messages(asked: str = "Mend the oar", **call: Any) -> list[dict[str, Any]]:
    thought = {"subject": "Look", "description": "I look first.", "timestamp": "2026-05-01T10:00:01Z"}
    done = made(**{"result": [response(output="two oars")], "timestamp": "2026-05-01T10:00:03Z", **call})
    return [
        {"id": "1", "type": "user", "content": asked, "timestamp": "2026-05-01T10:00:00Z"},
        {"id": "2", "type": "gemini", "content": "I look.", "thoughts": [thought], "toolCalls": [done],
         "model": "model-x", "tokens": {"total": 9}, "timestamp": "2026-05-01T10:00:02Z"},
        {"id": "3", "type": "gemini", "content": "Mended.", "model": "model-x", "timestamp": "2026-05-01T10:00:04Z"},
    ]  # fmt: skip


def head(name: str = "g1", **more: Any) -> dict[str, Any]:
    times = {"startTime": "2026-05-01T10:00:00Z", "lastUpdated": "2026-05-01T10:05:00Z"}
    return {"sessionId": name, "projectHash": "h", **times, **more}


def session(name: str = "g1", **more: Any) -> dict[str, Any]:
    return {**head(name), "messages": messages(), **more}


def dump(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def read(*values: Any) -> Found:
    source = as_source(dump(*values))
    assert choose(source).name == "gemini-cli"
    return list(IMPORTER.read(source))


def only(found: Found) -> Any:
    assert len(found) == 1, [getattr(each, "reason", "") for each in found]
    return found[0]


def told(*after: dict[str, Any]) -> list[Any]:
    return list(only(read({**head(), "messages": [messages()[0], *after]})).episode.steps[1:])


KINDS = ["user", "plan", "plan", "tool_call", "observation", "answer"]


def test_a_session_is_one_episode_with_its_thoughts_calls_and_observations() -> None:
    found = only(read(session(summary="Mending", directories=["/boat", 5])))
    episode = found.episode
    assert (episode.task, episode.source_id, episode.session_id) == ("Mend the oar", "g1", "g1")
    assert (episode.agent, episode.model, episode.environment) == ("gemini-cli", "model-x", {"gemini-cli": "unknown"})
    assert episode.metadata == {"summary": "Mending", "project_hash": "h", "directories": ["/boat"]}
    assert [step.kind for step in episode.steps] == KINDS
    assert [step.text for step in episode.steps[1:3]] == ["Look: I look first.", "I look."]
    assert (episode.steps[3].initiated_by, episode.steps[4].of, episode.steps[4].text) == (["1"], "4", "two oars")
    assert (episode.started_at.minute, episode.ended_at.minute) == (0, 5)
    assert (episode.outcome, episode.task_key, found.details) == ("unknown", None, {})


def test_a_document_on_many_lines_is_read_like_one_on_a_single_line() -> None:
    source = as_source(json.dumps(session(), indent=1).encode())
    assert choose(source).name == "gemini-cli"
    assert only(list(IMPORTER.read(source))).record == session()


def test_one_json_line_a_message_is_read_alike_and_the_last_line_of_an_id_counts() -> None:
    first, acting, last = messages()
    started = {**acting, "toolCalls": [], "thoughts": [], "tokens": None}
    changes = [{"$set": {"lastUpdated": "2026-05-01T10:06:00Z"}}, {"$set": {"summary": "Mending"}}]
    found = only(read(head(kind="main"), first, started, acting, *changes, last))
    assert [step.kind for step in found.episode.steps] == KINDS
    assert found.episode.metadata["summary"] == "Mending"
    assert found.episode.ended_at.minute == 6
    assert len(found.record) == 7


def test_what_the_user_took_back_did_happen_and_is_noted() -> None:
    again = {"id": "9", "type": "user", "content": "Mend the sail"}
    found = only(read(head(), *messages(), {"$rewindTo": "2"}, again))
    assert [step.kind for step in found.episode.steps] == [*KINDS, "system", "user"]
    assert found.episode.steps[6].text == "2 messages were taken back"
    assert found.details["rewinds"] == 1


def test_a_rewritten_history_adds_only_what_is_new_as_copied_context() -> None:
    masked = {**messages()[1], "toolCalls": [made(result=[response(output="[masked]")])]}
    summary = {"id": "s", "type": "user", "content": [{"text": "<state_snapshot>we mended</state_snapshot>"}]}
    found = only(read(head(), *messages(), {"$set": {"messages": [summary, masked]}}))
    assert [step.kind for step in found.episode.steps] == [*KINDS, "system"]
    assert found.episode.steps[-1].is_copied_context
    assert found.episode.steps[4].text == "two oars"
    assert found.details["history_rewritten"] == 1


def test_a_session_of_thoughts_only_is_read() -> None:
    thinking = {"id": "2", "type": "gemini", "content": "", "thoughts": [{"subject": "Hm"}, {"description": "So"}, {}]}
    assert [(step.kind, step.text) for step in told(thinking)] == [("plan", "Hm"), ("plan", "So")]


@pytest.mark.parametrize("status", ["error", "cancelled"])
@pytest.mark.parametrize("result", [None, [response(error="no such file")]])
def test_a_call_that_failed_or_was_cancelled_is_an_error(status: str, result: Any) -> None:
    call, seen = told({"id": "2", "type": "gemini", "toolCalls": [made(status=status, result=result)]})
    assert (seen.of, seen.is_error, seen.text) == (call.id, True, "no such file" if result else "")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ({"result": "plain"}, "plain"),
        ({"result": [{"text": "a"}, response(output="b")]}, "a\nb"),
        ({"result": [response(result={"n": 1})]}, '{"result":{"n":1}}'),
        ({"result": {"functionResponse": {"response": {"output": "one"}}}}, "one"),
        ({"result": None, "resultDisplay": "shown"}, "shown"),
        ({"result": [response(output="a"), {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}]},
         "a\n[inlineData: image/png, 3 bytes, not kept]"),
    ],
)  # fmt: skip
def test_a_result_is_read_in_every_shape(call: dict[str, Any], text: str) -> None:
    assert told({"id": "2", "type": "gemini", "toolCalls": [made(**call)]})[-1].text == text


def test_a_call_without_a_result_has_no_observation() -> None:
    assert [step.kind for step in told({"id": "2", "type": "gemini", "toolCalls": [made()]})] == ["tool_call"]


def test_an_answer_written_among_the_users_words_counts_once() -> None:
    repeated = {"id": "4", "type": "user", "content": [response(output="two oars")]}
    assert [step.kind for step in only(read(session(messages=[*messages(), repeated]))).episode.steps] == KINDS
    asked = {"id": "2", "type": "gemini", "content": [{"functionCall": {"id": "c7", "name": "read_file", "args": {}}}]}
    call, seen = told(asked, {"id": "3", "type": "user", "content": [response("c7", output="two")]})
    assert (call.kind, seen.kind, seen.of, seen.text) == ("tool_call", "observation", call.id, "two")


@pytest.mark.parametrize(
    ("text", "code", "is_error"),
    [
        ("Command: make test\nDirectory: (root)\nOutput: no\nError: (none)\nExit Code: 2\nSignal: (none)", 2, True),
        ("Command: x\nStdout: ok\nError: (none)\nExit Code: 0\nSignal: 0\nProcess Group PGID: 7", 0, None),
        ("Output: no\nExit Code: 2\nProcess Group PGID: 7", 2, True),
        ("Output: ok\nProcess Group PGID: 7", 0, None),
        ("<untrusted_context>\nOutput: no\nExit Code: 2\n</untrusted_context>", 2, True),
        ("Output: part\nSignal: 9\nProcess Group PGID: 7", None, None),
        ("Command: x\nExit Code: (none)\nSignal: 15", None, None),
        ("Command moved to background (PID: 7).", None, None),
        ("Output: Exit Code: 3 is bad\nall fine\nProcess Group PGID: 7", 0, None),
    ],
)  # fmt: skip
def test_the_exit_code_is_the_one_that_the_harness_wrote_after_the_output(
    text: str, code: int | None, is_error: bool | None
) -> None:
    shell = made("run_shell_command", args={"command": "make test"}, result=[response(output=text)])
    found = only(read({**head(), "messages": [messages()[0], {"id": "2", "type": "gemini", "toolCalls": [shell]}]}))
    seen = found.episode.steps[-1]
    assert (seen.exit_code, seen.is_error, seen.text) == (code, is_error, text)
    assert settled(found.episode, capped=False)[0].outcome == ("failure" if code else "unknown")
    assert told({"id": "2", "type": "gemini", "toolCalls": [{**shell, "name": "mail"}]})[-1].exit_code is None


def test_what_the_harness_writes_in_the_users_name_is_no_request() -> None:
    context = {"id": "0", "type": "user", "content": [{"text": "<session_context>\nToday is..."}]}
    found = only(read({**head(), "messages": [context, *messages()]}))
    assert (found.episode.task, found.episode.steps[0].kind) == ("Mend the oar", "system")


def test_the_task_is_what_the_user_typed_where_more_was_sent() -> None:
    asked = {"id": "1", "type": "user", "content": "Mend @oar\n--- file ---", "displayContent": "Mend @oar"}
    found = only(read({**head(), "messages": [asked]}))
    assert (found.episode.task, found.episode.steps[0].text) == ("Mend @oar", "Mend @oar\n--- file ---")


def test_notices_and_unknown_kinds_are_system_steps() -> None:
    noted = [{"id": kind, "type": kind, "content": f"{kind}!"} for kind in ("info", "error", "warning", "novelty")]
    assert [(step.kind, step.name, step.is_error) for step in told(*noted)] == [
        ("system", "info", None),
        ("system", "error", True),
        ("system", "warning", None),
        ("system", "novelty", None),
    ]


def test_the_log_of_what_the_user_typed_is_refused_with_the_true_reason() -> None:
    entry = {"sessionId": "g1", "messageId": 0, "type": "user", "message": "/help", "timestamp": "2026-05-01T10:00:00Z"}
    source = as_source([entry, {**entry, "messageId": 1}])
    assert choose(source).name == "gemini-cli"
    reason = only(list(IMPORTER.read(source))).reason
    assert "holds nothing that the agent did" in reason
    assert "(2 entries)" in reason


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (5, "messages[1]: must be an object; this is a number"),
        ({"id": "x"}, "messages[1]: type is missing: this is no message of Gemini CLI"),
        ({"id": "x", "type": "user"}, "messages[1]: a message without content"),
    ],
)
def test_a_message_that_cannot_be_read_is_rejected_by_place_and_the_session_is_kept(message: Any, reason: str) -> None:
    first, *rest = messages()
    bad, good = read({**head(), "messages": [first, message, *rest]})
    assert bad.reason == reason
    assert [step.kind for step in good.episode.steps] == KINDS


def test_a_line_that_cannot_be_read_is_rejected_by_line() -> None:
    bad, worse, good = read(head(), messages()[0], {"id": "x"}, 5, *messages()[1:])
    assert (bad.line, bad.reason) == (3, "type is missing: this is no message of Gemini CLI")
    assert (worse.line, worse.reason) == (4, "an entry must be an object; this is a number")
    assert [step.kind for step in good.episode.steps] == KINDS


@pytest.mark.parametrize("value", [None, "x", {}, 5])
def test_a_session_without_messages_or_words_is_rejected_by_name(value: Any) -> None:
    reasons = [each.reason for each in read({**head(), "messages": value}) if isinstance(each, Rejected)]
    assert "messages must be a list" in reasons[0]
    assert reasons[1] == "session g1: no word of the user is in it: the task is unknown"
    assert "no word of the user" in only(read(session(messages=messages()[1:]))).reason


def test_several_sessions_in_a_file_stay_apart_and_one_id_twice_is_numbered() -> None:
    assert [each.episode.source_id for each in read(session(), session("g2"), session())] == ["g1", "g2", "g1#2"]
    found = read(head("g1"), *messages(), head("g2"), *messages("Mend the sail"), head("g2"))
    assert [(each.episode.source_id, each.episode.task) for each in found] == [
        ("g1", "Mend the oar"),
        ("g2", "Mend the sail"),
    ]
    assert [each.episode.source_id for each in read(*messages(), head("g2"), *messages())] == [None, "g2"]


def test_a_sub_agents_session_says_so_and_odd_times_are_noted() -> None:
    found = only(read(session(kind="subagent", startTime="noon")))
    assert found.details == {"kind": "subagent", "times_unreadable": 1}


@settings(max_examples=150, deadline=None)
@given(data=st.data(), as_lines=st.booleans())
def test_arbitrary_json_anywhere_never_raises_and_never_loses_the_session_beside_it(
    data: st.DataObject, as_lines: bool
) -> None:
    def chosen(below: int) -> int:
        return data.draw(st.integers(0, below - 1))

    changes = [{"$set": {"messages": messages()}}, {"$rewindTo": "2"}]
    whole = [head("bad"), *messages(), *changes] if as_lines else [session("bad")]
    spoilt = mangle(whole, chosen, times=1 + chosen(5))
    lines = spoilt if isinstance(spoilt, list) else [spoilt]
    found = list(IMPORTER.read(as_source(dump(session("good"), *lines))))
    (good,) = (each.episode for each in found if isinstance(each, Imported) and each.episode.source_id == "good")
    assert [step.kind for step in good.steps][:6] == KINDS
    assert all(each.reason for each in found if isinstance(each, Rejected))
