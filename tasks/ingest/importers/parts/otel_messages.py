"""Messages of any generation into items, in the order they were said."""

from __future__ import annotations

from typing import Any

from tasks.ingest.importers.parts.chat import as_text
from tasks.ingest.importers.parts.otel_items import (
    CALLS,
    RESULTS,
    THOUGHTS,
    Item,
    call_part,
    is_part,
    link,
    parts_of,
    result_part,
    text_part,
    unwrapped_part,
)
from tasks.ingest.importers.parts.otel_values import list_of, name_of, object_of, read_json, undotted
from tasks.ingest.importers.parts.reading import Notes, content_text

# What wraps messages nests no deeper than this in truth; deeper is content, kept as JSON.
MOST_WRAPPERS = 8
_ROLES = {
    "user": "user", "human": "user", "system": "system", "developer": "system", "assistant": "said", "ai": "said",
    "model": "said", "chatbot": "said", "bot": "said", "tool": "result", "function": "result", "tool-result": "result",
}  # fmt: skip
# Keys under which messages are found, and whose they are where they do not say.
_WRAPPERS = (
    ("message", None), ("kwargs", None), ("choices", "said"), ("candidates", "said"), ("messages", None),
    ("contents", None), ("prompt", None), ("input", None), ("output", None),
)  # fmt: skip
_MESSAGE = frozenset({"role", "parts", "content", "contents", "tool_calls", "function_call"})


class Messages:
    """Reads messages; what is no message it can read leaves a mark or is counted in ``notes``."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes

    def read(self, value: Any, role: str) -> list[Item]:
        """The items of any value that holds messages; ``role`` is whose they are where they do not say."""
        items = self._any(value, role, 0)
        link(items)
        return items

    def _any(self, value: Any, role: str, depth: int) -> list[Item]:
        """A text that holds JSON is read as what it holds only where that is a message; else it stays as written."""
        held = read_json(value)
        found = None
        if depth < MOST_WRAPPERS:
            found = self._list(held, role, depth) if isinstance(held, list) else self._object(held, role, depth)
        if found is not None:
            return found
        text = as_text(value)
        return [Item(role, text)] if text.strip() else []

    def _list(self, held: list[Any], role: str, depth: int) -> list[Item] | None:
        if held and all(is_part(each) for each in held):
            return self._message({"role": role, "parts": held})
        if any(isinstance(each, dict | list) for each in held):
            return [item for each in held for item in self._any(each, role, depth + 1)]
        return None

    def _object(self, held: Any, role: str, depth: int) -> list[Item] | None:
        """The items of an object that is a message, or that wraps some; None for any other value."""
        if not isinstance(held, dict):
            return None
        if any(str(key).startswith("message.") for key in held):
            held = object_of(undotted((str(key), child) for key, child in held.items()))
        if "role" not in held:
            for key, whose in _WRAPPERS:
                if isinstance(held.get(key), dict):
                    return self._any(held[key], role, depth + 1)
                if isinstance(held.get(key), list):
                    return [*self._system(held), *self._any(held[key], whose or role, depth + 1)]
            if isinstance(held.get("prompt"), str):
                return [*self._system(held), *self._any(held["prompt"], role, depth + 1)]
            if isinstance(held.get("content"), dict):
                return self._any(held["content"], role, depth + 1)
        if is_part(held):
            return self._message({"role": role, "parts": [held]})
        return self._message({"role": role, **held}) if _MESSAGE & held.keys() else None

    def _system(self, value: dict[str, Any]) -> list[Item]:
        config = object_of(value.get("config"))
        told = (value.get("system"), value.get("instructions"), config.get("system_instruction"))
        return [item for each in told if each for item in self._any(each, "system", 1)]

    def _message(self, message: dict[str, Any]) -> list[Item]:
        role, name = self._role(message)
        parts = parts_of(
            next((message[key] for key in ("parts", "contents", "content", "text") if message.get(key)), None)
        )
        items = self._thought(
            next((message[key] for key in ("reasoning_content", "reasoning") if key in message), None)
        )
        items += self._of_parts(parts, Item(role, name=name))
        items += [call_part(call) for call in list_of(message.get("tool_calls")) if isinstance(call, dict)]
        if isinstance(message.get("function_call"), dict):
            items.append(call_part(message["function_call"]))
        if isinstance(refusal := message.get("refusal"), str) and refusal:
            items.append(Item(role, refusal))
        call_id = next((message[key] for key in ("tool_call_id", "toolCallId", "id") if message.get(key)), None)
        for item in items:
            if item.kind == "result":
                item.call_id = item.call_id or name_of(call_id)
                item.name = item.name or name_of(message.get("name"))
            elif item.kind == "said":
                item.with_calls = any(each.kind == "call" for each in items)
        return items

    def _role(self, message: dict[str, Any]) -> tuple[str, str | None]:
        """Whose message it is; a role that is none we know makes a system item of that name."""
        said = message.get("role")
        if message.get("type") in ("human", "ai", "system", "tool"):
            said = message["type"]
        known = _ROLES.get(said.lower()) if isinstance(said, str) else None
        if known is None and said in ("said", "result"):
            known = said
        if known is not None:
            return known, None
        self.notes.count("other_roles", as_text(said) or "none")
        return "system", as_text(said)[:200] or None

    def _of_parts(self, parts: list[Any], whose: Item) -> list[Item]:
        items: list[Item] = []
        texts: list[Any] = []
        for part in parts:
            found = self._of_part(part)
            if found is None:
                texts.append(text_part(part))
                continue
            items += [*self._said(texts, whose), *found]
            texts = []
        return items + self._said(texts, whose)

    def _said(self, texts: list[Any], whose: Item) -> list[Item]:
        text = content_text(texts, self.notes) if texts else ""
        return [Item(whose.kind, text, name=whose.name)] if text.strip() or (texts and whose.kind == "result") else []

    def _thought(self, value: Any) -> list[Item]:
        text = as_text(value)
        return [Item("thought", text)] if text.strip() else []

    def _of_part(self, part: Any) -> list[Item] | None:
        """The items of a part that is a call, a result or a thought; None where it is content."""
        part = object_of(unwrapped_part(part))
        kind = part.get("type")
        for key in ("function_call", "functionCall"):
            if isinstance(part.get(key), dict):
                return [call_part(part[key])]
        for key in ("function_response", "functionResponse"):
            if isinstance(part.get(key), dict):
                return [result_part(part[key])]
        if kind in THOUGHTS or part.get("thought") is True:
            said = (part.get(key) for key in ("content", "text", "thinking", "reasoning", "summary"))
            return self._thought(next((each for each in said if each), None))
        if kind in CALLS:
            return [call_part(part)]
        return [result_part(part)] if kind in RESULTS else None
