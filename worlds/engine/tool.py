"""Tools: named functions over the state. A refused call raises :class:`ToolError`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from worlds.engine.state import Row, State

Body = Callable[..., dict[str, Any]]
"""``body(state, release, **arguments)`` returns what the caller sees, and changes ``state`` in place if it succeeds."""


class ToolError(Exception):
    """The tool refused the call; ``code`` is stable and ``message`` names the record."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"Error [{code}]: {message}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as offered to an agent.

    ``writes`` says whether it changes state; ``undo`` names the tool that compensates it, ``None`` where nothing does.
    """

    name: str
    body: Body
    writes: bool = False
    undo: str | None = None


def tools(*entries: Tool) -> dict[str, Tool]:
    """The tools of a world by name, in the order they are offered."""
    return {entry.name: entry for entry in entries}


def find(state: State, table: str, key: str, noun: str) -> Row:
    """The row, or the error every back office gives for an id it does not know.

    Raises:
        ToolError: ``not_found``.
    """
    row = state[table].get(key)
    if row is None:
        raise ToolError("not_found", f"No {noun} with id {key!r}. Check the id and try again.")
    return row


def require(condition: bool, code: str, message: str) -> None:
    """Refuse the call unless ``condition`` holds.

    Raises:
        ToolError: with ``code`` and ``message``.
    """
    if not condition:
        raise ToolError(code, message)


def hand_off(state: State, release: str, *, reason: str) -> dict[str, Any]:
    """``transfer_to_human`` of every world: a queue entry, and nothing a checker looks at."""
    del release
    number = len(state["handoffs"]) + 1
    state["handoffs"][str(number)] = {"reason": reason}
    return {"queued": True, "position": number}
