"""Two tellings of one conversation laid side by side: which items of one are items of the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tasks.ingest.importers.parts.otel_items import Item

# An exact alignment compares every pair; past this many (per alignment, and per conversation) the next match wins.
MOST_PAIRS = 40_000
MOST_PAIRS_IN_ALL = 2_000_000
# How far ahead the next match is looked for where the alignment is not exact.
REACH = 500


def align(told: Sequence[Item], items: Sequence[Item], maybe: Sequence[bool], spent: list[int]) -> dict[int, Item]:
    """Which of ``items`` each told one is, by its position; in order, and none twice.

    Args:
        maybe: for each told one, whether any item can be the same.
        spent: the pairs compared so far, in its one place; it bounds what a conversation may cost.
    """
    known: dict[int, Item] = {}
    start = 0
    while start < min(len(told), len(items)) and maybe[start] and same(told[start], items[start]):
        known[start] = items[start]
        start += 1
    rows = [position for position in range(start, len(told)) if maybe[position]]
    pairs = len(rows) * (len(items) - start)
    if not pairs:
        return known
    exact = pairs <= MOST_PAIRS and spent[0] + pairs <= MOST_PAIRS_IN_ALL
    spent[0] += pairs if exact else 0
    find = _longest if exact else _next_match
    return known | {position: items[place] for position, place in find(told, rows, items, start)}


def same(one: Item, other: Item) -> bool:
    """Whether two items may be tellings of one."""
    if one.kind != other.kind:
        return False
    if one.kind == "call":
        return same_call(one, other)
    if one.kind != "result":
        return one.words == other.words and one.name == other.name
    if one.call is not None and other.call is not None and not same_call(one.call, other.call):
        return False
    if one.call_id is not None and other.call_id is not None:
        return one.call_id == other.call_id
    return one.words == other.words or (one.call is not None and other.call is not None)


def same_call(one: Item, other: Item) -> bool:
    """Whether two tellings may be of one call. Ids decide where both have one: two calls that ask the same stay two."""
    if one.call_id is not None and other.call_id is not None and one.call_id != other.call_id:
        return False
    if one.name is not None and other.name is not None and one.name != other.name:
        return False
    if one.asked is None or other.asked is None or one.asked == other.asked:
        return True
    return one.is_object != other.is_object and (one.call_id is None or other.call_id is None)


def _longest(told: Sequence[Item], rows: Sequence[int], items: Sequence[Item], start: int) -> Iterable[tuple[int, int]]:
    """The longest common subsequence from ``start`` on, as pairs of positions."""
    height, width = len(rows), len(items) - start
    alike = [[same(told[position], items[start + column]) for column in range(width)] for position in rows]
    length = [[0] * (width + 1) for _ in range(height + 1)]
    for row in range(height - 1, -1, -1):
        here, below = length[row], length[row + 1]
        for column in range(width - 1, -1, -1):
            here[column] = 1 + below[column + 1] if alike[row][column] else max(below[column], here[column + 1])
    row = column = 0
    while row < height and column < width:
        if alike[row][column]:
            yield rows[row], start + column
            row, column = row + 1, column + 1
        elif length[row + 1][column] > length[row][column + 1]:
            row += 1
        else:
            column += 1


def _next_match(
    told: Sequence[Item], rows: Sequence[int], items: Sequence[Item], start: int
) -> Iterable[tuple[int, int]]:
    """Each told item with the next one that is the same, within reach."""
    place = start
    for position in rows:
        within = range(place, min(place + REACH, len(items)))
        found = next((each for each in within if same(told[position], items[each])), None)
        if found is not None:
            yield position, found
            place = found + 1
