"""Sessions in a few words, for tests."""

from __future__ import annotations

from typing import Any

from tasks.ingest.episode import Step


def bash(command: str, code: int | None = 0, text: str = "ok", **more: Any) -> list[dict[str, Any]]:
    """A command line with its result."""
    call = {"kind": "tool_call", "name": "bash", "arguments": {"command": command}}
    return [call, {"kind": "observation", "exit_code": code, "text": text, **more}]


def tool(name: str, arguments: dict[str, Any], is_error: bool | None = False, text: str = "ok") -> list[dict[str, Any]]:
    """Any other call with its result."""
    call = {"kind": "tool_call", "name": name, "arguments": arguments}
    return [call, {"kind": "observation", "is_error": is_error, "text": text}]


def steps(*pairs: list[dict[str, Any]]) -> list[Step]:
    """Numbered steps of these calls."""
    made = []
    for number, (call, answer) in enumerate(pairs):
        made += [{"id": f"c{number}", **call}, {"id": f"o{number}", "of": f"c{number}", **answer}]
    return [Step.model_validate(one) for one in made]
