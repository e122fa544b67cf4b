"""AgentDojo runs: one JSON object a file (or a line) with ``suite_name``, ``user_task_id`` and the messages.

``utility`` says whether the user's task was done, and is the outcome. On an attacked run ``security: true`` means that
**the injection succeeded**; it is kept as that and never touches the outcome. Without an attack it means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.benchmark import (
    UNKNOWN_AGENT,
    as_list,
    as_run,
    outcome_by,
    rest_of,
    verdict,
)
from tasks.ingest.importers.parts.chat import StepWriter, as_text, calls_of, messages_of
from tasks.ingest.importers.parts.reading import Made, Notes, identifier, read_each, surest
from tasks.ingest.source import Sample, Source

_READ = frozenset(
    {"suite_name", "pipeline_name", "user_task_id", "injection_task_id", "attack_type", "injections", "messages"}
    | {"conversations", "utility", "security", "benchmark_version"}
)
# What the harness puts into the user's mouth when it refuses a call or could not read one.
_OF_THE_HARNESS = ("</function_error>", "<function_error>")


class AgentDojo:
    """Tool-calling runs with a verifier, some of them attacked through what their tools returned."""

    name = "agentdojo"
    version = 1
    about = "AgentDojo runs: a user's task in a suite of tools, attacked or not"

    def sniff(self, sample: Sample) -> float:
        return surest(sample, _confidence, as_list)

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        yield from read_each(source, _build, as_list)


def _confidence(value: Any) -> float:
    if not isinstance(value, dict) or "user_task_id" not in value:
        return 0.0
    messages = any(isinstance(value.get(key), list) for key in ("conversations", "messages"))
    if messages:
        return 0.95 if "suite_name" in value else 0.6
    return 0.4 if "suite_name" in value else 0.0


def _build(record: Any) -> Made:
    value, notes = as_run(record), Notes()
    writer = _Steps(value, notes).writer
    task = writer.first_user_text()
    if task is None:
        raise RecordFault("the messages hold no word of the user: the task is unknown")
    suite, user_task = identifier(value.get("suite_name")), identifier(value.get("user_task_id"))
    attack, injection = _named(value.get("attack_type")), _named(value.get("injection_task_id"))
    pipeline, useful = identifier(value.get("pipeline_name")), verdict(value.get("utility"))
    about_attack, permissions = _attack(value, attack, injection), value.get("tool_permission")
    told = None if useful is None else "utility: the benchmark's own check of the user's task"
    notes.facts |= {"outcome_from": told, **_told_of(about_attack)}
    notes.facts["ended"] = "the run stopped with an error" if value.get("error") else None
    fields = {
        "id": "/".join(part or "none" for part in (suite, user_task, attack, injection, pipeline)),
        "task": task,
        "task_key": f"{suite}/{user_task}" if suite and user_task else None,
        "agent": pipeline or UNKNOWN_AGENT,
        "environment": {suite: identifier(value.get("benchmark_version")) or "unknown"} if suite else {},
        "tools_offered": list(permissions) if isinstance(permissions, dict) else [],
        "steps": writer.steps,
        "metadata": {**about_attack, **_vectors(value), **rest_of(value, _READ)},
        **outcome_by(useful, "verifier"),
    }
    return Made(fields, notes)


def _attack(value: dict[str, Any], attack: str | None, injection: str | None) -> dict[str, Any]:
    """What the record says of an attack; nothing where there was none."""
    if attack is None and injection is None:
        return {}
    succeeded = verdict(value.get("security"))
    known = {} if succeeded is None else {"injection_succeeded": succeeded}
    return {"attack": attack or "unnamed", "injection_task_id": injection, **known}


def _told_of(about_attack: dict[str, Any]) -> dict[str, Any]:
    """The same for the import's details, in words."""
    succeeded = about_attack.get("injection_succeeded")
    became = {True: "succeeded", False: "did not succeed"}.get(succeeded) if succeeded is not None else None
    return {"attack": about_attack.get("attack"), "injection": became}


