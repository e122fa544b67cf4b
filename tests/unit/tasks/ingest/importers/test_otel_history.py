"""One conversation read once, however often its spans repeat it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .otel_runs import (
    ASKS,
    PORTS,
    SAID,
    SEEN,
    STORY,
    SYSTEM,
    USER,
    asks,
    flat,
    lines,
    model_span,
    openinference,
    run,
    story,
    tool_span,
)


def test_a_repeated_history_is_counted_once(read: Any) -> None:
    (found,) = read(run())
    assert story(found) == STORY
    call, seen = found.episode.steps[2:4]
    assert (call.name, call.arguments, call.initiated_by) == ("list_ports", {"sea": "north"}, ["2"])
    assert (seen.of, seen.is_error, seen.trust, seen.source) == (call.id, None, None, "tool")


def test_a_tool_that_no_message_tells_of_is_a_call_all_the_same(read: Any) -> None:
    (found,) = read([tool_span(at=0.5), model_span(USER, at=0)])
    assert [step.kind for step in found.episode.steps] == ["user", "answer", "tool_call", "observation"]


def test_identical_calls_with_different_ids_stay_two(read: Any) -> None:
    again = {"role": "assistant", **asks("c2")}
    seen = {**SEEN, "tool_call_id": "c2"}
    spans = [*run()[:2], model_span(SYSTEM, USER, ASKS, SEEN, at=2, says=asks("c2"))]
    spans.append(model_span(SYSTEM, USER, ASKS, SEEN, again, seen, at=4))
    (found,) = read(spans)
    assert story(found) == [*STORY[:4], *STORY[2:4], STORY[4]]
    assert found.episode.steps[5].of == found.episode.steps[4].id


def test_the_same_words_said_twice_by_the_user_stay_two(read: Any) -> None:
    yes = {"role": "user", "content": "yes"}
    well = {"role": "assistant", "content": "Well?"}
    spans = [model_span(yes, says={"content": "Well?"}), model_span(yes, well, yes, at=2)]
    (found,) = read(spans)
    assert [text for _, text in story(found)] == ["yes", "Well?", "yes", SAID["content"]]


def test_words_said_again_in_a_later_trace_without_its_history_are_said_again(read: Any) -> None:
    named = {"session.id": "s"}
    yes = {"role": "user", "content": "yes"}
    spans = [model_span(yes, more=named), model_span(yes, more=named, at=5, trace="t2", says={"content": "Good."})]
    (found,) = read(spans)
    assert [text for _, text in story(found)] == ["yes", SAID["content"], "yes", "Good."]


def test_two_operations_that_say_the_same_said_it_twice(read: Any) -> None:
    (found,) = read([model_span(USER), model_span(USER, at=5)])
    assert [kind for kind, _ in story(found)] == ["user", "answer", "answer"]


def test_an_agent_around_its_model_does_not_double(read: Any) -> None:
    told = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "harbour-bot",
        "gen_ai.input.messages": json.dumps(
            [{"role": "user", "parts": [{"type": "text", "content": USER["content"]}]}]
        ),
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": SAID["content"]}]}]
        ),
    }
    inner = [{**span, "parentSpanId": "agent"} for span in run()]
    (found,) = read([flat("invoke_agent", told, -0.5, 5, id="agent"), *inner])
    assert story(found) == STORY
    assert found.episode.agent == "harbour-bot"
    assert {step.agent for step in found.episode.steps} == {None}


def test_an_agent_whose_output_is_the_whole_conversation_does_not_double(read: Any) -> None:
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.input.messages": [USER]}
    whole = [
        USER,
        {"role": "assistant", "tool_calls": [{"id": "c1", "name": "list_ports", "arguments": PORTS}]},
        SEEN,
        {"role": "assistant", **SAID},
    ]
    agent = flat("invoke_agent", {**told, "gen_ai.output.messages": whole}, -0.5, 5, id="agent")
    (found,) = read([agent, *({**span, "parentSpanId": "agent"} for span in run())])
    assert story(found) == STORY
    assert story(read([agent])[0]) == STORY[1:]


def test_an_operation_of_the_ai_sdk_around_its_steps_does_not_double(read: Any) -> None:
    user = [{"role": "user", "content": [{"type": "text", "text": USER["content"]}]}]
    call = [{"toolCallId": "c1", "toolName": "list_ports", "input": PORTS}]
    said = {"role": "assistant", "content": [{"type": "tool-call", **call[0], "input": {"sea": "north"}}]}
    result = {"type": "tool-result", "toolCallId": "c1", "toolName": "list_ports"}
    seen = {"role": "tool", "content": [{**result, "output": {"type": "text", "value": "Rhin, Skag"}}]}
    outer = {
        "ai.operationId": "ai.generateText",
        "ai.prompt": json.dumps({"system": SYSTEM["content"], "prompt": USER["content"]}),
    }
    steps = [{"role": "system", "content": SYSTEM["content"]}, *user]
    inner = "ai.generateText.doGenerate"
    spans = [
        flat("outer", {**outer, "ai.response.text": SAID["content"]}, 0, 5, id="o"),
        flat(
            "one",
            {
                "ai.operationId": inner,
                "ai.prompt.messages": json.dumps(steps),
                "ai.response.toolCalls": json.dumps(call),
            },
            0.1,
            parentSpanId="o",
        ),
        flat(
            "tool",
            {
                "ai.toolCall.name": "list_ports",
                "ai.toolCall.id": "c1",
                "ai.toolCall.args": PORTS,
                "ai.toolCall.result": '"Rhin, Skag"',
            },
            1.2,
            0.1,
            parentSpanId="o",
        ),
        flat(
            "two",
            {
                "ai.operationId": inner,
                "ai.prompt.messages": json.dumps([*steps, said, seen]),
                "ai.response.text": SAID["content"],
            },
            2,
            parentSpanId="o",
        ),
    ]
    (found,) = read(spans)
    assert story(found) == STORY


@pytest.mark.parametrize("side_by_side", [False, True])
def test_two_libraries_that_record_one_call_do_not_double_it(read: Any, side_by_side: bool) -> None:
    told = openinference(SYSTEM, USER, says={"role": "assistant", **SAID})
    scopes = ({"instrumentationScope": {"name": name}} for name in ("one", "two"))
    mine = model_span(SYSTEM, USER, lasts=3, id="m", parentSpanId="root", **next(scopes))
    parent = "root" if side_by_side else "m"
    (found,) = read([mine, flat("LLM", told, 0.5, 1, parentSpanId=parent, **next(scopes))])
    assert [kind for kind, _ in story(found)] == ["system", "user", "answer"]


def test_a_tool_recorded_by_two_libraries_is_one_call(read: Any) -> None:
    inner = tool_span(at=1.6, id="in", parentSpanId="out", more={"gen_ai.tool.call.id": None})
    (found,) = read([model_span(SYSTEM, USER, says=asks()), tool_span(id="out"), inner, run()[2]])
    assert story(found) == STORY


@pytest.mark.parametrize("with_ids", [True, False])
def test_calls_side_by_side_may_end_in_another_order_than_they_are_told(read: Any, with_ids: bool) -> None:
    south = '{"sea": "south"}'
    both = asks() | {key.replace(".0.", ".1."): value for key, value in asks("c2", arguments=south).items()}
    first, second = SEEN, {"role": "tool", "content": "Mole", "tool_call_id": "c2"}
    other = {"gen_ai.tool.call.id": "c2", "gen_ai.tool.call.arguments": south, "gen_ai.tool.call.result": "Mole"}
    spans = [
        model_span(USER, says=both),
        tool_span(at=1.6),
        tool_span(at=1.5, id="other", more=other),
        model_span(USER, {"role": "assistant", **both}, first, second, at=3),
    ]
    if not with_ids:
        for span in spans:
            span["attributes"] = {key: value for key, value in span["attributes"].items() if not key.endswith("id")}
    (found,) = read(spans)
    texts = [(step.of, step.text) for step in found.episode.steps if step.kind == "observation"]
    assert texts == [("3", "Mole"), ("2", "Rhin, Skag")]
    assert len(found.episode.steps) == 6


def test_a_call_whose_span_writes_its_arguments_in_another_notation_is_one_call(read: Any) -> None:
    told = {"gen_ai.tool.call.id": None, "gen_ai.tool.call.arguments": "{'sea': 'north'}"}
    (found,) = read([run()[0], tool_span(more=told), run()[2]])
    calls = [step.arguments for step in found.episode.steps if step.kind == "tool_call"]
    assert calls == [{"sea": "north"}]


def test_a_tool_whose_clock_runs_ahead_of_the_models_is_one_call(read: Any) -> None:
    (found,) = read([run()[0], tool_span(at=-9), run()[2]])
    assert sorted(story(found)) == sorted(STORY)


def test_a_sub_agent_within_a_tool_keeps_its_own_words_apart(read: Any) -> None:
    lead, scout = (
        flat(name, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}, at, 9, id=name, **outer)
        for name, at, outer in (("lead", 0.0, {}), ("scout", 2.0, {"parentSpanId": "tool"}))
    )
    task = {"role": "user", "content": "Scout the sea."}
    fog = {"gen_ai.tool.call.result": "Fog."}
    spans = [
        lead,
        model_span(SYSTEM, USER, says=asks(), at=0.1, parentSpanId="lead"),
        flat("tool", tool_span(more=fog)["attributes"], 1.5, 3, id="tool", parentSpanId="lead"),
        scout,
        model_span(task, says={"content": "Fog."}, at=2.1, parentSpanId="scout"),
        model_span(SYSTEM, USER, ASKS, {**SEEN, "content": "Fog."}, at=6, parentSpanId="lead"),
    ]
    (found,) = read(spans)
    assert [(step.kind, step.agent, step.of) for step in found.episode.steps] == [
        ("system", None, None),
        ("user", None, None),
        ("tool_call", "lead", None),
        ("user", None, None),
        ("answer", "scout", None),
        ("observation", "lead", "3"),
        ("answer", "lead", None),
    ]


def test_a_result_is_kept_in_its_fuller_form(read: Any) -> None:
    wrapped = {"content": [{"type": "text", "text": "Rhin, Skag, and the old pier"}], "isError": False}
    spans = [run()[0], tool_span(more={"gen_ai.tool.call.result": json.dumps(wrapped)}), run()[2]]
    (found,) = read(spans)
    assert found.episode.steps[3].text == "Rhin, Skag, and the old pier"
    assert found.episode.steps[3].is_error is False


def test_a_span_exported_twice_counts_once(read: Any) -> None:
    (found,) = read(lines(*run(), *run()))
    assert story(found) == STORY
    assert found.details["not_kept"] == {"spans exported twice": 3}


def test_two_spans_of_one_id_are_two_tellings_of_one_operation(read: Any) -> None:
    (found,) = read([model_span(USER, id="same"), model_span(USER, id="same", lasts=2)])
    assert [kind for kind, _ in story(found)] == ["user", "answer"]


def test_instructions_that_change_on_the_way_count_from_there_on(read: Any) -> None:
    other = {"role": "system", "content": "Now be brief."}
    spans = [model_span(SYSTEM, USER, says=asks()), tool_span(), model_span(other, USER, ASKS, SEEN, at=2)]
    (found,) = read(spans)
    assert [kind for kind, _ in story(found)] == ["system", "user", "tool_call", "observation", "system", "answer"]


def test_every_sub_agents_steps_bear_its_name(read: Any) -> None:
    agents = [
        flat(name, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}, at, 3, id=name)
        for name, at in (("lead", 0.0), ("scout", 4.0))
    ]
    scout = model_span({"role": "user", "content": "Scout."}, at=4, parentSpanId="scout", says={"content": "Fog."})
    (found,) = read([*agents, model_span(USER, parentSpanId="lead"), scout])
    assert [step.agent for step in found.episode.steps] == [None, "lead", None, "scout"]
    assert found.episode.agent == "lead"
