"""What the checks look at in the body of a cited episode. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tasks.verify.signs import Sign, signs

FROM_OUTSIDE = frozenset({"user", "observation", "memory_read"})
"""Steps whose text somebody else wrote. The system's and the agent's own are not looked at."""


@dataclass(frozen=True)
class Body:
    """Steps of an episode, those of external trust among them, and signs in what others wrote."""

    steps: frozenset[str]
    external: frozenset[str]
    signs: tuple[Sign, ...]


def read_body(payload: Mapping[str, Any]) -> Body:
    """Look through the body of one episode."""
    steps = payload.get("steps") or []
    whole = str(payload.get("trust", "internal"))
    return Body(
        steps=frozenset(str(step["id"]) for step in steps),
        external=frozenset(str(step["id"]) for step in steps if step.get("trust", whole) == "external"),
        signs=tuple(signs(_texts(steps))),
    )


def _texts(steps: Iterable[Mapping[str, Any]]) -> list[str]:
    return [
        f"{step.get('text') or ''}\n{step.get('snapshot') or ''}" for step in steps if step.get("kind") in FROM_OUTSIDE
    ]
