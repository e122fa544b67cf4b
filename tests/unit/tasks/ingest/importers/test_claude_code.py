import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.mangling import mangle
from tasks.ingest.importers.base import Imported, Rejected
from tasks.ingest.importers.claude_code import IMPORTER
from tasks.ingest.importers.registry import choose
from tasks.ingest.outcome import settled
from tasks.ingest.reader import open_source

from ..conftest import as_source

Found = list[Imported | Rejected]


def line(kind: str, content: Any, uuid: str, session: str = "s1", **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"m-{uuid}", "model": "model-x"}
    place = {"cwd": "/boat", "gitBranch": "main", "version": "2.0.1", "isSidechain": False}
    return {"type": kind, "uuid": uuid, "sessionId": session, **place, "message": message, **more}


def use(call: str, name: str = "Bash", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given or {"command": "make test"}}


def result(call: str, content: Any = "fine", is_error: bool | None = False) -> dict[str, Any]:
    flag = {} if is_error is None else {"is_error": is_error}
    return {"type": "tool_result", "tool_use_id": call, "content": content, **flag}


def session(name: str = "s1") -> list[dict[str, Any]]:
    return [
        line("user", f"Mend the {name}", f"{name}-1", name, timestamp="2026-05-01T10:00:00Z"),
        line("assistant", [use(f"{name}-c")], f"{name}-2", name, timestamp="2026-05-01T10:00:05Z"),
        line("user", [result(f"{name}-c")], f"{name}-3", name, timestamp="2026-05-01T10:00:09Z"),
        line("assistant", [{"type": "text", "text": "Mended."}], f"{name}-4", name),
    ]


def side(agent: str, kind: str, content: Any, uuid: str, **more: Any) -> dict[str, Any]:
    return {**line(kind, content, uuid), "isSidechain": True, "agentId": agent, **more}


def agent_lines(agent: str = "a9", prompt: str = "Count the oars") -> list[dict[str, Any]]:
    return [
        side(agent, "user", prompt, f"{agent}-1", parentUuid=None),
        side(agent, "assistant", [use(f"{agent}-c", "Grep", pattern="oar")], f"{agent}-2"),
        side(agent, "user", [result(f"{agent}-c", "two")], f"{agent}-3"),
        side(agent, "assistant", [{"type": "text", "text": "Two oars."}], f"{agent}-4"),
    ]


def with_agent(agent: str = "a9", prompt: str = "Count the oars") -> list[dict[str, Any]]:
    told = {"status": "completed", "agentId": agent}
    return [
        line("user", "How many oars?", "u1"),
        line("assistant", [use("t1", "Task", prompt=prompt, description="count")], "u2"),
        line("user", [result("t1", [{"type": "text", "text": "Two oars."}])], "u3", toolUseResult=told),
        line("assistant", [{"type": "text", "text": "Two."}], "u4"),
    ]


