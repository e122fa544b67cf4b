"""What changed between two texts, word by word. Pure: texts in, runs of words out.

Myers' greedy algorithm over words (Myers 1986, "An O(ND) difference algorithm and its variations"). The work is
bounded: a hostile pair of texts costs no more than a long honest one, and what is too much is said to be so. Every word
of both texts is kept: the runs that are not ``ins`` give back the old text, those that are not ``del`` the new one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

Kind = Literal["same", "del", "ins"]
State = Literal["same", "changed", "added", "removed"]
Item = TypeVar("Item", str, int)

BUDGET = 400_000
"""Steps that one comparison may take, about a tenth of a second; reworded lines of one list share it."""
LONGEST = 48_000
"""Characters of both texts together, past which nothing is compared word by word."""
ALIKE = 0.34
"""Share of words in common from which two lines are one line that was reworded."""
MOST_PAIRS = 2_500
SHORT_RUN = 3

_CJK = "\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
_MARKS = r"!-/:-@\[-\^`\{-~"
_TOKEN = re.compile(rf"`[^`\n]{{1,120}}`|\s+|[{_CJK}]|[^\s{_MARKS}{_CJK}]+|[{_MARKS}]")


@dataclass(frozen=True)
class Run:
    """Words in a row that stayed, went or came."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Line:
    """One line of either text. ``before`` and ``after`` are its numbers from 1; 0 where it is not in that text."""

    state: State
    before: int
    after: int
    runs: tuple[Run, ...]


def tokens(text: str) -> list[str]:
    """Words, spaces and marks; what stands between backticks is one. Joined, they give the text back."""
    return _TOKEN.findall(text)


def runs_of(before: str, after: str, budget: int = BUDGET) -> tuple[Run, ...]:
    """The runs between two texts. Where comparing would take too long, all of one went and all of the other came."""
    if before == after:
        return _runs([("same", before)])
    found = None
    if len(before) + len(after) <= LONGEST:
        old, new = tokens(before), tokens(after)
        found = _edits(old, new, budget)
    if found is None:
        return _runs([("del", before), ("ins", after)])
    said = [(kind, old[place] if kind != "ins" else new[place]) for kind, place in found]
    return _runs(_without_crumbs(_joined(said)))


def lines_of(before: Sequence[str], after: Sequence[str]) -> tuple[Line, ...]:
    """Lines of two lists in one order: unchanged ones hold their place, reworded ones are compared word by word."""
    numbers: dict[str, int] = {}
    old, new = ([numbers.setdefault(line, len(numbers)) for line in lines] for lines in (before, after))
    found = _edits(old, new)
    if found is None:
        found = [*(("del", place) for place in range(len(old))), *(("ins", place) for place in range(len(new)))]
    made: list[Line] = []
    gone: list[int] = []
    come: list[int] = []
    number = 0
    for kind, place in found:
        number += kind != "del"
        if kind == "del":
            gone.append(place)
        elif kind == "ins":
            come.append(place)
        else:
            made += _between(before, after, gone, come)
            made.append(Line("same", place + 1, number, _runs([("same", before[place])])))
            gone, come = [], []
    made += _between(before, after, gone, come)
    share = BUDGET // max(sum(line.state == "changed" for line in made), 1)
    return tuple(_compared(line, before, after, share) for line in made)


def _compared(line: Line, before: Sequence[str], after: Sequence[str], budget: int) -> Line:
    if line.state != "changed":
        return line
    return replace(line, runs=runs_of(before[line.before - 1], after[line.after - 1], budget))


def words_changed(runs: Sequence[Run]) -> tuple[int, int]:
    """How many words went, and how many came."""
    counted: Counter[str] = Counter()
    for run in runs:
        counted[run.kind] += sum(any(char.isalnum() for char in token) for token in tokens(run.text))
    return counted["del"], counted["ins"]


def _between(before: Sequence[str], after: Sequence[str], gone: Sequence[int], come: Sequence[int]) -> list[Line]:
    """Lines between two that stayed: each that went beside the first alike that came, in the order of both."""
    pairs, start = {}, 0
    if len(gone) * len(come) <= MOST_PAIRS:
        bags = {place: _bag(after[place]) for place in come}
        for place in gone:
            mine = _bag(before[place])
            at = next((n for n in range(start, len(come)) if _alike(mine, bags[come[n]]) >= ALIKE), None)
            if at is not None:
                pairs[place], start = come[at], at + 1
    made, waiting = [], list(come)
    for place in gone:
        if place not in pairs:
            made.append(Line("removed", place + 1, 0, _runs([("del", before[place])])))
            continue
        while waiting[0] != pairs[place]:
            made.append(_added(after, waiting.pop(0)))
        other = waiting.pop(0)
        made.append(Line("changed", place + 1, other + 1, ()))
    return made + [_added(after, place) for place in waiting]


