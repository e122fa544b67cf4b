"""Small invented runs as traces of GenAI, in every shape in which they are exported."""

from __future__ import annotations

import json
from typing import Any

from tasks.ingest.importers.base import Imported, Rejected

SECOND = 10**9
START = 1_780_000_000 * SECOND
TRACE = "5b8efff798038103d269b633813fc60c"
PORTS = '{"sea": "north"}'


def flat(name: str, attributes: dict[str, Any], at: float = 0, lasts: float = 1, **changes: Any) -> dict[str, Any]:
    """A span as a JavaScript SDK dumps it; times are seconds from the start."""
    begin, end = (START + int(moment * SECOND) for moment in (at, at + lasts))
    span: dict[str, Any] = {
        "name": name,
        "spanContext": {"traceId": changes.pop("trace", TRACE), "spanId": changes.pop("id", f"{name}@{at}")},
        "attributes": attributes,
        "startTime": [begin // SECOND, begin % SECOND],
        "endTime": [end // SECOND, end % SECOND],
        "status": {"code": 0},
        "events": [],
    }
    return {**span, **changes}


def prompt(*messages: dict[str, Any], generation: str = "gen_ai.prompt") -> dict[str, Any]:
    """Messages as flattened attributes."""
    return {f"{generation}.{at}.{key}": value for at, each in enumerate(messages) for key, value in each.items()}


def answer(**fields: Any) -> dict[str, Any]:
    return prompt({"role": "assistant", **fields}, generation="gen_ai.completion")


def asks(call_id: str | None = "c1", name: str = "list_ports", arguments: str = PORTS) -> dict[str, Any]:
    told = {"tool_calls.0.id": call_id, "tool_calls.0.name": name, "tool_calls.0.arguments": arguments}
    return {key: value for key, value in told.items() if value is not None}


SYSTEM = {"role": "system", "content": "You help sailors."}
USER = {"role": "user", "content": "Which ports are open?"}
ASKS = {"role": "assistant", **asks()}
SEEN = {"role": "tool", "content": "Rhin, Skag", "tool_call_id": "c1"}
SAID = {"content": "Rhin and Skag are open."}


def model_span(*messages: dict[str, Any], at: float = 0, says: dict[str, Any] = SAID, **changes: Any) -> dict[str, Any]:
    more = changes.pop("more", {})
    attributes = {"gen_ai.request.model": "model-5", **prompt(*messages), **answer(**says), **more}
    return flat("chat", attributes, at, **changes)


def tool_span(at: float = 1.5, **changes: Any) -> dict[str, Any]:
    told = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "list_ports",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": PORTS,
        "gen_ai.tool.call.result": "Rhin, Skag",
    }
    told |= changes.pop("more", {})
    return flat("execute_tool list_ports", {k: v for k, v in told.items() if v is not None}, at, 0.2, **changes)


def run(**changes: Any) -> list[dict[str, Any]]:
    """Two calls of a model around one of a tool; the second tells the whole history again."""
    return [
        model_span(SYSTEM, USER, says=asks(), **changes),
        tool_span(**changes),
        model_span(SYSTEM, USER, ASKS, SEEN, at=2, **changes),
    ]


STORY = [
    ("system", "You help sailors."),
    ("user", "Which ports are open?"),
    ("tool_call", ""),
    ("observation", "Rhin, Skag"),
    ("answer", "Rhin and Skag are open."),
]


def story(found: Imported | Rejected) -> list[tuple[str, str]]:
    assert isinstance(found, Imported), found
    return [(step.kind, step.text) for step in found.episode.steps]


def any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(each) for each in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": any_value(each)} for key, each in value.items()]}}
    return {"stringValue": value}


def nanos(time: list[int]) -> int:
    return time[0] * SECOND + time[1]


def as_otlp(*spans: dict[str, Any], old: bool = False) -> dict[str, Any]:
    """The same spans as an OTLP export: the old names with integer times, or the new ones with times as text."""
    written = [
        {
            "traceId": span["spanContext"]["traceId"],
            "spanId": span["spanContext"]["spanId"],
            "parentSpanId": span.get("parentSpanId", ""),
            "name": span["name"],
            "startTimeUnixNano": nanos(span["startTime"]) if old else str(nanos(span["startTime"])),
            "endTimeUnixNano": nanos(span["endTime"]) if old else str(nanos(span["endTime"])),
            "attributes": [{"key": key, "value": any_value(value)} for key, value in span["attributes"].items()],
            "status": span["status"],
        }
        for span in spans
    ]
    service = {"service.name": "harbour", "service.version": "3.1"}
    resource = {"attributes": [{"key": key, "value": any_value(value)} for key, value in service.items()]}
    if old:
        scoped = {"instrumentationLibrary": {"name": "lib"}, "spans": written}
        return {"batches": [{"resource": resource, "instrumentationLibrarySpans": [scoped]}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "lib"}, "spans": written}]}]}


def as_jaeger(*spans: dict[str, Any]) -> dict[str, Any]:
    written = [
        {
            "traceID": span["spanContext"]["traceId"],
            "spanID": span["spanContext"]["spanId"],
            "operationName": span["name"],
            "references": [{"refType": "CHILD_OF", "traceID": TRACE, "spanID": span["parentSpanId"]}]
            if "parentSpanId" in span
            else [],
            "startTime": nanos(span["startTime"]) // 1000,
            "duration": (nanos(span["endTime"]) - nanos(span["startTime"])) // 1000,
            "tags": [{"key": key, "type": "string", "value": value} for key, value in span["attributes"].items()],
            "logs": [],
            "processID": "p1",
        }
        for span in spans
    ]
    process = {"serviceName": "harbour", "tags": [{"key": "service.version", "type": "string", "value": "3.1"}]}
    return {"data": [{"traceID": TRACE, "spans": written, "processes": {"p1": process}}], "total": 0}


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def openinference(*messages: dict[str, Any], says: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {"openinference.span.kind": "LLM", "llm.model_name": "model-5"}
    for at, message in enumerate(messages):
        told |= {f"llm.input_messages.{at}.message.{key}": value for key, value in message.items()}
    return told | {f"llm.output_messages.0.message.{key}": value for key, value in says.items()}


def event(name: str, **attributes: Any) -> dict[str, Any]:
    return {"name": name, "attributes": attributes}


def parts(role: str, *found: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(found)}


NEWEST = [
    parts("user", {"type": "text", "content": USER["content"]}),
    parts(
        "assistant",
        {"type": "reasoning", "content": "I must look."},
        {"type": "tool_call", "id": "c1", "name": "list_ports", "arguments": {"sea": "north"}},
    ),
    parts("tool", {"type": "tool_call_response", "id": "c1", "response": "Rhin, Skag"}),
]
NEWEST_STORY = [STORY[0], STORY[1], ("plan", "I must look."), *STORY[2:]]
