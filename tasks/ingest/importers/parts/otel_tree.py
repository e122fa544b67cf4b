"""How the spans of a conversation hang together: what is around what, whose agent works, what tells of the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tasks.ingest.importers.parts.otel_attributes import agent_of, response_id
from tasks.ingest.importers.parts.otel_spans import Span

# Ancestors are looked up no further than this; a longer chain is broken, which costs a merge and no message.
MOST_LEVELS = 256
# Spans that record one call are no more than this; what more of them there are is no double recording.
MOST_TWINS = 16

Parents = Mapping[str, Mapping[str, str | None]]


class Tree:
    """Spans by number. ``parents`` holds the parent of every span of their traces, also of those that are not here."""

    def __init__(self, spans: Sequence[Span], parents: Parents) -> None:
        self._spans = spans
        self._parents = parents
        self._numbers: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, span in enumerate(spans):
            if span.trace_id is not None and span.span_id is not None:
                self._numbers[span.trace_id, span.span_id].append(number)
        self._around = [self._ancestors(span) for span in spans]
        self._kin: list[set[int]] = [set(outer) for outer in self._around]
        for number, outer in enumerate(self._around):
            for each in outer:
                self._kin[each].add(number)
        for twins in self._twins():
            for each in twins:
                self._kin[each] |= twins

    def around(self, number: int) -> list[int]:
        """The spans around one, from the nearest."""
        return self._around[number]

    def kin(self, number: int) -> frozenset[int]:
        """The other spans that tell of a span's operation: those around and within it, and its other recordings."""
        return frozenset(self._kin[number] - {number})

    def agent(self, number: int) -> str | None:
        """The agent at work in a span: its own, or that of the nearest span around it."""
        names = (agent_of(self._spans[each]) for each in (number, *self._around[number]))
        return next((name for name in names if name is not None), None)

    def _ancestors(self, span: Span) -> list[int]:
        found: list[int] = []
        if span.trace_id is None:
            return found
        parents = self._parents.get(span.trace_id, {})
        seen = {span.span_id}
        parent = span.parent_id
        for _ in range(MOST_LEVELS):
            if parent is None or parent in seen:
                break
            seen.add(parent)
            found += self._numbers.get((span.trace_id, parent), ())
            parent = parents.get(parent)
        return found

    def _twins(self) -> Iterator[set[int]]:
        """Spans that record one call: of one id, of one answer, or next to each other by two libraries."""
        answers: dict[str, set[int]] = defaultdict(set)
        siblings: dict[tuple[str | None, str], list[int]] = defaultdict(list)
        for number, span in enumerate(self._spans):
            if (answer := response_id(span)) is not None:
                answers[answer].add(number)
            if span.parent_id is not None and span.scope and span.start is not None and span.end is not None:
                siblings[span.trace_id, span.parent_id].append(number)
        yield from (set(numbers) for numbers in self._numbers.values() if 1 < len(numbers) <= MOST_TWINS)
        yield from (numbers for numbers in answers.values() if 1 < len(numbers) <= MOST_TWINS)
        for numbers in siblings.values():
            yield from self._side_by_side(sorted(numbers, key=lambda number: self._spans[number].start or 0))

    def _side_by_side(self, numbers: list[int]) -> Iterator[set[int]]:
        """Of the spans under one, by their start: pairs by two libraries, one within the other's time."""
        for place, one in enumerate(numbers):
            mine = self._spans[one]
            for other in numbers[place + 1 : place + 1 + MOST_TWINS]:
                yours = self._spans[other]
                if (yours.start or 0) > (mine.end or 0):
                    break
                within = (yours.end or 0) <= (mine.end or 0) or yours.start == mine.start
                if within and mine.scope != yours.scope:
                    yield {one, other}
