"""What a span's attributes say, in every generation of conventions: what kind it is, its messages, its tool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tasks.ingest.importers.parts.chat import as_text
from tasks.ingest.importers.parts.otel_items import Item
from tasks.ingest.importers.parts.otel_messages import Messages
from tasks.ingest.importers.parts.otel_spans import Event, Span
from tasks.ingest.importers.parts.otel_tools import entity
from tasks.ingest.importers.parts.otel_values import name_of, nested, object_of, read_json, undotted

_CONVERSATION = (
    "gen_ai.conversation.id", "session.id", "ai.telemetry.metadata.sessionId", "langfuse.session.id",
    "gcp.vertex.agent.session_id", "traceloop.association.properties.session_id",
)  # fmt: skip
# Attributes that any span of a run may carry: alone they do not make it one of GenAI.
_CARRIED = frozenset({*_CONVERSATION, "gen_ai.task.id", "gen_ai.agent.id", "gen_ai.agent.version"})
_FAMILIES = ("gen_ai.", "ai.", "llm.", "gcp.vertex.agent.", "langfuse.observation.", "openinference.")
_MODELS = ("gen_ai.response.model", "ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id")
_DETAILS_EVENTS = ("gen_ai.client.inference.operation.details", "gen_ai.content.prompt", "gen_ai.content.completion")
_EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "said",
    "gen_ai.tool.message": "result",
}
_WRAPPED_INPUT = ("input.value", "traceloop.entity.input", "langfuse.observation.input")
_WRAPPED_OUTPUT = ("output.value", "traceloop.entity.output", "langfuse.observation.output")
# What a label of an evaluation says, where it is a verdict.
_VERDICTS = {"pass": True, "passed": True, "fail": False, "failed": False}


@dataclass(frozen=True)
class Exchange:
    """What went into a model or an agent, and what came out."""

    inputs: list[Item]
    outputs: list[Item]

    def __bool__(self) -> bool:
        return bool(self.inputs or self.outputs)


@dataclass(frozen=True)
class Evaluation:
    """One recorded evaluation. ``passed`` is None where the label is no verdict."""

    name: str
    passed: bool | None
    told: dict[str, Any]


def kind_of(span: Span) -> str | None:
    """``model``, ``agent``, ``tool``, ``embedding``, ``retrieval`` or ``evaluation``; None for any other span."""
    held = span.attributes
    operation, kind = held.get("gen_ai.operation.name"), _upper(held.get("openinference.span.kind"))
    entity, vercel = held.get("traceloop.span.kind"), as_text(held.get("ai.operationId"))
    if (
        operation == "execute_tool"
        or kind == "TOOL"
        or entity == "tool"
        or held.get("langfuse.observation.type") == "tool"
        or "ai.toolCall.name" in held
        or "gcp.vertex.agent.tool_call_args" in held
    ):
        return "tool"
    if operation == "embeddings" or kind == "EMBEDDING" or vercel.startswith(("ai.embed", "ai.rerank")):
        return "embedding"
    if operation == "retrieval" or kind in ("RETRIEVER", "RERANKER"):
        return "retrieval"
    agent = operation in ("invoke_agent", "create_agent", "invoke_workflow") or kind in ("AGENT", "CHAIN")
    if agent or entity in ("workflow", "agent", "task"):
        return "agent"
    events = [event.name for event in span.events if event.name.startswith("gen_ai.")]
    own = [key for key in held if key.startswith(_FAMILIES) and key not in _CARRIED]
    if own and all(key.startswith(("gen_ai.agent.", "gen_ai.evaluation.")) for key in own):
        return "evaluation" if any(key.startswith("gen_ai.evaluation.") for key in own) else "agent"
    if own or kind:
        return "model"
    return ("evaluation" if set(events) == {"gen_ai.evaluation.result"} else "model") if events else None


def conversation_of(span: Span) -> str | None:
    """The conversation or session that a span names."""
    return next((name for key in _CONVERSATION if (name := name_of(span.attributes.get(key)))), None)


def model_of(span: Span) -> str | None:
    return next((name for key in _MODELS if (name := name_of(span.attributes.get(key)))), None)


def agent_of(span: Span) -> str | None:
    """The agent that a span names as the one at work."""
    return name_of(span.attributes.get("gen_ai.agent.name")) or name_of(span.attributes.get("agent.name"))


def response_id(span: Span) -> str | None:
    keys = ("gen_ai.response.id", "ai.response.id")
    return next((name for key in keys if (name := name_of(span.attributes.get(key)))), None)


def exchange_of(span: Span, messages: Messages, wrapped: bool) -> Exchange:
    """The messages of a span, from the newest generation of conventions that it holds.

    Args:
        wrapped: read the whole input and output of an operation too, where there is no list of messages.
    """
    held = dict(span.attributes)
    for event in span.events:
        if event.name in _DETAILS_EVENTS:
            held = {**event.attributes, **object_of(event.body), **held}
    told = messages.read(held.get("gen_ai.system_instructions"), "system")
    inputs = _first(_inputs(held, span, messages, wrapped))
    outputs = _first(_outputs(held, span, messages, wrapped))
    return Exchange([*told, *inputs], outputs)


def _first(found: Iterator[list[Item]]) -> list[Item]:
    return next((items for items in found if items), [])


def _inputs(held: dict[str, Any], span: Span, messages: Messages, wrapped: bool) -> Iterator[list[Item]]:
    yield messages.read(held.get("gen_ai.input.messages"), "user")
    yield messages.read(nested(held, "llm.input_messages") or held.get("llm.input_messages"), "user")
    yield messages.read(nested(held, "gen_ai.prompt"), "user")
    yield messages.read(held.get("ai.prompt.messages"), "user")
    yield messages.read(held.get("ai.prompt"), "user")
    yield messages.read(_adk(held.get("gcp.vertex.agent.llm_request")), "user")
    yield messages.read(held.get("gen_ai.prompt"), "user")
    yield _of_events(span.events, messages)
    for key in _WRAPPED_INPUT if wrapped else ():
        yield messages.read(entity(held, key), "user")


def _outputs(held: dict[str, Any], span: Span, messages: Messages, wrapped: bool) -> Iterator[list[Item]]:
    yield messages.read(held.get("gen_ai.output.messages"), "said")
    yield messages.read(nested(held, "llm.output_messages") or held.get("llm.output_messages"), "said")
    yield messages.read(nested(held, "gen_ai.completion"), "said")
    yield messages.read(_vercel_response(held), "said")
    yield messages.read(_adk(held.get("gcp.vertex.agent.llm_response")), "said")
    yield messages.read(held.get("gen_ai.completion"), "said")
    choices = (_event_body(event) for event in span.events if event.name == "gen_ai.choice")
    yield [item for choice in choices for item in messages.read(choice, "said")]
    for key in _WRAPPED_OUTPUT if wrapped else ():
        yield messages.read(entity(held, key), "said")


def _adk(value: Any) -> Any:
    """Google's ADK writes an empty object where it recorded nothing."""
    held = read_json(value)
    return held if isinstance(held, dict) and held else None


