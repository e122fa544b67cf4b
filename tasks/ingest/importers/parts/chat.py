"""Messages into steps: what the importers have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tasks.ingest.importers.base import RecordFault
from tasks.ingest.jsontext import JsonFault, canonical_bytes, parse, tidy


@dataclass
class StepWriter:
    """Numbers steps from 1 and ties each observation to its call."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    _calls: dict[str, str] = field(default_factory=dict)
    last_user: str | None = None

    def add(self, kind: str, **fields: Any) -> str:
        """Append a step; fields that are None are left out."""
        number = str(len(self.steps) + 1)
        self.steps.append(
            {"id": number, "kind": kind, **{key: value for key, value in fields.items() if value is not None}}
        )
        if kind == "user":
            self.last_user = number
        return number

    def call(self, call_id: object, name: object, arguments: Any, *, by_user: bool = False, **fields: Any) -> str:
        """A tool call. Arguments that are no JSON object are kept as they were written."""
        held, raw = read_arguments(arguments)
        initiated = [self.last_user] if self.last_user and not by_user else None
        number = self.add(
            "tool_call",
            name=as_text(name) or "unnamed",
            arguments=held,
            raw_arguments=raw,
            requestor="user" if by_user else None,
            **{"initiated_by": initiated, "trust": "user" if by_user else None, **fields},
        )
        if isinstance(call_id, str):
            self._calls[call_id] = number
        return number

    def observation(self, call_id: object, content: Any, **fields: Any) -> str:
        """What a tool returned, tied to the newest call of that id. How far it is trusted is the door's to say."""
        of = self._calls.get(call_id) if isinstance(call_id, str) else None
        return self.add("observation", **{"of": of, "text": as_text(content), "source": "tool", **fields})

    def first_user_text(self) -> str | None:
        """The starting point: what the user said first."""
        return next(
            (step["text"] for step in self.steps if step["kind"] == "user" and step.get("text", "").strip()), None
        )


def messages_of(record: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """The messages under ``key``.

    Raises:
        RecordFault: if they are absent or are no objects.
    """
    found = record.get(key)
    if not isinstance(found, list):
        raise RecordFault(f"{key} must be a list of messages")
    if not found:
        raise RecordFault(f"{key} is empty: nothing happened in this run")
    for position, message in enumerate(found):
        if not isinstance(message, dict):
            raise RecordFault(f"{key}[{position}] must be an object")
        yield message


def calls_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The tool calls of a message that are objects."""
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def read_arguments(value: Any) -> tuple[dict[str, Any] | None, str | None]:
    """(object, None), or (None, the text as it was written)."""
    if isinstance(value, dict):
        return value, None
    if not isinstance(value, str):
        return (None, None) if value is None else (None, as_text(value))
    try:
        parsed = parse(value.encode("utf-8", "surrogatepass"))
    except JsonFault:
        return None, value
    if not isinstance(parsed.value, dict):
        return None, value
    return (tidy(parsed.value)[0] if parsed.dirty else parsed.value), None


def as_text(value: Any) -> str:
    """Content as text: a string, a list of text blocks, nothing, or JSON of whatever else it is."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if (
        isinstance(value, list)
        and value
        and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in value)
    ):
        return "\n".join(part["text"] for part in value)
    return canonical_bytes(value).decode("utf-8")


def is_reward(value: Any) -> bool:
    """Whether a reward was recorded: a number, and not one that stands for "none"."""
    return isinstance(value, int | float) and value == value and abs(value) != float("inf")


def outcome_of(reward: Any) -> dict[str, Any]:
    """Outcome fields from a verifier's reward: 1 is success, less is failure, none is unknown."""
    if not is_reward(reward):
        return {"outcome": "unknown"}
    return {
        "outcome": "success" if reward >= 1 - 1e-6 else "failure",
        "outcome_source": "verifier",
        "reward": float(reward),
    }