def dump(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def read(*values: Any, name: str = "x.jsonl") -> Found:
    source = as_source(dump(*values), name)
    return list(choose(source).read(source))


def only(found: Found) -> Any:
    assert len(found) == 1, [getattr(each, "reason", "") for each in found]
    return found[0]


def steps(*values: Any) -> list[Any]:
    return list(only(read(*values)).episode.steps)


def write(folder: Path, files: dict[str, Any]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else dump(*content)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)


@pytest.fixture
def walk(tmp_path: Path) -> Callable[[str], tuple[str | None, Found]]:
    def walking(name: str) -> tuple[str | None, Found]:
        with open_source(tmp_path / name) as source:
            joined = IMPORTER.part_of(source)
            return joined, list(IMPORTER.read(source))

    return walking


def test_a_session_is_one_episode_with_its_words_calls_and_observations() -> None:
    found = only(read(*session()))
    episode = found.episode
    assert (episode.task, episode.source_id, episode.session_id) == ("Mend the s1", "s1", "s1")
    assert (episode.agent, episode.agent_version, episode.model) == ("claude-code", "2.0.1", "model-x")
    assert episode.environment == {"claude-code": "2.0.1"}
    assert episode.metadata == {"cwd": "/boat", "git_branch": "main"}
    assert [step.kind for step in episode.steps] == ["user", "tool_call", "observation", "answer"]
    assert (episode.steps[1].initiated_by, episode.steps[2].of) == (["1"], "2")
    assert (episode.started_at.second, episode.ended_at.second) == (0, 9)
    assert (episode.outcome, episode.task_key) == ("unknown", None)
    assert found.record == {"lines": session()}


def test_a_file_may_hold_several_sessions() -> None:
    mixed = [each for pair in zip(session("s1"), session("s2"), strict=True) for each in pair]
    assert [each.episode.source_id for each in read(*mixed)] == ["s1", "s2"]


def test_the_web_export_is_read_like_the_lines() -> None:
    pretty = json.dumps({"loglines": [5, *session()], "other": 1}, indent=1).encode()
    for data in (dump({"loglines": [5, *session()]}), pretty):
        source = as_source(data)
        bad, good = choose(source).read(source)
        assert (type(good).__name__, good.record) == ("Imported", {"lines": session()})
        assert bad.reason == "loglines[0]: an entry must be an object; this is a number"


def test_lines_without_a_session_belong_to_the_only_one_or_to_the_line_they_refer_to() -> None:
    summary = {"type": "summary", "summary": "Mending", "leafUuid": "s2-4"}
    stray = {"type": "queue-operation", "operation": "enqueue"}
    one = only(read(*session(), stray))
    assert one.details["not_kept"] == {"queue-operation": 1}
    found = read(*session("s1"), *session("s2"), summary, stray)
    assert found[0].reason == "names no session, and the file holds 2"
    assert found[0].line == 10
    assert [each.episode.metadata.get("summary") for each in found[1:]] == [None, "Mending"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("oops", "an entry must be an object; this is text"),
        ([1], "an entry must be an object; this is a list"),
        (None, "an entry must be an object; this is null"),
        ({"silly": 1}, "type is missing: this is no line of Claude Code"),
        (line("user", "x", "z") | {"message": "error"}, "message must be an object; this is text"),
        (line("user", "x", "z") | {"message": {"contents": "x"}}, "message has no content"),
        (line("user", 5, "z"), "message.content must be text or a list of blocks; this is a number"),
        (line("user", ["wow"], "z"), "message.content[0] must be an object; this is text"),
    ],
)
def test_a_line_that_cannot_be_read_is_rejected_by_place_and_the_session_is_kept(value: Any, reason: str) -> None:
    bad, good = read(*session()[:2], value, *session()[2:])
    assert (bad.line, bad.reason) == (3, reason)
    assert [step.kind for step in good.episode.steps] == ["user", "tool_call", "observation", "answer"]


def test_a_bad_block_beside_good_ones_is_rejected_alone() -> None:
    bad, good = read(*session(), line("assistant", [7, {"type": "text", "text": "Bye."}], "s1-5"))
    assert bad.reason == "message.content holds a number that is no block; the rest was kept"
    assert good.episode.steps[-1].text == "Bye."


def test_a_session_without_a_word_of_the_user_is_rejected_by_name() -> None:
    found = only(read(line("assistant", [use("c")], "u1", "quiet")))
    assert found.reason == "session quiet: no word of the user is in it: the task is unknown"


def test_what_the_harness_writes_in_the_users_name_is_no_request() -> None:
    harness = [
        line("user", "Caveat: The messages below were generated by the user while running local commands.", "h1"),
        line("user", "<command-name>/model</command-name>\n<command-args>x</command-args>", "h2"),
        line("user", "<local-command-stdout>set</local-command-stdout>", "h3"),
        line("user", [{"type": "text", "text": "<system-reminder>be kind</system-reminder>"}], "h4"),
        line("user", "Expanded prompt", "h5", isMeta=True),
        line("user", [{"type": "text", "text": "[Request interrupted by user]"}], "h6"),
    ]
    found = only(read(*harness, *session()))
    assert [step.kind for step in found.episode.steps[:7]] == ["system"] * 6 + ["user"]
    assert found.episode.task == "Mend the s1"
    assert "task_from" not in found.details


def test_a_slash_command_is_the_task_where_the_user_said_nothing_else() -> None:
    command = (
        "<command-message>m</command-message>\n<command-name>/mend</command-name>\n<command-args>the oar</command-args>"
    )
    found = only(read(line("user", command, "h1"), line("user", "Mend it.", "h2", isMeta=True), *session()[1:]))
    assert (found.episode.task, found.details["task_from"]) == ("/mend the oar", "slash command")
    assert isinstance(only(read(line("user", command, "h1"))), Rejected)