def _vercel_response(held: dict[str, Any]) -> dict[str, Any] | None:
    """The parts of an answer that Vercel's SDK spreads over attributes, as one message."""
    found = {
        key: next((held[name] for name in (f"ai.response.{key}", f"ai.result.{key}") if held.get(name)), None)
        for key in ("text", "reasoning", "toolCalls", "object")
    }
    calls = read_json(found["toolCalls"])
    message = {
        "role": "assistant",
        "content": found["text"] or found["object"],
        "reasoning": found["reasoning"],
        "tool_calls": calls if isinstance(calls, list) else None,
    }
    return message if any(found.values()) else None


def _of_events(events: tuple[Event, ...], messages: Messages) -> list[Item]:
    """Messages noted one by one as events, in their order."""
    bodies = [
        {"role": _EVENT_ROLES[event.name], **_event_body(event)} for event in events if event.name in _EVENT_ROLES
    ]
    return messages.read(bodies, "user") if bodies else []


def _event_body(event: Event) -> dict[str, Any]:
    attributes = object_of(undotted(event.attributes.items()) if event.attributes else None)
    told = read_json(event.attributes.get("gen_ai.event.content"))
    body = event.body if isinstance(event.body, dict) else told if isinstance(told, dict) else attributes
    message = read_json(body.get("message"))
    body = {**body, **message} if isinstance(message, dict) else body
    keys = ("role", "content", "tool_calls", "id", "name", "parts", "message")
    kept = {
        key: read_json(body[key]) if key == "tool_calls" else body[key] for key in keys if body.get(key) is not None
    }
    return {key: child for key, child in kept.items() if key != "message" or isinstance(child, str)} | (
        {"content": kept["message"]} if isinstance(kept.get("message"), str) and "content" not in kept else {}
    )


def evaluations_of(span: Span) -> Iterator[Evaluation]:
    """Every evaluation that a span records, as attributes or as events."""
    noted = [event.attributes for event in span.events if event.name == "gen_ai.evaluation.result"]
    own = [span.attributes] if any(key.startswith("gen_ai.evaluation.score.") for key in span.attributes) else []
    for held in [*own, *noted]:
        told = {
            key.removeprefix("gen_ai.evaluation."): held[key] for key in held if key.startswith("gen_ai.evaluation.")
        }
        label = told.get("score.label")
        passed = _VERDICTS.get(label.strip().lower()) if isinstance(label, str) else None
        yield Evaluation((name_of(told.get("name")) or "unnamed")[:80], passed, told)


def _upper(value: Any) -> str:
    return value.upper() if isinstance(value, str) else ""
