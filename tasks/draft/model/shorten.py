"""Episodes cut to what fits, visibly: long texts lose their middle, so do long runs, and each cut says how much."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from tasks.draft.model.brief import EpisodeText, StepText

LONGEST, SHORTEST = 2_000, 120
"""Characters of a shown text at most, and when room is short."""


def tokens(text: str) -> int:
    """About how many tokens a text is, on the safe side: four ASCII characters, or one other, a token."""
    other = 0 if text.isascii() else sum(not char.isascii() for char in text)
    return (len(text) - other + 3) // 4 + other


def cut(text: str, most: int) -> str:
    """``text`` with its middle left out, and a mark that says how much."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    tail = most - head
    return f"{text[:head]} [… {len(text) - most} characters left out …] {text[-tail:]}"


def fit(episodes: Sequence[EpisodeText], most_tokens: int) -> tuple[EpisodeText, ...]:
    """Episodes that together need about ``most_tokens``, each a fair share; what a short one leaves, the others get."""
    room, fitted = most_tokens, {}
    by_size = sorted(episodes, key=lambda one: (_size(one), one.id))
    for place, episode in enumerate(by_size):
        fitted[episode.id] = fit_one(episode, room // (len(by_size) - place))
        room -= _size(fitted[episode.id])
    return tuple(fitted[episode.id] for episode in episodes)


def fit_one(episode: EpisodeText, most_tokens: int) -> EpisodeText:
    """One episode within about ``most_tokens``: first its texts are cut, then the steps in its middle left out."""
    most = LONGEST
    shown = _shown(episode, most)
    while _size(shown) > most_tokens and most > SHORTEST:
        most = max(SHORTEST, most // 2)
        shown = _shown(episode, most)
    keep = len(shown.steps)
    while _size(shown) > most_tokens and keep > 2:
        keep = max(2, keep * 3 // 4)
        shown = _middle_out(_shown(episode, most), keep)
    return shown


def step_line(place: str, step: StepText) -> str:
    """One step as one line of JSON: a line break or a quotation mark inside a text is escaped, and ends nothing."""
    told = {"step": place, "kind": step.kind, "name": step.name, "arguments": step.arguments, "text": step.text}
    kept = {name: value for name, value in told.items() if value} | ({"failed": True} if step.failed else {})
    return json.dumps(kept, ensure_ascii=False)


def _shown(episode: EpisodeText, most: int) -> EpisodeText:
    shorter: Callable[[StepText], StepText] = lambda step: replace(  # noqa: E731 - read once, right below
        step, text=cut(step.text, most), arguments=cut(step.arguments, most)
    )
    return replace(episode, task=cut(episode.task, most), steps=tuple(map(shorter, episode.steps)))


def _middle_out(episode: EpisodeText, keep: int) -> EpisodeText:
    head = keep * 2 // 3 or 1
    steps = episode.steps[:head] + episode.steps[len(episode.steps) - (keep - head) :]
    return replace(episode, steps=steps, skipped=episode.skipped + len(episode.steps) - keep)


def _size(episode: EpisodeText) -> int:
    return tokens(episode.task) + sum(tokens(step_line("E0.S000", step)) for step in episode.steps)
