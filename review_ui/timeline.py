"""Geometry of the plot of a rule's readers over time: a bar a span, stacked by version, with marks of what happened.

Pure: counts in, places out. Words, which need a reader's language and zone, are made by whoever asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

LEFT, RIGHT, BOTTOM = 44, 8, 24
PLOT_HEIGHT = 132
MARK_ROW, MARK_ROWS = 16, 3
MARK_ROOM = 34
"""Pixels that a mark's label takes; a mark that has less goes into the next row."""
GAP = 0.22
"""The part of a span's width that stays free beside its bar."""
SHAPES = {
    "promoted": "M0 -4.5L4.5 4H-4.5z",
    "restored": "M0 -4.5L4.5 4H-4.5zM0 -.5L-1.5 2.5H1.5z",
    "superseded": "M-4 -1.5H4V1.5H-4z",
    "quarantined": "M0 -5L5 0 0 5 -5 0z",
    "revoked": "M-4 -2.5L-2.5 -4 0 -1.5 2.5 -4 4 -2.5 1.5 0 4 2.5 2.5 4 0 1.5 -2.5 4 -4 2.5 -1.5 0z",
    "expired": "M-4 -4H4V4H-4z",
}
"""The shape of each kind of mark, around its middle; a kind without one is drawn as expired."""
TICK_ROOM = 76
"""Pixels between two labels of the time axis, at least."""


@dataclass(frozen=True)
class Count:
    """Answers that carried one version in one span, and the sessions behind them."""

    span: int
    version: int
    answers: int
    sessions: int


@dataclass(frozen=True)
class Mark:
    """Something that happened to a version."""

    at: datetime
    version: int
    kind: str
    words: str


@dataclass(frozen=True)
class Bar:
    """A part of a span's bar. ``layer`` is newest, before or older, by the version it stands for."""

    x: float
    y: float
    width: float
    height: float
    layer: str
    span: int
    version: int
    answers: int


@dataclass(frozen=True)
class SessionLine:
    """A line across a span's bar at the height of its sessions."""

    x1: float
    x2: float
    y: float


@dataclass(frozen=True)
class PlacedMark:
    """A mark on the time axis; its label stands in the row at ``y``, beside it at ``text_x``."""

    x: float
    y: float
    text_x: float
    anchor: str
    shape: str
    kind: str
    label: str
    words: str


@dataclass(frozen=True)
class Tick:
    """A label of an axis; ``anchor`` is where the text holds on to its place."""

    place: float
    text: str
    anchor: str = "middle"


@dataclass(frozen=True)
class Timeline:
    """The whole drawing, in pixels."""

    width: int
    height: int
    left: int
    right: float
    top: float
    base: float
    bars: tuple[Bar, ...]
    lines: tuple[SessionLine, ...]
    marks: tuple[PlacedMark, ...]
    times: tuple[Tick, ...]
    levels: tuple[Tick, ...]


def timeline(
    edges: Sequence[datetime],
    labels: Sequence[str],
    counts: Sequence[Count],
    marks: Sequence[Mark],
    newest: int,
    width: int = 760,
) -> Timeline:
    """The plot of the spans between ``edges``, which are named by ``labels``; marks outside them are left out.

    ``newest`` is the version that the first layer stands for.
    """
    inside = sorted((m for m in marks if edges[0] <= m.at <= edges[-1]), key=lambda m: (m.at, m.version))
    right = width - RIGHT
    placed = _placed(inside, edges, right)
    rows = max((round((mark.y - MARK_ROW + 4) / MARK_ROW) + 1 for mark in placed), default=0)
    top = rows * MARK_ROW + 10
    base = top + PLOT_HEIGHT
    most = level_above(max(_totals(counts, len(labels)), default=0))
    step = (right - LEFT) / len(labels)
    scale = PLOT_HEIGHT / most
    return Timeline(
        width=width,
        height=base + BOTTOM,
        left=LEFT,
        right=right,
        top=top,
        base=base,
        bars=tuple(_bars(counts, newest, step, base, scale)),
        lines=tuple(_lines(counts, len(labels), step, base, scale)),
        marks=placed,
        times=tuple(_times(labels, step, right)),
        levels=tuple(Tick(round(base - value * scale, 1), f"{value:,}", "end") for value in _levels(most)),
    )


