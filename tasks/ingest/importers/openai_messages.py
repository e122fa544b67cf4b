"""Chat messages as OpenAI's interfaces write them: a list, ``{messages: […]}``, fine-tuning lines, Responses items.

The most general shape there is: it gives way to every format that has marks of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.chat import is_reward
from tasks.ingest.importers.parts.openai_steps import ITEMS, ROLES, Chat
from tasks.ingest.importers.parts.reading import (
    Made,
    exit_code,
    identifier,
    items,
    moment,
    obj,
    read_each,
    surest,
    word,
)
from tasks.ingest.source import Sample, Source

_SURE = 1e-6
# Fields of formats that also keep a list of messages: a record with one of these is theirs.
_OTHERS = frozenset(
    {
        "suite_name",
        "simulations",
        "traj",
        "trajectory",
        "trajectory_format",
        "history",
        "sessionId",
        "loglines",
        "steps",
    }
)


class OpenAiMessages:
    """Chat messages with tool calls, in any of the shapes they are kept in."""

    name = "openai-messages"
    version = 1
    about = "chat messages with tool calls: a list, {messages: […]}, or one of these a line"

    def sniff(self, sample: Sample) -> float:
        return surest(sample, _confidence, _split)

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        return read_each(source, _build, _split)


def _confidence(run: Any) -> float:
    if isinstance(run, dict) and _OTHERS & run.keys():
        return 0.0
    found = _messages(run)
    if not isinstance(found, list) or not found:
        return 0.4 if isinstance(run, dict) and isinstance(found, list) and "messages" in run else 0.0
    known = [_is_message(message) for message in found[:40]]
    return 0.55 if all(known) else 0.4 if any(known) else 0.0


def _is_message(message: Any) -> bool:
    """A chat message, or an item of the Responses interface, which has a kind instead of a role."""
    if not isinstance(message, dict):
        return False
    kind, role = message.get("type"), message.get("role")
    if isinstance(role, str):
        has_words = any(key in message for key in ("content", "tool_calls", "function_call", "refusal"))
        return role in ROLES and has_words
    return (
        isinstance(kind, str) and (kind in ITEMS or kind.endswith(("_call", "_call_output"))) and "role" not in message
    )


def _messages(run: Any) -> Any:
    """The messages of a run, in order; None where it has none."""
    if not isinstance(run, dict):
        return run
    if "messages" in run:
        return run["messages"]
    asked, answered = run.get("input"), run.get("output")
    if isinstance(asked, str) and isinstance(answered, list):
        asked = [{"role": "user", "content": asked}]
    told = [{"role": "system", "content": run["instructions"]}] if isinstance(run.get("instructions"), str) else []
    return [*told, *asked, *items(answered)] if isinstance(asked, list) else None


def _split(value: Any) -> list[Any] | None:
    """The runs of a list of runs; a list of messages is one run."""
    if not isinstance(value, list) or any(_is_message(item) for item in value):
        return None
    return value if any(isinstance(item, list) or _holds_messages(item) for item in value) else None


def _holds_messages(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("messages", item.get("input")), list) and "role" not in item


def _build(value: Any) -> Made:
    messages = _messages(value)
    if not isinstance(messages, list):
        raise RecordFault("messages must be a list of messages")
    if not messages:
        raise RecordFault("messages is empty: nothing happened in this run")
    chat = Chat()
    for message in messages:
        if isinstance(message, dict):
            chat.message(message)
        else:
            chat.notes.not_kept("messages that are no objects")
    record = obj(value)
    outcome, chat.notes.facts["outcome_from"] = _outcome(record)
    return Made({**_fields(record, chat), **outcome}, chat.notes)


def _fields(record: dict[str, Any], chat: Chat) -> dict[str, Any]:
    about = {**obj(record.get("metadata")), **record}
    session = _first(about, "session_id", "conversation_id", "thread_id")
    code = exit_code(record.get("exit_code"))
    tools = [*items(record.get("tools")), *items(record.get("functions"))]
    named = [obj(obj(tool).get("function")).get("name") or obj(tool).get("name") for tool in tools]
    return {
        "id": _first(about, "id", "custom_id", "request_id") or session,
        "session_id": session,
        "task": chat.writer.first_user_text(),
        "task_key": _first(about, "task_key", "task_id", "instance_id"),
        "agent": word(about.get("agent")),
        "model": word(about.get("model")),
        "tools_offered": [name for name in map(word, named) if name],
        "started_at": moment(about.get("created_at", about.get("created")), chat.notes),
        "steps": chat.writer.steps,
        "metadata": {} if code is None else {"exit_code": code},
    }


def _first(about: dict[str, Any], *keys: str) -> str | None:
    return next((found for key in keys if (found := identifier(about.get(key)))), None)


def _outcome(record: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """What the record states beside its messages. Whose word that is it does not say, so no source is named here."""
    reward: Any = record.get("reward")
    told: dict[str, Any] = {}
    if is_reward(reward) and not isinstance(reward, bool):
        told = {"reward": float(reward)}
    for key in ("success", "resolved"):
        if isinstance(record.get(key), bool):
            return {"outcome": "success" if record[key] else "failure", **told}, key
    if told:
        verdict = "success" if reward >= 1 - _SURE else "failure" if reward <= _SURE else "partial"
        return {"outcome": verdict, **told}, "reward"
    code = exit_code(record.get("exit_code"))
    if code is not None:
        return {"outcome": "failure" if code else "success", "outcome_source": "exit-code"}, "exit_code"
    return {}, None


IMPORTER = OpenAiMessages()
