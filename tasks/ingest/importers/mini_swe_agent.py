"""mini-SWE-agent runs: a bare list of messages, or ``{info, messages, trajectory_format}`` of later versions.

The agent acts through one shell command a turn: in a fenced block of its words, in a tool call, or in what the harness
read from them (``extra.actions``). After the first one, every message of the user is the harness's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.chat import StepWriter, calls_of
from tasks.ingest.importers.parts.reading import (
    Made,
    Notes,
    content_text,
    exit_code,
    identifier,
    items,
    moment,
    numbers_in,
    obj,
    read_each,
    surest,
    word,
)
from tasks.ingest.source import Sample, Source

AGENT = "mini-swe-agent"
_FENCES = tuple(re.compile(rf"```{name}[ \t]*\r?\n(.*?)\r?\n?```", re.S) for name in ("mswea_bash_command", "bash"))
_CODE = re.compile(r"\s*<returncode>\s*(-?\d{1,10})\s*</returncode>")


class MiniSweAgent:
    """Runs of the small software engineering agent."""

    name = "mini-swe-agent"
    version = 1
    about = "mini-SWE-agent trajectories: one shell command a turn"

    def sniff(self, sample: Sample) -> float:
        return surest(sample, _confidence, _split)

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        return read_each(source, _build, _split)


def _confidence(run: Any) -> float:
    info = obj(run.get("info")) if isinstance(run, dict) else {}
    version = run.get("trajectory_format") if isinstance(run, dict) else None
    named = "mini_version" in info or (isinstance(version, str) and version.startswith(AGENT))
    messages = run.get("messages") if isinstance(run, dict) else run
    if not isinstance(messages, list):
        return 0.4 if named else 0.0
    if named:
        return 0.95
    told = [message for message in messages[:40] if isinstance(message, dict)]
    acts = any(message.get("role") == "assistant" and _fence(_plain(message)) for message in told)
    seen = any(message.get("role") in ("user", "tool") and _CODE.match(_plain(message)) for message in told)
    return 0.95 if acts and seen else 0.6 if seen else 0.0


def _split(value: Any) -> list[Any] | None:
    """The runs of a list of runs; a list of messages is one run."""
    if not isinstance(value, list):
        return None
    whole = any(isinstance(item, list) or (isinstance(item, dict) and "messages" in item) for item in value)
    return value if whole and not any(isinstance(item, dict) and "role" in item for item in value) else None


def _plain(message: dict[str, Any]) -> str:
    return content_text(message.get("content"), Notes())


@dataclass
class _Walk:
    """One run being written down. ``waiting`` are the calls whose result has not come, in order."""

    notes: Notes = field(default_factory=Notes)
    writer: StepWriter = field(default_factory=StepWriter)
    waiting: list[str] = field(default_factory=list)
    told: bool = False

    def message(self, message: dict[str, Any]) -> None:
        extra = obj(message.get("extra"))
        at = moment(message.get("timestamp", extra.get("timestamp")), self.notes)
        role, text = _role(message), _text(message, self.notes)
        if role == "assistant":
            self._acts(message, text, extra, at)
        elif role == "tool" or (role == "user" and (self.waiting or _CODE.match(text))):
            self._sees(message, text, extra, at)
        elif role == "user":
            self._hears(text, extra, at)
        elif role == "exit":
            self.notes.facts["exit_message"] = bool(text.strip()) and "kept as a system step"
            self.writer.add("system", text=text or "exit", at=at)
        else:
            if role not in ("system", "developer"):
                self.notes.count("unknown_roles", "kept as a system step")
            self.writer.add("system", text=text, at=at)

    def _hears(self, text: str, extra: dict[str, Any], at: Any) -> None:
        """The task, or a person who breaks in (the harness marks that); else the harness that asks for one command."""
        by_person = extra.get("interrupt_type") == "UserInterruption" or text.startswith("Interrupted by user")
        if by_person or not self.told:
            self.writer.add("user", text=text, at=at, trust="user")
        else:
            self.writer.add("system", text=text, at=at)
        self.told = True

    def _acts(self, message: dict[str, Any], text: str, extra: dict[str, Any], at: Any) -> None:
        calls, rest = _commands(message, text, extra)
        thought = content_text(message.get("reasoning_content"), self.notes)
        if thought.strip():
            self.writer.add("plan", text=thought, at=at)
        if rest.strip():
            self.writer.add("plan" if calls else "answer", text=rest, at=at)
        self.waiting = [self.writer.call(call_id, name, arguments, at=at) for call_id, name, arguments in calls]

    def _sees(self, message: dict[str, Any], text: str, extra: dict[str, Any], at: Any) -> None:
        found = _CODE.match(text)
        code = exit_code(extra.get("returncode"))
        code = exit_code(int(found[1])) if code is None and found else code
        fields: dict[str, Any] = {"exit_code": code, "at": at, "source": "tool"}
        number = self.writer.observation(message.get("tool_call_id", message.get("call_id")), text, **fields)
        step = self.writer.steps[-1]
        if "of" not in step and self.waiting:
            step["of"] = self.waiting[0]
        self.waiting = [call for call in self.waiting if call != step.get("of")]
        if "of" not in step:
            self.notes.count("results_without_call", f"step {number}")


def _role(message: dict[str, Any]) -> Any:
    """The role; the responses of a newer API have a kind instead."""
    if "role" in message:
        return message["role"]
    if message.get("type") == "function_call_output":
        return "tool"
    return "assistant" if message.get("object") == "response" else None


def _text(message: dict[str, Any], notes: Notes) -> str:
    if message.get("object") != "response":
        return content_text(message.get("content", message.get("output")), notes)
    parts = [obj(item) for item in items(message.get("output"))]
    said = (content_text(part.get("content", part.get("summary")), notes) for part in parts)
    return "\n".join(text for text in said if text)


def _fence(text: str) -> re.Match[str] | None:
    """The one block that holds the turn's command. Two of a kind are no action: the harness refuses them."""
    found = next((found for pattern in _FENCES if (found := list(pattern.finditer(text)))), [])
    return found[0] if len(found) == 1 else None


