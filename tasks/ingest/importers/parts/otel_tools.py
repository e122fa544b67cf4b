"""What spans say of tools: one execution, as its own span tells it, and which tools a model was offered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tasks.ingest.importers.parts.chat import as_text
from tasks.ingest.importers.parts.otel_items import unwrapped_result
from tasks.ingest.importers.parts.otel_spans import Span
from tasks.ingest.importers.parts.otel_values import list_of, name_of, nested, object_of, read_json, texts_in
from tasks.ingest.jsontext import JsonFault, parse

# Google's ADK writes these where it recorded nothing, and a span that only repeats the results of parallel calls.
_ABSENT = frozenset({"<not specified>", "N/A", "<not serializable>"})
MERGED_TOOLS = "(merged tools)"
_TOOL_NAME = ("gen_ai.tool.name", "ai.toolCall.name", "tool.name", "tool_call.function.name")
_TOOL_ID = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id")
_TOOL_ARGUMENTS = (
    "gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args", "ai.toolCall.args", "ai.toolCall.input",
    "tool_call.function.arguments", "input.value", "traceloop.entity.input", "langfuse.observation.input",
    "tool.parameters",
)  # fmt: skip
_TOOL_RESULT = (
    "gen_ai.tool.call.result", "gcp.vertex.agent.tool_response", "ai.toolCall.result", "ai.toolCall.output",
    "output.value", "traceloop.entity.output", "langfuse.observation.output",
)  # fmt: skip


@dataclass(frozen=True)
class ToolUse:
    """One execution of a tool, as its own span tells it. ``result`` is None where none was recorded."""

    name: str | None
    call_id: str | None
    arguments: Any
    result: str | None
    is_error: bool | None


def tool_of(span: Span) -> ToolUse:
    """What a tool's span tells of its execution."""
    held = span.attributes
    name = next((found for key in _TOOL_NAME if (found := name_of(held.get(key)))), None)
    if name is None:
        name = name_of(held.get("traceloop.entity.name")) or name_of(span.name.removeprefix("execute_tool "))
    arguments = next((entity(held, key) for key in _TOOL_ARGUMENTS if _recorded(held.get(key))), None)
    found = next((entity(held, key) for key in _TOOL_RESULT if _recorded(held.get(key))), None)
    text, flagged = unwrapped_result(found) if found is not None else (None, None)
    if text is None and span.failed:
        text = failure_of(span)
    call_id = next((each for key in _TOOL_ID if (each := name_of(held.get(key)))), None)
    return ToolUse(name, call_id, arguments, text, True if span.failed else flagged)


def _recorded(value: Any) -> bool:
    return value is not None and not (isinstance(value, str) and value in _ABSENT)


def failure_of(span: Span) -> str:
    """What a failed span says of its failure."""
    raised = (event.attributes for event in span.events if event.name == "exception")
    said = (as_text(each.get("exception.message") or each.get("exception.type")) for each in raised)
    return span.message or next((text for text in said if text), "") or as_text(span.attributes.get("error.type"))


def tools_offered(span: Span) -> Iterator[str]:
    """Names of the tools that a model was offered."""
    held = span.attributes
    request = object_of(read_json(held.get("gcp.vertex.agent.llm_request")))
    lists = (
        read_json(held.get("gen_ai.tool.definitions")),
        nested(held, "llm.request.functions"),
        nested(held, "llm.tools") or held.get("llm.tools"),
        read_json(held.get("ai.prompt.tools")),
        object_of(request.get("config")).get("tools"),
    )
    for tools in lists:
        for tool in list_of(tools):
            yield from _tool_names(read_json(tool))


def _tool_names(tool: Any) -> Iterator[str]:
    tool = object_of(tool)
    inner = object_of(tool.get("tool")) or tool
    schema = object_of(read_json(inner.get("json_schema")))
    for declared in list_of(tool.get("function_declarations")):
        yield from texts_in(object_of(declared).get("name"))
    for place in (inner, object_of(inner.get("function")), schema, object_of(schema.get("function"))):
        if name := name_of(place.get("name")):
            yield name
            return


def entity(attributes: dict[str, Any], key: str) -> Any:
    """An operation's input or output. Traceloop puts an object around it, Vercel's SDK the quotes of JSON."""
    value = attributes.get(key)
    if key.startswith("ai.toolCall.") and isinstance(value, str) and value.startswith('"'):
        return _unquoted(value)
    held = read_json(value) if key.startswith("traceloop.") else None
    if not isinstance(held, dict):
        return value
    if isinstance(held.get("inputs"), dict | list | str) and held["inputs"]:
        return held["inputs"]
    if held and held.keys() <= {"args", "kwargs"} and not held.get("args"):
        return held.get("kwargs")
    return held["output"] if isinstance(held.get("output"), str) else value


def _unquoted(text: str) -> Any:
    try:
        return parse(text.encode("utf-8", "surrogatepass")).value
    except JsonFault:
        return text