def test_thinking_is_a_plan_and_words_beside_a_call_are_a_plan_too() -> None:
    streamed = [
        line("assistant", [{"type": "thinking", "thinking": "Look first.", "signature": "x"}], "t1"),
        line("assistant", [{"type": "text", "text": "I will look."}], "t2"),
        line("assistant", [use("c9")], "t3"),
        line("assistant", [{"type": "thinking", "thinking": "", "signature": "x"}], "t4"),
    ]
    for each in streamed[:3]:
        each["message"]["id"] = "one"
    found = only(read(*session(), *streamed))
    assert [step.kind for step in found.episode.steps[4:]] == ["plan", "plan", "tool_call"]
    assert found.details["not_kept"] == {"thinking without text": 1}


def test_a_message_written_while_it_grew_keeps_each_block_once() -> None:
    growing = [line("assistant", [{"type": "text", "text": "A"}, use("g")][:size], f"g{size}") for size in (1, 2)]
    for each in growing:
        each["message"]["id"] = "growing"
    found = only(read(session()[0], *growing))
    assert [step.kind for step in found.episode.steps] == ["user", "plan", "tool_call"]
    assert found.details["duplicate_blocks"] == 1


def test_a_line_written_again_by_a_resumed_session_counts_once_and_one_of_the_same_id_with_other_words_stays() -> None:
    found = only(read(*session(), *session()[:2], line("user", "And the sail", "s1-1")))
    assert [step.text for step in found.episode.steps if step.kind == "user"] == ["Mend the s1", "And the sail"]
    assert found.details["duplicate_lines"] == 2


@pytest.mark.parametrize("told", ["Error: Exit code 2\nno rule", None, {"stdout": "", "exitCode": 2}])
def test_an_exit_code_that_the_harness_wrote_is_recorded_and_a_failing_check_is_a_failure(told: Any) -> None:
    text = "no rule" if isinstance(told, dict) else "Exit code 2\nno rule"
    more = {} if told is None else {"toolUseResult": told}
    found = only(read(*session()[:2], line("user", [result("s1-c", text, True)], "s1-3", **more)))
    seen = found.episode.steps[-1]
    assert (seen.exit_code, seen.is_error, seen.text) == (2, True, text)
    episode, how = settled(found.episode, capped=False)
    assert (episode.outcome, episode.outcome_source) == ("failure", "exit-code")
    assert how["outcome_from"] == "exit code 2 of the last check, step 3"


def test_a_check_that_passed_after_one_that_failed_is_no_failure() -> None:
    again = [line("assistant", [use("c2")], "s1-5"), line("user", [result("c2", "ok")], "s1-6")]
    failed = line("user", [result("s1-c", "Exit code 1", True)], "s1-3")
    found = only(read(*session()[:2], failed, *again))
    assert [step.exit_code for step in found.episode.steps if step.kind == "observation"] == [1, 0]
    assert settled(found.episode, capped=False)[0].outcome == "unknown"


@pytest.mark.parametrize(
    ("content", "flag", "told", "tool", "code", "is_error"),
    [
        ("Exit code 7 is what it says", False, None, "Read", None, False),
        ("Exit code 7", True, None, "Read", None, True),
        ("none found", False, {"stdout": "", "returnCodeInterpretation": "No matches found"}, "Bash", None, False),
        ("Command running in background with ID: b1", False, None, "Bash", None, False),
        ("", False, {"stdout": "", "backgroundTaskId": "b1"}, "Bash", None, False),
        ("part", None, {"stdout": "part", "interrupted": True}, "Bash", None, True),
        ("ok", None, {"stdout": "ok", "interrupted": False}, "Bash", 0, None),
        ("ok", None, None, "Bash", None, None),
        ("Exit code 99999999999999", True, None, "Bash", None, True),
    ],
)
def test_no_exit_code_is_made_up(
    content: str, flag: bool | None, told: Any, tool: str, code: int | None, is_error: bool | None
) -> None:
    answer = line("user", [result("q", content, flag)], "q3", toolUseResult=told)
    seen = steps(line("user", "Go", "q1"), line("assistant", [use("q", tool)], "q2"), answer)[-1]
    assert (seen.exit_code, seen.is_error) == (code, is_error)


