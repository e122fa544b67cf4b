"""A candidate's text in parts, so that a long one is read before it is approved and none of it hides in the middle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from review_ui.views.packet import Content

Kind = Literal["when", "step"]
PART = 24_000
"""Characters shown at once."""


@dataclass(frozen=True)
class Line:
    """A line of what agents would receive, or a piece of one that is longer than a part."""

    kind: Kind
    number: int
    text: str
    continued: bool


@dataclass(frozen=True)
class Reading:
    """One part of a text."""

    lines: tuple[Line, ...]
    part: int
    parts: int

    @property
    def is_last(self) -> bool:
        """Whether nothing comes after this part."""
        return self.part == self.parts


def parts_of(content: Content, size: int = PART) -> list[tuple[Line, ...]]:
    """The whole text cut into parts of at most ``size`` characters; nothing is left out."""
    made: list[list[Line]] = [[]]
    room = size
    for kind, number, text in _lines(content):
        start = 0
        while start < len(text) or start == 0:
            if room == 0:
                made.append([])
                room = size
            piece = text[start : start + room]
            made[-1].append(Line(kind, number, piece, start > 0))
            start += len(piece) or 1
            room -= len(piece)
    return [tuple(part) for part in made]


def reading(content: Content, part: int) -> Reading:
    """One part, by its number from 1; a number outside is brought inside."""
    made = parts_of(content)
    number = min(max(part, 1), len(made))
    return Reading(made[number - 1], number, len(made))


def _lines(content: Content) -> Iterator[tuple[Kind, int, str]]:
    yield "when", 0, content.when_to_use
    for number, text in enumerate(content.guidance, 1):
        yield "step", number, text
