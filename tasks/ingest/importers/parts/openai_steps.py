"""Chat messages and Responses items into steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tasks.ingest.importers.parts.chat import StepWriter, calls_of
from tasks.ingest.importers.parts.reading import Notes, content_text, items, obj

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
ITEMS = frozenset({"message", "reasoning", "function_call", "function_call_output", "item_reference"})
_CALL, _OUTPUT = "_call", "_call_output"
# Parts of a content list that are no words: other interfaces write calls and their results there.
_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})


@dataclass
class Chat:
    """One conversation being written down. ``_by_name`` ties results of the old function calls, which have no ids."""

    notes: Notes = field(default_factory=Notes)
    writer: StepWriter = field(default_factory=StepWriter)
    _by_name: dict[str, str] = field(default_factory=dict)
    _waiting: list[str] = field(default_factory=list)

    def message(self, message: dict[str, Any]) -> None:
        """One message or item."""
        role, kind = message.get("role"), message.get("type")
        if isinstance(role, str) or not isinstance(kind, str):
            self._said(role, message)
        elif kind == "reasoning":
            self._text("plan", "\n".join(self._content(message, key) for key in ("summary", "content")))
        elif kind.endswith(_OUTPUT):
            self._result(message.get("call_id"), message.get("output"), None)
        elif kind.endswith(_CALL):
            self._item_call(kind, message)
        else:
            self.notes.count("unknown_items", kind)
            self.writer.add("system", text=content_text([message], self.notes))

    def _said(self, role: Any, message: dict[str, Any]) -> None:
        parts = items(message.get("content"))
        if role in ("user", "assistant") and any(obj(part).get("type") in _BLOCKS for part in parts if _typed(part)):
            self._parts(role, parts)
            return
        speakers: dict[str, Callable[[dict[str, Any]], None]] = {
            "user": lambda said: self._text("user", self._content(said), trust="user"),
            "assistant": self._assistant,
            "tool": lambda said: self._result(said.get("tool_call_id"), said.get("content"), said.get("name")),
            "function": lambda said: self._result(None, said.get("content"), said.get("name")),
        }
        speaker = speakers.get(role) if isinstance(role, str) else None
        if speaker is not None:
            speaker(message)
            return
        if role not in ("system", "developer"):
            self.notes.count("unknown_roles", "kept as a system step")
        self._text("system", self._content(message))

    def _parts(self, role: str, parts: list[Any]) -> None:
        """A message whose calls, results and thoughts stand among the parts of its content."""
        acts = any(obj(part).get("type") == "tool_use" for part in parts)
        for part in parts:
            block, kind = obj(part), obj(part).get("type")
            if kind == "tool_use":
                self._call(block.get("id"), block.get("name"), block.get("input"))
            elif kind == "tool_result":
                failed = block.get("is_error")
                told = {"is_error": failed} if isinstance(failed, bool) else {}
                self._result(block.get("tool_use_id"), block.get("content"), None, **told)
            elif kind == "thinking":
                self._text("plan", self._content(block, "thinking"))
            elif kind == "redacted_thinking":
                self.notes.not_kept("thoughts that are not readable")
            elif role == "user":
                self._text("user", content_text([part], self.notes), trust="user")
            else:
                self._text("plan" if acts else "answer", content_text([part], self.notes))

    def _assistant(self, message: dict[str, Any]) -> None:
        calls, legacy = calls_of(message), message.get("function_call")
        self.notes.not_kept("tool calls that are no objects", len(items(message.get("tool_calls"))) - len(calls))
        for key in ("reasoning_content", "reasoning"):
            self._text("plan", self._content(message, key))
        self._text("plan" if calls or isinstance(legacy, dict) else "answer", self._content(message))
        self._text("answer", self._content(message, "refusal"))
        self._waiting = []
        for call in calls:
            function = obj(call.get("function")) or obj(call.get("custom")) or call
            self._call(call.get("id"), function.get("name"), function.get("arguments", function.get("input")))
        if isinstance(legacy, dict):
            self._call(None, legacy.get("name"), legacy.get("arguments"))

    def _item_call(self, kind: str, item: dict[str, Any]) -> None:
        """A call as an item of its own. What the interface ran itself has its result in the same item."""
        if kind in ("function_call", "custom_tool_call", "mcp_call"):
            self._call(item.get("call_id", item.get("id")), item.get("name"), item.get("arguments", item.get("input")))
        else:
            about = {key: child for key, child in item.items() if key not in ("type", "id", "call_id", "status")}
            self._call(item.get("call_id", item.get("id")), kind.removesuffix(_CALL), about)
        if kind == "mcp_call" and (item.get("output") is not None or item.get("error") is not None):
            failed = item.get("error") is not None
            self._result(item.get("id"), item["error"] if failed else item.get("output"), None, is_error=failed)

    def _call(self, call_id: Any, name: Any, arguments: Any) -> None:
        number = self.writer.call(call_id, name, arguments)
        if isinstance(name, str):
            self._by_name[name] = number
        self._waiting.append(number)

    def _result(self, call_id: Any, content: Any, name: Any, **fields: Any) -> None:
        """A result belongs to the call of its id; without one to the newest call of its name, else to the next call."""
        number = self.writer.observation(call_id, content_text(content, self.notes), **fields)
        step = self.writer.steps[-1]
        if "of" not in step and call_id is None:
            of = self._by_name.get(name) if isinstance(name, str) else next(iter(self._waiting), None)
            step |= {"of": of} if of is not None else {}
        self._waiting = [call for call in self._waiting if call != step.get("of")]
        if "of" not in step:
            self.notes.count("results_without_call", f"step {number}")

    def _text(self, kind: str, text: str, **fields: Any) -> None:
        if text.strip():
            self.writer.add(kind, text=text, **fields)

    def _content(self, message: dict[str, Any], key: str = "content") -> str:
        return content_text(message.get(key), self.notes)


def _typed(part: Any) -> bool:
    return isinstance(obj(part).get("type"), str)