@pytest.mark.parametrize("odd", [["Task"], {"a": 1}, None, 5])
def test_odd_values_where_names_and_ids_belong_are_read_around(odd: Any) -> None:
    call = {"type": "tool_use", "id": odd, "name": odd, "input": odd}
    lines = [line("assistant", [call], "q2"), line("user", [result("x") | {"tool_use_id": odd}], "q3", parentUuid=odd)]
    assert [step.kind for step in steps(line("user", "Go", "q1"), *lines)] == ["user", "tool_call", "observation"]


def test_a_result_may_be_a_list_and_a_picture_is_described_and_counted() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 1000}}
    parts = [{"type": "text", "text": "Here:"}, picture, {"type": "tool_reference", "tool_name": "x"}]
    found = only(read(*session()[:2], line("user", [result("s1-c", parts)], "s1-3")))
    shown, note, rest = found.episode.steps[-1].text.split("\n")
    assert (shown, note) == ("Here:", "[image: image/png, 3,000 bytes, not kept]")
    assert "tool_reference" in rest
    assert found.details["not_kept"] == {"image": 1}


def test_a_compaction_is_copied_context() -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "sessionId": "s1"}
    summary = line("user", "This session is being continued", "k2", isCompactSummary=True)
    told = steps(*session(), boundary, summary)[-2:]
    assert [(step.kind, step.is_copied_context) for step in told] == [("system", True)] * 2


def test_lines_that_a_forked_session_copied_are_copied_context_and_not_its_task() -> None:
    copied = [{**each, "forkedFrom": {"sessionId": "s0"}} for each in session()]
    found = only(read(*copied, line("user", "Now the sail", "n1")))
    assert found.episode.task == "Now the sail"
    assert [step.is_copied_context for step in found.episode.steps] == [True] * 4 + [False]


def test_bookkeeping_is_counted_and_unknown_kinds_never_break_reading() -> None:
    extra = [
        {"type": "file-history-snapshot", "messageId": "s1-1", "snapshot": {}},
        {"type": "progress", "sessionId": "s1", "data": {"type": "hook_progress"}},
        {"type": "system", "subtype": "turn_duration", "sessionId": "s1"},
        {"type": "new-thing", "sessionId": "s1"},
    ]
    found = only(read(*session(), *extra))
    kinds = {"file-history-snapshot": 1, "progress": 1, "system/turn_duration": 1, "new-thing": 1}
    assert found.details == {"not_kept": kinds}


def test_missing_odd_and_backward_times_change_nothing_and_are_noted() -> None:
    lines = session()
    lines[1]["timestamp"] = "2026-05-01T09:00:00Z"
    lines[2]["timestamp"] = "noon"
    found = only(read(*lines))
    assert [step.kind for step in found.episode.steps] == ["user", "tool_call", "observation", "answer"]
    assert found.details == {"times_backwards": 1, "times_unreadable": 1}
    assert [step.at is None for step in found.episode.steps] == [False, False, True, True]


def test_tools_are_offered_only_where_they_are_listed() -> None:
    listed = {"type": "system", "subtype": "init", "session_id": "s1", "tools": ["Bash", "Read", 5]}
    assert only(read(*session())).episode.tools_offered == []
    assert only(read(listed, *session())).episode.tools_offered == ["Bash", "Read"]


def test_text_that_no_database_keeps_is_made_visible_and_counted() -> None:
    found = only(read(line("user", "a\x00b\ud800", "u1")))
    assert (found.episode.task, found.details["cleaned"]) == ("a\u2400b\ufffd", {"nul": 1, "not_utf8": 1})


# ── sub-agents ───────────────────────────────────────────────────────────────────────────────────────────────────────


def placed(found: Any) -> list[tuple[str, str | None]]:
    return [(step.kind, step.agent) for step in found.episode.steps]


JOINED = [
    ("user", None), ("tool_call", None), ("system", "a9"), ("tool_call", "a9"), ("observation", "a9"),
    ("answer", "a9"), ("observation", None), ("answer", None),
]  # fmt: skip


