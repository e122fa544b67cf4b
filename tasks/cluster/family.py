"""Families: episodes whose starting point is alike. What the agent then did never enters.

Where the environment or the tools offered are known they decide, by name: a version is a condition to test, not
another family, and the wording of the task cannot shatter one. Where neither is known the first text does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from storage.ids import content_hash
from tasks.cluster.vectors import TextSpace

TEXT_ALIKE = 0.2
"""Cosine above which a text joins a text family. Low: strata do the fine work, a family only scopes a test."""

SHOWN_TOOLS = 3


@dataclass(frozen=True)
class Start:
    """The starting point of one episode."""

    episode_id: str
    text: str
    environment: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


@dataclass(frozen=True)
class FamilyDraft:
    """A family as it is stored. ``leader`` is the episode whose text founded a text family."""

    id: str
    label: str
    signature: dict[str, Any]
    leader: str | None = None


def start_of(episode_id: str, task: str, environment: Iterable[str], tools: Iterable[str]) -> Start:
    """A starting point in canonical order."""
    return Start(episode_id, task, tuple(sorted(set(environment))), tuple(sorted(set(tools))))


def known_family(start: Start) -> FamilyDraft | None:
    """The family its environment and tools name; None where neither is known."""
    if not start.environment and not start.tools:
        return None
    signature = {"kind": "named", "environment": list(start.environment), "tools": list(start.tools)}
    shown = ", ".join(start.tools[:SHOWN_TOOLS]) + (" …" if len(start.tools) > SHOWN_TOOLS else "")
    label = " + ".join(start.environment) or f"tools {shown}"
    return FamilyDraft(content_hash(signature, 16), label, signature)


def assign(starts: Sequence[Start], leaders: Sequence[tuple[str, str]]) -> dict[str, FamilyDraft]:
    """The family of every starting point.

    Args:
        starts: in the order of arrival.
        leaders: (family id, founding text) of the text families there are already.
    """
    assigned = {start.episode_id: found for start in starts if (found := known_family(start)) is not None}
    nameless = [start for start in starts if start.episode_id not in assigned]
    return assigned | _by_text(nameless, leaders)


def _by_text(starts: Sequence[Start], leaders: Sequence[tuple[str, str]]) -> dict[str, FamilyDraft]:
    if not starts:
        return {}
    space = TextSpace([text for _, text in leaders] + [start.text for start in starts])
    groups = space.follow_leaders(len(leaders), TEXT_ALIKE)
    found: dict[str, FamilyDraft] = {}
    for start, leader in zip(starts, groups, strict=True):
        if leader < len(leaders):
            found[start.episode_id] = FamilyDraft(leaders[leader][0], "", {})
        else:
            found[start.episode_id] = _text_family(starts[leader - len(leaders)])
    return found


def _text_family(founder: Start) -> FamilyDraft:
    """A family founded by a text; its signature names the episode, never quotes it."""
    identity = content_hash(["text", founder.text], 16)
    signature = {"kind": "text", "leader": founder.episode_id}
    return FamilyDraft(identity, f"tasks like {founder.episode_id[:8]}", signature, founder.episode_id)