def level_above(value: int) -> int:
    """The next round figure at or above a count, of which there is a whole half: 1, 2, 4, 6, 8, 10, 20, 40, ..."""
    size = 1
    while True:
        for factor in (1, 2, 4, 6, 8):
            if factor * size >= max(value, 1):
                return factor * size
        size *= 10


def _levels(most: int) -> list[int]:
    return [0, most] if most == 1 else [0, most // 2, most]


def _totals(counts: Sequence[Count], spans: int) -> list[int]:
    totals = [0] * spans
    for count in counts:
        totals[count.span] += count.answers
    return totals


def _bars(counts: Sequence[Count], newest: int, step: float, base: float, scale: float) -> list[Bar]:
    """Older versions at the bottom, so that what is new stands on what was."""
    made: list[Bar] = []
    heights: dict[int, float] = {}
    for count in sorted(counts, key=lambda c: (c.span, c.version)):
        below = heights.get(count.span, 0.0)
        height = count.answers * scale
        heights[count.span] = below + height
        layer = {0: "newest", 1: "before"}.get(newest - count.version, "older")
        x, y = LEFT + (count.span + GAP / 2) * step, base - below - height
        made.append(
            Bar(round(x, 1), round(y, 1), round(step * (1 - GAP), 1), round(height, 1), layer, count.span,
                count.version, count.answers)
        )  # fmt: skip
    return made


def _lines(counts: Sequence[Count], spans: int, step: float, base: float, scale: float) -> list[SessionLine]:
    sessions = [0] * spans
    for count in counts:
        sessions[count.span] += count.sessions
    return [
        SessionLine(
            x1=round(LEFT + (span + GAP / 4) * step, 1),
            x2=round(LEFT + (span + 1 - GAP / 4) * step, 1),
            y=round(base - number * scale, 1),
        )
        for span, number in enumerate(sessions)
        if number
    ]


def _placed(marks: Sequence[Mark], edges: Sequence[datetime], right: float) -> tuple[PlacedMark, ...]:
    """Each mark in the first row that has room for its label; where none has, it shares the last."""
    free = [float("-inf")] * MARK_ROWS
    made = []
    for mark in marks:
        x = round(LEFT + _share(mark.at, edges) * (right - LEFT), 1)
        row = next((number for number, until in enumerate(free) if x >= until), MARK_ROWS - 1)
        free[row] = x + MARK_ROOM
        left = x > right - MARK_ROOM
        y, text_x = MARK_ROW * (row + 1) - 4, round(x - 7 if left else x + 7, 1)
        anchor, shape = "end" if left else "start", shape_of(mark.kind)
        made.append(PlacedMark(x, y, text_x, anchor, shape, mark.kind, f"v{mark.version}", mark.words))
    return tuple(made)


def shape_of(kind: str) -> str:
    """The shape that tells a kind of mark from the others."""
    return SHAPES.get(kind, SHAPES["expired"])


def _share(at: datetime, edges: Sequence[datetime]) -> float:
    """Where a time lies among the spans, which are drawn as wide as one another: a day that ends summer time too."""
    for number, (start, end) in enumerate(pairwise(edges)):
        if at <= end:
            return (number + (at - start) / (end - start)) / (len(edges) - 1)
    return 1.0


def _times(labels: Sequence[str], step: float, right: float) -> list[Tick]:
    """As many labels as fit, the last span's among them, for that is today."""
    every = max(round(TICK_ROOM / step), 1)
    last = len(labels) - 1
    made = []
    for span in range(last % every, len(labels), every):
        x = LEFT + (span + 0.5) * step
        if span == last:
            made.append(Tick(right, labels[span], "end"))
        elif x <= right - TICK_ROOM:
            made.append(Tick(round(x, 1), labels[span], "start" if x < LEFT + TICK_ROOM / 3 else "middle"))
    return made
