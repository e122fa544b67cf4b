"""What messages are made of: one text, thought, call or result each, out of the parts that vendors write."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tasks.ingest.importers.parts.chat import as_text, read_arguments
from tasks.ingest.importers.parts.otel_values import name_of, object_of, read_json
from tasks.ingest.jsontext import canonical_bytes

# Calls that wait for their results at one time.
MOST_WAITING = 1000
_TEXTS = ("text", "input_text", "output_text", "refusal")
THOUGHTS = ("reasoning", "thinking", "redacted_thinking", "reasoning_content")
CALLS = ("tool_call", "tool_use", "tool-call", "function_call", "server_tool_call", "function", "server_tool_use")
RESULTS = (
    "tool_call_response", "tool_result", "tool-result", "function_call_output", "server_tool_call_response",
)  # fmt: skip
# How Vercel's SDK types what a tool returned.
_OUTPUTS = ("text", "json", "content", "error-text", "error-json")


@dataclass(eq=False)
class Item:
    """One thing said or done. ``call`` ties a result to its call; the rest is filled where the item is placed."""

    kind: str
    text: str = ""
    name: str | None = None
    call_id: str | None = None
    arguments: Any = None
    is_error: bool | None = None
    with_calls: bool = False
    call: Item | None = None
    at: int | None = None
    agent: str | None = None

    @cached_property
    def words(self) -> str:
        """Its text with spacing levelled, for comparison."""
        return " ".join(self.text.split())

    @cached_property
    def is_object(self) -> bool:
        """Whether its arguments are an object; what is none may be the same ones in the notation of a language."""
        return read_arguments(self.arguments)[0] is not None

    @cached_property
    def asked(self) -> bytes | None:
        """Its arguments in one form, however they were written; None where none were recorded."""
        held, raw = read_arguments(self.arguments)
        return None if held is None and raw is None else canonical_bytes(held if held is not None else raw)

    def rewrite(self, **fields: Any) -> None:
        """Other text or arguments; what was derived from the old ones is forgotten."""
        for name, value in fields.items():
            setattr(self, name, value)
        for derived in ("words", "asked", "is_object"):
            self.__dict__.pop(derived, None)


def link(items: Iterable[Item]) -> None:
    """Tie each result to its call: by id, else to the oldest call of its name that has no result yet."""
    waiting: deque[Item] = deque(maxlen=MOST_WAITING)
    for item in items:
        if item.kind == "call":
            waiting.append(item)
        elif item.kind == "result" and waiting:
            own = (call for call in reversed(waiting) if item.call_id is not None and call.call_id == item.call_id)
            free = (
                call for call in waiting
                if (call.call_id is None or item.call_id is None) and (item.name is None or call.name == item.name)
            )  # fmt: skip
            item.call = next(own, None) or next(free, None)
            if item.call is not None:
                item.call_id = item.call_id or item.call.call_id
                waiting.remove(item.call)


def unwrapped_result(value: Any) -> tuple[str, bool | None]:
    """A tool's result as text, out of what protocols wrap it in, and whether it says that it is an error.

    A text stays as it was written unless something is wrapped around it.
    """
    held = read_json(value)
    if not isinstance(held, dict):
        return as_text(value), None
    flagged = next((held[key] for key in ("isError", "is_error") if isinstance(held.get(key), bool)), None)
    content = held.get("content")
    told = {key for key, child in held.items() if child is not None}
    if isinstance(content, list) and content and told <= {"content", "isError", "is_error"}:
        return as_text(content), flagged
    if held.keys() == {"type", "value"} and held["type"] in _OUTPUTS:
        return as_text(held["value"]), held["type"].startswith("error") or None
    if held.keys() == {"result"} and isinstance(held["result"], str):
        return held["result"], None
    return as_text(value), flagged


def call_part(part: dict[str, Any]) -> Item:
    part = object_of(part.get("tool_call")) or part
    inner = object_of(part.get("function")) or part
    details = part.get("server_tool_call")
    asked = (inner.get(key) for key in ("arguments", "args", "input", "parameters"))
    known = (part.get(key) for key in ("id", "toolCallId", "tool_call_id", "call_id"))
    named = (inner.get(key) for key in ("name", "toolName", "tool_name"))
    return Item(
        "call",
        name=next((name_of(name) for name in named if name_of(name)), None),
        call_id=next((name_of(each) for each in known if name_of(each)), None),
        arguments=next((each for each in asked if each is not None), details),
    )


def result_part(part: dict[str, Any]) -> Item:
    keys = ("response", "result", "content", "output", "server_tool_call_response")
    found = next((part[key] for key in keys if part.get(key) is not None), None)
    known = (part.get(key) for key in ("tool_call_id", "tool_use_id", "toolCallId", "call_id", "id"))
    named = (part.get(key) for key in ("name", "toolName", "tool_name"))
    text, is_error = unwrapped_result(found)
    flagged = next((part[key] for key in ("is_error", "isError") if isinstance(part.get(key), bool)), is_error)
    return Item(
        "result",
        text,
        name=next((name_of(name) for name in named if name_of(name)), None),
        call_id=next((name_of(each) for each in known if name_of(each)), None),
        is_error=flagged,
    )


def is_part(value: Any) -> bool:
    """Whether an object is a piece of a message rather than a message."""
    if not isinstance(value, dict) or "role" in value:
        return False
    kind = value.get("type")
    known = (*_TEXTS, *THOUGHTS, *CALLS, *RESULTS)
    if "message_content" in value or (isinstance(kind, str) and kind in known):
        return True
    shapes = ("function_call", "functionCall", "function_response", "functionResponse", "text", "toolCallId")
    return any(key in value for key in shapes) and not {"content", "messages", "tool_calls"} & value.keys()


def parts_of(value: Any) -> list[Any]:
    """Content as a list of parts. Of texts that hold JSON only a list of typed parts is one; the rest stay text."""
    if isinstance(value, list):
        return value
    held = read_json(value) if isinstance(value, str) and value.startswith("[") else None
    if isinstance(held, list) and held and all(is_part(each) and "type" in each for each in held):
        return held
    return [] if value is None or value == "" else [value]


def unwrapped_part(part: Any) -> Any:
    """A part out of the object that some conventions put around it."""
    return part["message_content"] if isinstance(part, dict) and isinstance(part.get("message_content"), dict) else part


def text_part(part: Any) -> Any:
    """A text part in the form that is joined as text."""
    part = unwrapped_part(part)
    if isinstance(part, dict) and part.get("type") in _TEXTS and isinstance(part.get("content"), str):
        return {"type": "text", "text": part["content"]}
    return part
