"""Every generation of conventions and every vendor says the same conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .otel_runs import (
    NEWEST,
    NEWEST_STORY,
    PORTS,
    SAID,
    SEEN,
    STORY,
    SYSTEM,
    USER,
    as_otlp,
    asks,
    event,
    flat,
    model_span,
    openinference,
    parts,
    run,
    story,
    tool_span,
)

# Generations


@pytest.mark.parametrize("written", [json.dumps, lambda value: value])
def test_messages_are_read_as_text_and_as_structure(read: Any, written: Any) -> None:
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.system_instructions": written([{"type": "text", "content": SYSTEM["content"]}]),
        "gen_ai.input.messages": written(NEWEST),
        "gen_ai.output.messages": written([parts("assistant", {"type": "text", "content": SAID["content"]})]),
    }
    for content in ([flat("chat", told)], as_otlp(flat("chat", told))):
        (found,) = read(content)
        assert story(found) == NEWEST_STORY


def test_an_older_name_of_a_response_is_read(read: Any) -> None:
    messages = [*NEWEST[:2], parts("tool", {"type": "tool_call_response", "id": "c1", "result": "Rhin, Skag"})]
    (found,) = read([flat("chat", {"gen_ai.input.messages": json.dumps(messages)})])
    assert story(found)[-1] == STORY[3]


def test_the_deprecated_single_attributes_are_read(read: Any) -> None:
    told = {"gen_ai.prompt": json.dumps(NEWEST), "gen_ai.completion": json.dumps({"text": SAID["content"]})}
    (found,) = read([flat("chat", told)])
    assert story(found) == NEWEST_STORY[1:]
    (found,) = read([flat("chat", {"gen_ai.prompt": USER["content"], "gen_ai.completion": SAID["content"]})])
    assert story(found) == [STORY[1], STORY[4]]


def test_messages_noted_as_events_are_read_in_their_order(read: Any) -> None:
    call = [{"id": "c1", "type": "function", "function": {"name": "list_ports", "arguments": PORTS}}]
    events = [
        event("gen_ai.system.message", content=SYSTEM["content"]),
        event("gen_ai.user.message", content=USER["content"]),
        event("gen_ai.assistant.message", tool_calls=json.dumps(call)),
        event("gen_ai.tool.message", id="c1", content="Rhin, Skag"),
        event("gen_ai.choice", index=0, finish_reason="stop", message=json.dumps({"content": SAID["content"]})),
    ]
    (found,) = read([flat("chat", {"gen_ai.system": "x"}, events=events)])
    assert story(found) == STORY


def test_an_event_whose_content_is_one_json_text_is_read(read: Any) -> None:
    events = [
        event("gen_ai.user.message", **{"gen_ai.event.content": json.dumps({"content": USER["content"]})}),
        event("gen_ai.choice", **{"gen_ai.event.content": json.dumps({"index": 0, "message": SAID})}),
    ]
    (found,) = read([flat("chat", {"gen_ai.system": "x"}, events=events)])
    assert story(found) == [STORY[1], STORY[4]]


def test_the_events_that_hold_whole_prompts_are_read(read: Any) -> None:
    events = [
        event("gen_ai.content.prompt", **{"gen_ai.prompt": json.dumps([USER])}),
        event("gen_ai.content.completion", **{"gen_ai.completion": json.dumps([{"role": "assistant", **SAID}])}),
    ]
    (found,) = read([flat("chat", {"gen_ai.system": "x"}, events=events)])
    assert story(found) == [STORY[1], STORY[4]]
    details = event("gen_ai.client.inference.operation.details", **{"gen_ai.input.messages": NEWEST})
    (found,) = read([flat("chat", {"gen_ai.system": "x"}, events=[details])])
    assert story(found) == [*NEWEST_STORY[1:4], STORY[3]]


def test_openinference_messages_are_read_with_their_tools(read: Any) -> None:
    call = "tool_calls.0.tool_call"
    asks_it = {f"{call}.id": "c1", f"{call}.function.name": "list_ports", f"{call}.function.arguments": PORTS}
    typed = {"contents.0.message_content.type": "text", "contents.0.message_content.text": USER["content"]}
    told = openinference(SYSTEM, {"role": "user", **typed}, {"role": "assistant", **asks_it}, SEEN, says=SAID)
    told |= {"llm.tools.0.tool.json_schema": '{"function": {"name": "list_ports"}}', "llm.tools.1.tool.name": "sail"}
    (found,) = read([flat("LLM", told)])
    assert story(found) == STORY
    assert found.episode.tools_offered == ["list_ports", "sail"]


def test_an_openinference_tool_is_read_from_its_input_and_output(read: Any) -> None:
    told = {"openinference.span.kind": "TOOL", "tool.name": "list_ports", "input.value": PORTS, "output.value": "Rhin"}
    (found,) = read([model_span(USER, says=asks()), flat("tool", told, 2)])
    assert story(found) == [*STORY[1:3], ("observation", "Rhin")]


def adk(kind: str, value: Any) -> dict[str, Any]:
    return {f"gcp.vertex.agent.{kind}": json.dumps(value)}


def test_google_adk_spans_are_read(read: Any) -> None:
    user = {"role": "user", "parts": [{"text": USER["content"]}]}
    call = {"function_call": {"id": "c1", "name": "list_ports", "args": {"sea": "north"}}}
    tools = [{"function_declarations": [{"name": "list_ports"}]}]
    request = {"config": {"system_instruction": SYSTEM["content"], "tools": tools}, "contents": [user]}
    seen = {"function_response": {"id": "c1", "name": "list_ports", "response": {"result": "Rhin, Skag"}}}
    second = {**request, "contents": [user, {"role": "model", "parts": [call]}, {"role": "user", "parts": [seen]}]}
    spans = [
        flat(
            "call_llm",
            adk("llm_request", request) | adk("llm_response", {"content": {"role": "model", "parts": [call]}}),
        ),
        flat(
            "execute_tool",
            {
                **adk("tool_call_args", {"sea": "north", "output": "wide"}),
                **adk("tool_response", {"result": "Rhin, Skag"}),
                "gen_ai.tool.name": "list_ports",
                "gen_ai.tool.call.id": "c1",
                **adk("llm_request", {}),
            },
            1.2,
        ),
        flat(
            "execute_tool (merged)",
            {
                **adk("tool_response", {"x": 1}),
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "(merged tools)",
            },
            1.4,
        ),
        flat(
            "call_llm",
            adk("llm_request", second)
            | adk("llm_response", {"content": {"role": "model", "parts": [{"text": SAID["content"]}]}}),
            2,
        ),
    ]
    (found,) = read(spans)
    assert story(found) == STORY
    assert found.episode.tools_offered == ["list_ports"]
    assert found.details["not_kept"] == {"spans that repeat the results of parallel calls": 1}


def test_a_tools_own_argument_called_output_or_inputs_stays_an_argument(read: Any) -> None:
    told = {"gen_ai.tool.call.arguments": '{"inputs": ["a"], "output": "json"}', "gen_ai.tool.call.id": "c9"}
    (found,) = read([model_span(USER), tool_span(at=3, more=told)])
    assert found.episode.steps[2].arguments == {"inputs": ["a"], "output": "json"}


def test_traceloop_operations_tell_the_task_where_no_model_does(read: Any) -> None:
    whole = {"traceloop.span.kind": "workflow", "traceloop.entity.input": '{"inputs": "Which ports are open?"}'}
    tool = {"traceloop.span.kind": "tool", "traceloop.entity.name": "list_ports"}
    tool |= {"traceloop.entity.input": '{"args": [], "kwargs": {"sea": "north"}}', "traceloop.entity.output": "Rhin"}
    (found,) = read([flat("flow", whole, 0, 5, id="w"), flat("list_ports.tool", tool, 1, parentSpanId="w")])
    assert story(found) == [STORY[1], STORY[2], ("observation", "Rhin")]
    assert found.episode.steps[1].arguments == {"sea": "north"}


def test_a_structured_answer_of_the_ai_sdk_is_its_answer(read: Any) -> None:
    told = {
        "ai.operationId": "ai.generateObject",
        "ai.prompt": '{"prompt": "Plan."}',
        "ai.response.object": '{"b": 1, "a": 2}',
    }
    told["ai.telemetry.functionId"] = "planner"
    (found,) = read([flat("ai", told)])
    assert story(found) == [("user", "Plan."), ("answer", '{"b": 1, "a": 2}')]
    assert (found.episode.agent, found.details["agent_from"]) == ("planner", "ai.telemetry.functionId")


def test_text_that_happens_to_be_json_stays_as_it_was_written(read: Any) -> None:
    odd = '{"b":  1, "a": [ ]}'
    (found,) = read([model_span({"role": "user", "content": odd}, says={"content": '[{"x": 1}]'})])
    assert story(found) == [("user", odd), ("answer", '[{"x": 1}]')]


def test_words_before_a_call_are_a_plan(read: Any) -> None:
    (found,) = read([model_span(USER, says={"content": "Let me look.", **asks()})])
    assert story(found)[1:] == [("plan", "Let me look."), STORY[2]]


def test_a_role_that_is_none_is_a_system_step_of_that_name(read: Any) -> None:
    (found,) = read([model_span(USER, {"role": "critic", "content": "Too slow."})])
    assert (found.episode.steps[1].kind, found.episode.steps[1].name) == ("system", "critic")
    assert found.details["other_roles"] == {"critic": 1}


def test_a_result_that_is_json_stays_as_it_was_written(read: Any) -> None:
    odd = '{"type": "x",  "value": 1}'
    (found,) = read([run()[0], tool_span(more={"gen_ai.tool.call.result": odd})])
    assert story(found)[-1] == ("observation", odd)
    messages = [*NEWEST[:2], parts("tool", {"type": "tool_call_response", "id": "c1", "response": odd})]
    (found,) = read([flat("chat", {"gen_ai.input.messages": json.dumps(messages)})])
    assert story(found)[-1] == ("observation", odd)


def test_results_without_an_id_answer_the_oldest_call(read: Any) -> None:
    call, bare = {"role": "assistant", **asks(None)}, {"role": "tool", "content": "Rhin, Skag"}
    spans = [
        model_span(USER, says=asks(None)),
        tool_span(more={"gen_ai.tool.call.id": None}),
        model_span(USER, call, bare, at=3),
    ]
    (found,) = read(spans)
    assert story(found) == STORY[1:]
    assert found.episode.steps[2].of == found.episode.steps[1].id
