"""The lineage picture: every box has its place, none covers another, and ribbons end on boxes."""

from __future__ import annotations

import re
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from review_ui.lineage import (
    BOX_HEIGHT,
    BOX_WIDTH,
    LABEL,
    THICKEST,
    THINNEST,
    Column,
    Drawing,
    Flow,
    Node,
    draw,
    fitting,
)

SIZES = st.lists(st.integers(0, 6), max_size=7)


def drawn(sizes: list[int], counts: list[int]) -> tuple[Drawing, list[Flow]]:
    columns = [
        Column(f"column {x}", tuple(Node(f"{x}/{y}", str(y), "runs") for y in range(size)))
        for x, size in enumerate(sizes)
    ]
    names = [node.id for column in columns for node in column.nodes]
    flows = [
        Flow(names[count % len(names)], names[place % len(names)], count) for place, count in enumerate(counts) if names
    ]
    return draw(columns, [*flows, Flow("nowhere", "0/0", 3)]), flows


@given(SIZES, st.lists(st.integers(0, 10_000), max_size=12))
def test_every_box_lies_in_the_frame_and_none_covers_another(sizes: list[int], counts: list[int]) -> None:
    picture, flows = drawn(sizes, counts)
    assert len(picture.boxes) == sum(sizes)
    for box in picture.boxes:
        assert 0 <= box.x <= picture.width - BOX_WIDTH
        assert 0 < box.y <= picture.height - BOX_HEIGHT
        assert box.y < box.value_y < box.label_y < box.y + BOX_HEIGHT
    for one, two in combinations(picture.boxes, 2):
        assert abs(one.x - two.x) >= BOX_WIDTH or abs(one.y - two.y) >= BOX_HEIGHT
    assert len(picture.ribbons) == len(flows), "a flow with an end that is not drawn is left out"


@given(SIZES, st.lists(st.integers(0, 10_000), min_size=1, max_size=12))
def test_ribbons_start_and_end_on_boxes_and_more_is_wider(sizes: list[int], counts: list[int]) -> None:
    picture, flows = drawn(sizes, counts)
    starts = {(box.x + BOX_WIDTH, box.y + BOX_HEIGHT / 2) for box in picture.boxes}
    ends = {(box.x, box.y + BOX_HEIGHT / 2) for box in picture.boxes}
    for ribbon in picture.ribbons:
        places = [float(found) for found in re.findall(r"-?[\d.]+", ribbon.path)]
        assert tuple(places[:2]) in starts
        assert tuple(places[-2:]) in ends
        assert THINNEST <= ribbon.width <= THICKEST
    by_count = sorted(zip((flow.many for flow in flows), (ribbon.width for ribbon in picture.ribbons), strict=True))
    assert [width for _, width in by_count] == sorted(width for _, width in by_count)


@given(st.text(max_size=60))
def test_a_label_is_whole_or_marked_as_cut(text: str) -> None:
    shown = fitting(text, LABEL)
    assert shown == text or (shown.endswith("…") and text.startswith(shown[:-1]))
    assert len(shown) <= LABEL


def test_wide_letters_take_the_room_of_two() -> None:
    assert fitting("one two three four five", 21) == "one two three four f…"
    assert fitting("取消航班之前先查看舱位规则", 21) == "取消航班之前先查看…"


def test_nothing_is_a_picture_of_nothing() -> None:
    assert draw([], []).boxes == ()
