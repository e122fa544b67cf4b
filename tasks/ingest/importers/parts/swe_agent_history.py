"""The history of a SWE-agent run: system prompt, demonstrations, the task, then the run turn by turn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from tasks.ingest.importers.parts.chat import StepWriter, calls_of
from tasks.ingest.importers.parts.reading import Notes, content_text, items, obj, word

_DEMONSTRATION = "here is a demonstration of how to correctly accomplish this task"
_FENCE = re.compile(r"```[ \t]*[\w+-]*\r?\n(.*?)\r?\n?```", re.S)
_MOST_NAME = 100


class Calls:
    """The names that the model called its actions by, from the history of a run with function calls."""

    def __init__(self, history: list[dict[str, Any]]) -> None:
        self._turns: Iterator[dict[str, Any]] = iter([turn for turn in history if _acts(turn)])
        self._ahead: list[dict[str, Any]] = []

    def name_of(self, action: str) -> str:
        """The function's name where the history has the call of this very action, else the command's first word."""
        for position, turn in enumerate(self._ahead):
            if turn.get("action") == action:
                del self._ahead[: position + 1]
                return _function(turn) or command_name(action)
        for turn in self._turns:
            if turn.get("action") == action:
                self._ahead.clear()
                return _function(turn) or command_name(action)
            self._ahead.append(turn)
        return command_name(action)


def is_demo(turn: dict[str, Any]) -> bool:
    """Whether a message is a demonstration: it says so, or is the text that early versions put before one."""
    content = turn.get("content")
    told = isinstance(content, str) and content.lstrip()[:200].lower().startswith(_DEMONSTRATION)
    return turn.get("is_demo") is True or turn.get("message_type") == "demonstration" or told


def command_name(action: str) -> str:
    """The first word of a command."""
    words = action.split(maxsplit=1)
    return words[0][:_MOST_NAME] if words else "unnamed"


def write_head(history: list[dict[str, Any]], writer: StepWriter, notes: Notes) -> None:
    """What came before the agent's first own turn: the rest of the history repeats the trajectory."""
    for turn in takewhile(lambda turn: turn.get("role") != "assistant" or is_demo(turn), history):
        _write_told(turn, writer, notes)


def write_history(history: list[dict[str, Any]], writer: StepWriter, notes: Notes) -> None:
    """The whole run from its history, where there is no trajectory."""
    last: str | None = None
    pending: dict[str, str] = {}
    begun = False
    for turn in history:
        role = turn.get("role")
        if is_demo(turn) or role == "system" or (not begun and role != "assistant"):
            _write_told(turn, writer, notes)
        elif role == "assistant":
            begun, last = True, _write_turn(turn, writer, pending, notes)
        elif role in ("user", "tool", "function"):
            ids = [each for each in items(turn.get("tool_call_ids")) if isinstance(each, str)]
            of = next((pending[each] for each in ids if each in pending), last)
            text = content_text(turn.get("content"), notes)
            if of is None and role == "user":
                writer.add("user", text=text, trust="user")
            else:
                writer.observation(None, text, **({"of": of} if of else {}))
            last = None
        else:
            notes.count("unknown_roles", "kept as a system step")
            writer.add("system", text=content_text(turn.get("content"), notes))


def _write_told(turn: dict[str, Any], writer: StepWriter, notes: Notes) -> None:
    text = content_text(turn.get("content"), notes)
    if is_demo(turn):
        notes.count("demonstrations", "messages")
        writer.add("system", text=text, is_copied_context=True)
    elif turn.get("role") == "user":
        writer.add("user", text=text, trust="user")
    else:
        if turn.get("role") != "system":
            notes.count("unknown_roles", "kept as a system step")
        writer.add("system", text=text)


def _write_turn(turn: dict[str, Any], writer: StepWriter, pending: dict[str, str], notes: Notes) -> str | None:
    """A turn of the agent; gives the step of its call, if it made one."""
    content = content_text(turn.get("content"), notes)
    thought, action = content_text(turn.get("thought"), notes), content_text(turn.get("action"), notes)
    if not action.strip() and (fences := list(_FENCE.finditer(content))):
        action = fences[-1][1]
        thought = thought or (content[: fences[-1].start()] + content[fences[-1].end() :]).strip()
    said = thought if thought.strip() else content if content.strip() != action.strip() else ""
    if said.strip():
        writer.add("plan" if action.strip() else "answer", text=said)
    if not action.strip():
        return None
    number = writer.call(None, _function(turn) or command_name(action), {"command": action})
    pending.update({call["id"]: number for call in calls_of(turn) if isinstance(call.get("id"), str)})
    return number


def _acts(turn: dict[str, Any]) -> bool:
    return turn.get("role") == "assistant" and not is_demo(turn) and isinstance(turn.get("action"), str)


def _function(turn: dict[str, Any]) -> str | None:
    return next((name for call in calls_of(turn) if (name := word(obj(call.get("function")).get("name")))), None)
