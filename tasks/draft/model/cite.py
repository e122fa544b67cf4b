"""Citations that hold: the step was shown, and the quoted words are in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tasks.draft.model.answer import Citation
from tasks.draft.model.brief import EpisodeText, StepText

FEWEST_LETTERS = 3
"""A shorter quote is in any text."""

_PLACE = re.compile(r"E\d+\s*\.\s*S\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """Where a quote is: a step, and the offsets in its text as it is shown, None where only its call holds it."""

    episode_id: str
    step_id: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class Cited:
    """The citations that hold, each once, and how many did not."""

    held: tuple[Place, ...]
    dropped: int

    @property
    def steps(self) -> dict[str, list[str]]:
        """Step ids by episode, as first cited."""
        found: dict[str, list[str]] = {}
        for place in self.held:
            steps = found.setdefault(place.episode_id, [])
            if place.step_id not in steps:
                steps.append(place.step_id)
        return found


def check(
    citations: Iterable[Citation], shown: Mapping[str, tuple[str, str]], episodes: Sequence[EpisodeText]
) -> Cited:
    """Sort citations into those that hold and those that don't.

    Args:
        shown: the steps of the prompt, by the name they were shown under.
        episodes: the same episodes with their whole texts: a quote may span what was cut from view.
    """
    steps = {(episode.id, step.id): step for episode in episodes for step in episode.steps}
    held: dict[Place, None] = {}
    dropped = 0
    for citation in citations:
        at = shown.get(_name(citation.step))
        place = None if at is None or at not in steps else _find(citation.quote, at, steps[at])
        if place is None:
            dropped += 1
        else:
            held[place] = None
    return Cited(tuple(held), dropped)


def plain(text: str) -> str:
    """Text with widths and compatibility forms folded and white space as single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def _name(step: str) -> str:
    found = _PLACE.search(step)
    return "" if found is None else re.sub(r"\s", "", found.group()).upper()


def _find(quote: str, at: tuple[str, str], step: StepText) -> Place | None:
    wanted = plain(quote)
    if sum(char.isalnum() for char in wanted) < FEWEST_LETTERS:
        return None
    if wanted in plain(step.text):
        span = re.search(r"\s+".join(map(re.escape, quote.split())), step.text)
        return Place(*at, *(span.span() if span else (None, None)))
    # A model copies a call as it saw it, where marks of JSON stood between name and values.
    return Place(*at) if _bare(wanted) in _bare(plain(f"{step.name} {step.arguments}")) else None


def _bare(text: str) -> str:
    return "".join(char for char in text if char not in " \"'\\{}():,")
