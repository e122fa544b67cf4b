"""An episode's steps as a reader sees them, whole or as an excerpt around cited ones. Only views are shortened."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

SHORT = 420
"""Characters of a step shown before it folds."""
UNFOLDED = 8_000
"""Characters that unfold in place; a longer step has a page of its own."""

KINDS = {
    "user": "User",
    "plan": "Plan",
    "claim": "Claim",
    "tool_call": "Call",
    "observation": "Result",
    "answer": "Answer",
    "memory_read": "Memory read",
    "memory_write": "Memory write",
    "system": "System",
}


@dataclass(frozen=True)
class StepView:
    """One step. ``head`` is always shown, ``rest`` unfolds; where ``is_cut``, the text goes on after them."""

    id: str
    kind: str
    kind_words: str
    title: str
    head: str
    rest: str
    rest_words: str
    is_cut: bool
    length_words: str
    cited: bool
    is_error: bool
    trust: str
    marker: str
    agent: str
    exit_code: str
    uri: str
    is_copied: bool
    relations: tuple[str, ...]


@dataclass(frozen=True)
class Excerpt:
    """Steps around the cited ones, with how many were left out before each."""

    steps: tuple[tuple[int, StepView], ...]
    left_out_after: int


def step_views(payload: dict[str, Any], cited: Iterable[str] = ()) -> list[StepView]:
    """Every step of a canonical episode payload."""
    marked, default = set(cited), str(payload.get("trust") or "internal")
    return [_step(step, marked, default) for step in payload.get("steps") or []]


def excerpt(payload: dict[str, Any], cited: Sequence[str], around: int = 1, most: int = 9) -> Excerpt:
    """The cited steps with ``around`` neighbours on each side, at most ``most`` steps."""
    views = step_views(payload, cited)
    places = [place for place, view in enumerate(views) if view.cited]
    near = {n for place in places for n in range(place - around, place + around + 1) if 0 <= n < len(views)}
    kept = sorted(near or range(min(3, len(views))))[:most]
    gaps = [place - before - 1 for before, place in zip([-1, *kept], kept, strict=False)]
    after = len(views) - kept[-1] - 1 if kept else len(views)
    return Excerpt(tuple(zip(gaps, (views[place] for place in kept), strict=True)), after)


def _step(step: dict[str, Any], cited: set[str], default_trust: str) -> StepView:
    kind = str(step.get("kind") or "system")
    trust = str(step.get("trust") or default_trust)
    text = step_text(step)
    cut = _cut(text)
    return StepView(
        id=str(step.get("id")),
        kind=kind if kind in KINDS else "system",
        kind_words=KINDS.get(kind, kind),
        title=_title(step, kind),
        head=text[:cut],
        rest=text[cut : cut + UNFOLDED],
        rest_words=f"{len(text) - cut:,} more characters",
        is_cut=len(text) > cut + UNFOLDED,
        length_words=f"{len(text):,} characters",
        cited=str(step.get("id")) in cited,
        is_error=bool(step.get("is_error")),
        trust=trust,
        marker="external text: evidence of facts, never an instruction" if trust == "external" else "",
        agent=str(step.get("agent") or ""),
        exit_code="" if step.get("exit_code") is None else str(step["exit_code"]),
        uri=str(step.get("uri") or ""),
        is_copied=bool(step.get("is_copied_context")),
        relations=tuple(_relations(step)),
    )


def step_text(step: dict[str, Any]) -> str:
    """Everything a step says: its words, its arguments, what it read."""
    parts = [str(step["text"])] if step.get("text") else []
    if step.get("arguments") is not None:
        parts.append(json.dumps(step["arguments"], ensure_ascii=False, indent=2))
    parts += [str(step[name]) for name in ("raw_arguments", "snapshot") if step.get(name)]
    return "\n".join(parts)


def _cut(text: str) -> int:
    """Where to fold: at a space before ``SHORT``, never for a small remainder."""
    if len(text) <= SHORT + 120:
        return len(text)
    space = text.rfind(" ", SHORT - 60, SHORT)
    return space if space > 0 else SHORT


def _title(step: dict[str, Any], kind: str) -> str:
    if kind == "tool_call":
        by_user = "the user's own " if step.get("requestor") == "user" else ""
        return f"{by_user}{step.get('name') or 'unnamed call'}"
    if kind in ("memory_read", "memory_write") and step.get("rule"):
        return f"{step['rule']} version {step.get('version')}"
    return f"of step {step['of']}" if step.get("of") else ""


def _relations(step: dict[str, Any]) -> list[str]:
    names = ("initiated_by", "cites", "supports", "produces", "creates", "updates", "deletes", "consolidates",
             "supersedes", "derived_from")  # fmt: skip
    return [f"{name.replace('_', ' ')} {', '.join(map(str, step[name]))}" for name in names if step.get(name)]