def _commands(message: dict[str, Any], text: str, extra: dict[str, Any]) -> tuple[list[tuple[Any, Any, Any]], str]:
    """(the calls as id, name and arguments, what else was said)."""
    if calls := calls_of(message):
        functions = [(call.get("id"), obj(call.get("function"))) for call in calls]
        return [(given, function.get("name"), function.get("arguments")) for given, function in functions], text
    if fence := _fence(text):
        rest = (text[: fence.start()].rstrip() + "\n" + text[fence.end() :].lstrip()).strip()
        return [(None, "bash", {"command": fence[1]})], rest
    actions = [action for action in items(extra.get("actions")) if isinstance(obj(action).get("command"), str)]
    return [(action.get("tool_call_id"), "bash", {"command": action["command"]}) for action in actions], text


def _build(value: Any) -> Made:
    record = value if isinstance(value, dict) else {"messages": value}
    messages = record.get("messages")
    if not isinstance(messages, list):
        raise RecordFault("messages must be a list of messages")
    walk, info = _Walk(), obj(record.get("info"))
    for message in messages:
        if isinstance(message, dict):
            walk.message(message)
        else:
            walk.notes.not_kept("messages that are no objects")
    submission = content_text(info.get("submission"), walk.notes)
    if submission.strip() and walk.writer.steps:
        walk.writer.add("answer", text=submission)
    config = obj(info.get("config"))
    instance = identifier(record.get("instance_id")) or identifier(info.get("instance_id"))
    fields = {
        "task": walk.writer.first_user_text(),
        "task_key": instance,
        "agent": AGENT,
        "agent_version": identifier(info.get("mini_version")),
        "model": word(obj(config.get("model")).get("model_name")),
        "steps": walk.writer.steps,
        "metadata": _metadata(record, info),
    }
    return Made(fields, walk.notes)


def _metadata(record: dict[str, Any], info: dict[str, Any]) -> dict[str, Any]:
    """``Submitted`` says that something was handed in, not that it was right: it is a note, and no outcome."""
    kept = {
        "exit_status": word(info.get("exit_status")),
        "trajectory_format": word(record.get("trajectory_format")),
        "model_stats": numbers_in(info.get("model_stats")),
    }
    return {key: child for key, child in kept.items() if child}


IMPORTER = MiniSweAgent()
