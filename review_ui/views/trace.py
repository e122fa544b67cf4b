"""An episode's steps as a reader sees them, whole or as an excerpt around cited ones. Only views are shortened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from review_ui.views.names import STEP_KINDS, TRUSTS, said
from review_ui.views.spoken import NOBODY, Spoken, argument_span, arguments_text
from review_ui.words import N_, _, ngettext

SHORT, BESIDE = 420, 150
"""Characters of a step shown before it folds, and of one that only stands beside a cited one."""
UNFOLDED = 8_000
"""Characters that unfold in place; a longer step has a page of its own."""

Marked = tuple[tuple[str, bool], ...]
"""A text in pieces, each with whether it is what the claim speaks of."""

RELATIONS = {
    "initiated_by": N_("initiated by {steps}"),
    "cites": N_("cites {steps}"),
    "supports": N_("supports {steps}"),
    "produces": N_("produces {steps}"),
    "creates": N_("creates {steps}"),
    "updates": N_("updates {steps}"),
    "deletes": N_("deletes {steps}"),
    "consolidates": N_("consolidates {steps}"),
    "supersedes": N_("supersedes {steps}"),
    "derived_from": N_("derived from {steps}"),
}


@dataclass(frozen=True)
class StepView:
    """One step. ``head`` is always shown, ``rest`` unfolds; where ``is_cut``, the text goes on after them.

    ``spoken``: it is a call that the claim speaks of. ``pieces`` are the head with the claim's argument marked.
    """

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
    trust_words: str = ""
    spoken: bool = False
    pieces: Marked = ()


@dataclass(frozen=True)
class Excerpt:
    """Steps around the cited ones, with how many were left out before each. ``cited_elsewhere`` are not shown."""

    steps: tuple[tuple[int, StepView], ...]
    left_out_after: int
    cited_elsewhere: int = 0


def step_views(payload: dict[str, Any], cited: Iterable[str] = ()) -> list[StepView]:
    """Every step of a canonical episode payload."""
    marked, default = set(cited), str(payload.get("trust") or "internal")
    return [_step(step, marked, default) for step in payload.get("steps") or []]


def excerpt(
    payload: dict[str, Any], cited: Sequence[str], around: int = 1, most: int = 9, spoken: Spoken = NOBODY
) -> Excerpt:
    """The cited steps with ``around`` neighbours on each side: at most ``most`` steps, the cited ones before others.

    A neighbour is shortened more than what is cited, so that the cited steps come into view first.
    """
    steps, marked = payload.get("steps") or [], set(cited)
    default = str(payload.get("trust") or "internal")
    places = [place for place, step in enumerate(steps) if str(step.get("id")) in marked]
    near = {n for place in places for n in range(place - around, place + around + 1) if 0 <= n < len(steps)}
    chosen = (places + sorted(near - set(places)))[:most] if near else range(min(3, len(steps)))
    kept = sorted(chosen)
    gaps = [place - before - 1 for before, place in zip([-1, *kept], kept, strict=False)]
    after = len(steps) - kept[-1] - 1 if kept else len(steps)
    shown = [_step(steps[n], marked, default, spoken, SHORT if n in places or not places else BESIDE) for n in kept]
    return Excerpt(tuple(zip(gaps, shown, strict=True)), after, len(set(places) - set(kept)))


def _step(
    step: dict[str, Any], cited: set[str], default_trust: str, spoken: Spoken = NOBODY, short: int = SHORT
) -> StepView:
    kind = str(step.get("kind") or "system")
    trust = str(step.get("trust") or default_trust)
    text, is_spoken = step_text(step), spoken.of(step)
    span = _argument_span(step, text, spoken.argument) if is_spoken and spoken.argument else None
    cut = _cut(text, short)
    if span and cut < span[1] <= UNFOLDED:
        cut = span[1]
    return StepView(
        id=str(step.get("id")),
        kind=kind if kind in STEP_KINDS else "system",
        kind_words=said(STEP_KINDS, kind),
        title=_title(step, kind),
        head=text[:cut],
        rest=text[cut : cut + UNFOLDED],
        rest_words=ngettext("{n} more character", "{n} more characters", len(text) - cut).format(
            n=f"{len(text) - cut:,}"
        ),
        is_cut=len(text) > cut + UNFOLDED,
        length_words=ngettext("{n} character", "{n} characters", len(text)).format(n=f"{len(text):,}"),
        cited=str(step.get("id")) in cited,
        is_error=bool(step.get("is_error")),
        trust=trust,
        marker=_("external text: evidence of facts, never an instruction") if trust == "external" else "",
        agent=str(step.get("agent") or ""),
        exit_code="" if step.get("exit_code") is None else str(step["exit_code"]),
        uri=str(step.get("uri") or ""),
        is_copied=bool(step.get("is_copied_context")),
        relations=tuple(_relations(step)),
        trust_words=said(TRUSTS, trust),
        spoken=is_spoken,
        pieces=_pieces(text[:cut], span),
    )


def _argument_span(step: dict[str, Any], text: str, argument: str) -> tuple[int, int] | None:
    arguments = step.get("arguments")
    found = argument_span(arguments, argument) if isinstance(arguments, dict) else None
    if found is None:
        return None
    before = f"{step['text']}\n" if step.get("text") else ""
    return found[0] + len(before), min(found[1] + len(before), len(text))


def _pieces(head: str, span: tuple[int, int] | None) -> Marked:
    if span is None or span[0] >= len(head):
        return ((head, False),)
    parts = ((head[: span[0]], False), (head[span[0] : span[1]], True), (head[span[1] :], False))
    return tuple((text, marked) for text, marked in parts if text)


def step_text(step: dict[str, Any]) -> str:
    """Everything a step says: its words, its arguments, what it read."""
    parts = [str(step["text"])] if step.get("text") else []
    if step.get("arguments") is not None:
        parts.append(arguments_text(step["arguments"]))
    parts += [str(step[name]) for name in ("raw_arguments", "snapshot") if step.get(name)]
    return "\n".join(parts)


def _cut(text: str, short: int) -> int:
    """Where to fold: at a space before ``short``, never for a small remainder."""
    if len(text) <= short + 120:
        return len(text)
    space = text.rfind(" ", short - 60, short)
    return space if space > 0 else short


def _title(step: dict[str, Any], kind: str) -> str:
    if kind == "tool_call":
        name = str(step.get("name") or _("unnamed call"))
        return _("the user's own {call}").format(call=name) if step.get("requestor") == "user" else name
    if kind in ("memory_read", "memory_write") and step.get("rule"):
        if step.get("version") is None:
            return str(step["rule"])
        return _("{rule} version {version}").format(rule=step["rule"], version=step["version"])
    return _("of step {step}").format(step=step["of"]) if step.get("of") else ""


def _relations(step: dict[str, Any]) -> list[str]:
    return [
        _(words).format(steps=", ".join(map(str, step[name]))) for name, words in RELATIONS.items() if step.get(name)
    ]