def _added(after: Sequence[str], place: int) -> Line:
    return Line("added", 0, place + 1, _runs([("ins", after[place])]))


def _bag(line: str) -> Counter[str]:
    return Counter(token.casefold() for token in tokens(line[:4000]) if any(char.isalnum() for char in token))


def _alike(one: Counter[str], two: Counter[str]) -> float:
    total = one.total() + two.total()
    return 2 * (one & two).total() / total if total else 0.0


def _edits(old: Sequence[Item], new: Sequence[Item], budget: int = BUDGET) -> list[tuple[Kind, int]] | None:
    """The shortest edit script: each step with a place in ``old``, or in ``new`` where something came.

    None where finding it would take more than ``budget`` steps.
    """
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    inner = _myers(old[head : len(old) - tail], new[head : len(new) - tail], budget)
    if inner is None:
        return None
    start: list[tuple[Kind, int]] = [("same", place) for place in range(head)]
    end: list[tuple[Kind, int]] = [("same", place) for place in range(len(old) - tail, len(old))]
    return start + [(kind, place + head) for kind, place in inner] + end


def _shared(old: Sequence[Item], new: Sequence[Item]) -> int:
    return next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _myers(old: Sequence[Item], new: Sequence[Item], budget: int) -> list[tuple[Kind, int]] | None:
    reached, trace, work = {1: 0}, [], 0
    for cost in range(len(old) + len(new) + 1):
        trace.append(dict(reached))
        work += 2 * cost + 1  # the copy above is part of the work
        for k in range(-cost, cost + 1, 2):
            down = k == -cost or (k != cost and reached[k - 1] < reached[k + 1])
            x = reached[k + 1] if down else reached[k - 1] + 1
            begun = x
            while x < len(old) and x - k < len(new) and old[x] == new[x - k]:
                x += 1
            work += 1 + x - begun
            reached[k] = x
            if x >= len(old) and x - k >= len(new):
                return _walk_back(trace, len(old), len(new))
        if work > budget:
            return None
    return None


def _walk_back(trace: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[Kind, int]]:
    steps: list[tuple[Kind, int]] = []
    for cost in range(len(trace) - 1, -1, -1):
        reached, k = trace[cost], x - y
        down = k == -cost or (k != cost and reached[k - 1] < reached[k + 1])
        before_x = reached[k + 1] if down else reached[k - 1]
        before_y = before_x - (k + 1 if down else k - 1)
        while x > max(before_x, 0) and y > max(before_y, 0):
            x, y = x - 1, y - 1
            steps.append(("same", x))
        if cost:
            steps.append(("ins", before_y) if down else ("del", before_x))
        x, y = before_x, before_y
    return steps[::-1]


def _joined(said: Sequence[tuple[Kind, str]]) -> list[tuple[Kind, str]]:
    """Neighbours of one kind as one; of what changed in one place, what went stands before what came."""
    made: list[tuple[Kind, str]] = []
    waiting: dict[Kind, list[str]] = {"del": [], "ins": []}

    def flush() -> None:
        for kind, held in waiting.items():
            if held:
                made.append((kind, "".join(held)))
                held.clear()

    same: list[str] = []
    for kind, text in said:
        if kind == "same":
            flush()
            same.append(text)
            continue
        if same:
            made.append(("same", "".join(same)))
            same = []
        waiting[kind].append(text)
    flush()
    return made + ([("same", "".join(same))] if same else [])


def _without_crumbs(said: Sequence[tuple[Kind, str]]) -> list[tuple[Kind, str]]:
    """A space, a mark or a word of few letters between two changes is read as part of one change."""
    spread: list[tuple[Kind, str]] = []
    for place, (kind, text) in enumerate(said):
        inside = 0 < place < len(said) - 1 and sum(char.isalnum() for char in text) <= SHORT_RUN
        if kind == "same" and inside:
            spread += [("del", text), ("ins", text)]
        else:
            spread.append((kind, text))
    return _joined(spread)


def _runs(said: Sequence[tuple[Kind, str]]) -> tuple[Run, ...]:
    return tuple(_made(said))


def _made(said: Sequence[tuple[Kind, str]]) -> Iterator[Run]:
    for kind, text in said:
        if text:
            yield Run(kind, text)
