"""Geometry of the lineage picture: boxes in columns from left to right, and ribbons between them.

Pure: named boxes and the flows between them in, places out. A ribbon is the wider the more it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from review_ui.text import shortened

BOX_WIDTH, BOX_HEIGHT, COLUMN_GAP, ROW_GAP = 112, 46, 22, 12
TOP, BOTTOM, EDGE = 30, 8, 2
LABEL = 17
"""Characters that fit into a box; wide letters, such as Chinese, take the room of two."""
THINNEST, THICKEST = 1.5, 9.0


@dataclass(frozen=True)
class Node:
    """One thing, or many of one kind: ``value`` is how many or which, ``label`` what. ``tone`` is a class."""

    id: str
    value: str
    label: str
    tone: str = ""


@dataclass(frozen=True)
class Flow:
    """What leads from one node to another; ``many`` is for how many things it stands."""

    start: str
    end: str
    many: int


@dataclass(frozen=True)
class Column:
    """Nodes above one another under a heading."""

    heading: str
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Box:
    """A node in its place: the corner of its box and where its two lines of text stand."""

    node: Node
    x: int
    y: int
    text_x: int
    value_y: int
    label_y: int
    value: str
    label: str


@dataclass(frozen=True)
class Ribbon:
    """A flow as a path."""

    path: str
    width: float


@dataclass(frozen=True)
class Heading:
    """A column's heading, centred over it."""

    x: float
    text: str


@dataclass(frozen=True)
class Drawing:
    """The whole picture, ready for a template that computes nothing."""

    width: int
    height: int
    headings: tuple[Heading, ...]
    boxes: tuple[Box, ...]
    ribbons: tuple[Ribbon, ...]
    box_width: int = BOX_WIDTH
    box_height: int = BOX_HEIGHT


def draw(columns: Sequence[Column], flows: Sequence[Flow]) -> Drawing:
    """Places for every node, each column centred, and ribbons for the flows whose two ends are drawn."""
    tallest = max((_height(column) for column in columns), default=0)
    boxes = {
        box.node.id: box
        for place, column in enumerate(columns)
        for box in _boxes(column, EDGE + place * (BOX_WIDTH + COLUMN_GAP), TOP + (tallest - _height(column)) // 2)
    }
    most = max((flow.many for flow in flows), default=1)
    return Drawing(
        width=2 * EDGE + max(len(columns) * (BOX_WIDTH + COLUMN_GAP) - COLUMN_GAP, 0),
        height=TOP + tallest + BOTTOM,
        headings=tuple(
            Heading(EDGE + place * (BOX_WIDTH + COLUMN_GAP) + BOX_WIDTH / 2, column.heading)
            for place, column in enumerate(columns)
        ),
        boxes=tuple(boxes.values()),
        ribbons=tuple(
            _ribbon(flow, boxes, most) for flow in flows if flow.start in boxes and flow.end in boxes
        ),
    )  # fmt: skip


def _height(column: Column) -> int:
    return max(len(column.nodes) * (BOX_HEIGHT + ROW_GAP) - ROW_GAP, 0)


def _boxes(column: Column, x: int, top: int) -> list[Box]:
    return [
        Box(
            node=node,
            x=x,
            y=(y := top + place * (BOX_HEIGHT + ROW_GAP)),
            text_x=x + 10,
            value_y=y + 20,
            label_y=y + 36,
            value=fitting(node.value, LABEL - 5),
            label=fitting(node.label, LABEL),
        )
        for place, node in enumerate(column.nodes)
    ]


def fitting(text: str, room: int) -> str:
    """A text cut, and marked so, to the room of so many narrow letters."""
    taken = 0
    for place, char in enumerate(text):
        taken += 2 if ord(char) >= 0x2E80 else 1
        if taken > room:
            return shortened(text, max(place, 1))
    return text


def _ribbon(flow: Flow, boxes: Mapping[str, Box], most: int) -> Ribbon:
    start, end = boxes[flow.start], boxes[flow.end]
    x1, y1 = start.x + BOX_WIDTH, start.y + BOX_HEIGHT / 2
    x2, y2 = end.x, end.y + BOX_HEIGHT / 2
    bend = (x1 + x2) / 2
    share = math.log1p(max(flow.many, 0)) / math.log1p(max(most, 1))
    return Ribbon(
        path=f"M{x1} {y1:g}C{bend:g} {y1:g} {bend:g} {y2:g} {x2} {y2:g}",
        width=round(THINNEST + (THICKEST - THINNEST) * share, 1),
    )