@pytest.mark.parametrize("folder", ["", "s1/subagents/"])
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_a_sub_agents_file_is_joined_after_the_call_that_started_it(
    tmp_path: Path, walk: Any, folder: str, packed: str
) -> None:
    write(tmp_path, {f"s1.jsonl{packed}": with_agent(), f"{folder}agent-a9.jsonl{packed}": agent_lines()})
    joined, found = walk(f"s1.jsonl{packed}")
    episode = only(found)
    assert joined is None
    assert placed(episode) == JOINED
    call = episode.episode.steps[1]
    assert {tuple(step.initiated_by) for step in episode.episode.steps if step.agent} == {(call.id,)}
    assert episode.record["agents"] == {"a9": agent_lines()}
    assert episode.details == {"sub_agents": 1}
    joined, _ = walk(f"{folder}agent-a9.jsonl{packed}")
    assert joined is not None
    assert joined.endswith(f"s1.jsonl{packed}")


def test_a_grown_sub_agents_file_is_another_record(tmp_path: Path, walk: Any) -> None:
    write(tmp_path, {"s1.jsonl": with_agent(), "agent-a9.jsonl": agent_lines()[:2]})
    before = only(walk("s1.jsonl")[1]).record
    write(tmp_path, {"agent-a9.jsonl": agent_lines()})
    assert only(walk("s1.jsonl")[1]).record != before


def test_sub_agents_in_the_sessions_own_lines_are_joined_alike() -> None:
    main = with_agent()
    assert placed(only(read(*main[:2], *agent_lines(), *main[2:]))) == JOINED


def test_a_sub_agent_that_an_older_version_did_not_name_is_found_by_its_request() -> None:
    main, nameless = with_agent(), agent_lines()
    del main[2]["toolUseResult"]
    for before, each in zip([None, *nameless], nameless, strict=False):
        del each["agentId"]
        each["parentUuid"] = before["uuid"] if before else None
    told = placed(only(read(*main[:2], *nameless, *main[2:])))
    assert told == [(kind, agent and "sub-agent-1") for kind, agent in JOINED]


@pytest.mark.parametrize("how", ["progress", "meta", "parent"])
def test_the_call_is_found_by_whatever_the_harness_recorded(tmp_path: Path, walk: Any, how: str) -> None:
    main, agent = with_agent(prompt="Another wording"), agent_lines()
    del main[2]["toolUseResult"]
    files: dict[str, Any] = {"agent-a9.jsonl": agent}
    if how == "progress":
        data = {"type": "agent_progress", "agentId": "a9"}
        main.insert(2, {"type": "progress", "sessionId": "s1", "parentToolUseID": "t1", "data": data})
    elif how == "meta":
        files["agent-a9.meta.json"] = json.dumps({"agentType": "Explore", "toolUseId": "t1"}).encode()
    else:
        agent[0]["parentUuid"] = "u2"
    write(tmp_path, {"s1.jsonl": main, **files})
    assert placed(only(walk("s1.jsonl")[1])) == JOINED
    if how == "meta":
        assert walk("agent-a9.meta.json")[0].endswith("agent-a9.jsonl")


def test_a_sub_agent_whose_call_is_not_known_comes_last_and_is_counted(tmp_path: Path, walk: Any) -> None:
    write(tmp_path, {"s1.jsonl": session(), "agent-a9.jsonl": agent_lines()})
    found = only(walk("s1.jsonl")[1])
    assert [agent for _, agent in placed(found)] == [None] * 4 + ["a9"] * 4
    assert found.details == {"sub_agents": 1, "sub_agents_not_placed": 1}


def test_a_sub_agents_sub_agent_stands_within_it() -> None:
    outer = agent_lines("a1", "Count the oars")
    outer[1] = side("a1", "assistant", [use("inner", "Agent", prompt="Look below deck")], "a1-2")
    outer[2] = side("a1", "user", [result("inner")], "a1-3", toolUseResult={"agentId": "a2"})
    told = placed(only(read(*with_agent("a1"), *outer, *agent_lines("a2", "x"))))
    agents = [agent for _, agent in told]
    assert agents == [None, None, "a1", "a1", "a2", "a2", "a2", "a2", "a1", "a1", None, None]