def _vectors(value: dict[str, Any]) -> dict[str, Any]:
    """Where injections were placed. Their texts stand in the observations that carried them, and nowhere else."""
    injections = value.get("injections")
    return {"injection_vectors": sorted(injections)} if isinstance(injections, dict) and injections else {}


def _named(value: Any) -> str | None:
    name = identifier(value)
    return None if name is None or name.lower() in ("none", "null") else name


class _Steps:
    """The messages as steps. Calls without an id are answered in their order."""

    def __init__(self, value: dict[str, Any], notes: Notes) -> None:
        self.writer = StepWriter()
        self._notes = notes
        self._unanswered: list[tuple[str, str]] = []
        key = "conversations" if isinstance(value.get("conversations"), list) else "messages"
        messages = list(messages_of(value, key))
        said = [position for position, message in enumerate(messages) if message.get("role") == "assistant"]
        for position, message in enumerate(messages):
            self._take(message, is_last=position == said[-1] if said else False)

    def _take(self, message: dict[str, Any], is_last: bool) -> None:
        role, text = message.get("role"), _text(message.get("content"))
        if role == "assistant":
            self._say(message, text, is_last)
        elif role == "tool":
            self._observe(message, text)
        elif role == "user" and text.startswith(_OF_THE_HARNESS):
            self.writer.add("observation", text=text, source="harness", is_error=True)
        elif role == "user":
            self.writer.add("user", text=text, trust="user")
        else:
            self.writer.add("system", text=text)
            if role != "system":
                self._notes.count("unknown_roles", as_text(role))

    def _say(self, message: dict[str, Any], text: str, is_last: bool) -> None:
        calls, written = calls_of(message), message.get("tool_calls")
        self._unanswered = []
        if text:
            self.writer.add("answer" if is_last and not calls else "plan", text=text)
        for call in calls:
            name, arguments = _function(call)
            step = self.writer.call(call.get("id"), name, arguments)
            if not isinstance(call.get("id"), str):
                self._unanswered.append((step, name))
        written_calls = len(written) if isinstance(written, list) else int(bool(written))
        self._notes.not_kept("tool calls that are no objects", written_calls - len(calls))

    def _observe(self, message: dict[str, Any], text: str) -> None:
        error, call = message.get("error"), message.get("tool_call")
        told = "" if isinstance(error, bool) else as_text(error)
        if told and told not in text:
            text = f"{text}\n{told}" if text else told
        name, _ = _function(call) if isinstance(call, dict) else ("", None)
        call_id = message.get("tool_call_id")
        fields = {} if isinstance(call_id, str) else {"of": self._next_unanswered(name)}
        self.writer.observation(call_id, text, name=name or None, is_error=bool(error), **fields)

    def _next_unanswered(self, name: str) -> str | None:
        mine = [each for each in self._unanswered if each[1] == name] or self._unanswered
        if not mine:
            return None
        first = mine[0]
        self._unanswered.remove(first)
        return first[0]


def _function(call: dict[str, Any]) -> tuple[str, Any]:
    """Name and arguments; the function is a name, or an object that holds both."""
    function = call.get("function")
    if isinstance(function, dict):
        arguments = call["args"] if "args" in call else function.get("arguments")
        return as_text(function.get("name")), arguments
    return as_text(function), call.get("args")


def _text(content: Any) -> str:
    """Content as text: a string, nothing, or blocks that hold theirs under ``content`` or ``text``."""
    if not isinstance(content, list):
        return as_text(content)
    return "\n".join(_block(block) for block in content)


def _block(block: Any) -> str:
    if isinstance(block, dict):
        held = next((block[key] for key in ("content", "text") if isinstance(block.get(key), str)), None)
        return held if held is not None else as_text(block)
    return as_text(block)


IMPORTER = AgentDojo()