def test_agents_that_started_each_other_are_told_once() -> None:
    one = side("a1", "user", [result("c2")], "x1", toolUseResult={"agentId": "a2"})
    two = side("a2", "user", [result("c1")], "x2", toolUseResult={"agentId": "a1"})
    calls = [side("a1", "assistant", [use("c1", "Task")], "x3"), side("a2", "assistant", [use("c2", "Task")], "x4")]
    assert len(only(read(*session(), one, two, *calls)).episode.steps) == 8


def test_a_sub_agent_without_its_session_is_an_episode_of_its_own(tmp_path: Path, walk: Any) -> None:
    write(tmp_path, {"agent-a9.jsonl": agent_lines(), "other.jsonl": session("other")})
    joined, found = walk("agent-a9.jsonl")
    assert joined is None
    episode = only(found).episode
    assert (episode.source_id, episode.session_id, episode.task) == ("s1/a9", "s1", "Count the oars")
    assert only(found).details["orphan"] == "a sub-agent without its session"
    assert (episode.steps[0].kind, episode.steps[0].trust) == ("user", "internal")
    assert len(only(walk("other.jsonl")[1]).episode.steps) == 4


def test_a_sub_agent_of_a_session_that_cannot_be_told_is_not_lost(tmp_path: Path, walk: Any) -> None:
    write(tmp_path, {"s1.jsonl": session()[1:], "agent-a9.jsonl": agent_lines()})
    assert walk("agent-a9.jsonl")[0] is not None
    bad, orphan = walk("s1.jsonl")[1]
    assert "no word of the user" in bad.reason
    assert orphan.episode.source_id == "s1/a9"


@pytest.mark.parametrize(
    "content",
    [session(), [{"type": "user"}], b"", b"\x00", [{**agent_lines()[0], "sessionId": "../../s1"}], [5]],
)
def test_only_a_sub_agents_lines_make_a_file_part_of_another(tmp_path: Path, walk: Any, content: Any) -> None:
    write(tmp_path, {"s1.jsonl": session(), "agent-a9.jsonl": content})
    assert walk("agent-a9.jsonl")[0] is None


def test_a_file_named_like_the_session_that_is_no_session_takes_no_part(tmp_path: Path, walk: Any) -> None:
    write(tmp_path, {"s1.jsonl": b'{"task": "x", "steps": []}\n', "agent-a9.jsonl": agent_lines()})
    assert walk("agent-a9.jsonl")[0] is None


def test_bad_lines_of_a_sub_agents_file_are_rejected_by_file_and_line(tmp_path: Path, walk: Any) -> None:
    write(tmp_path, {"s1.jsonl": with_agent(), "agent-a9.jsonl": dump(*agent_lines()[:1]) + b"{oops\n" + dump(5)})
    first, second, good = walk("s1.jsonl")[1]
    assert first.reason.startswith("agent-a9.jsonl, line 2: not JSON")
    assert second.reason == "agent-a9.jsonl, line 3: an entry must be an object; this is a number"
    assert isinstance(good, Imported)


def test_a_great_many_sub_agents_do_not_run_out_of_open_files(tmp_path: Path, walk: Any) -> None:
    write(tmp_path, {f"agent-a{n}.jsonl": agent_lines(f"a{n}")[:2] for n in range(1200)})
    write(tmp_path, {"s1.jsonl": session()})
    assert only(walk("s1.jsonl")[1]).details["sub_agents"] == 1200


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_arbitrary_json_anywhere_never_raises_and_never_loses_the_session_beside_it(data: st.DataObject) -> None:
    def chosen(below: int) -> int:
        return data.draw(st.integers(0, below - 1))

    whole = [*with_agent(), *agent_lines(), {"type": "summary", "summary": "x", "leafUuid": "u4", "sessionId": "s1"}]
    spoilt = mangle(whole, chosen, times=1 + chosen(5))
    lines = spoilt if isinstance(spoilt, list) else [spoilt]
    found = list(IMPORTER.read(as_source(dump(*session("good"), *lines))))
    kept = [each.episode for each in found if isinstance(each, Imported) and each.episode.source_id == "good"]
    assert [len(episode.steps) >= 4 for episode in kept] == [True]
    assert all(each.reason for each in found if isinstance(each, Rejected))
