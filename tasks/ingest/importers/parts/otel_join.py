"""Spans that come in any order, over many lines, joined by trace and conversation within bounded memory."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tasks.ingest.importers.parts.otel_attributes import conversation_of, kind_of
from tasks.ingest.importers.parts.otel_spans import Exported, Span
from tasks.ingest.jsontext import canonical_bytes

# What is held before the traces that were not added to for longest are given out as they are.
BUDGET = 256 * 2**20
# What a span costs besides its bytes, or where only its place in the tree is kept.
SPAN_COST = 300


@dataclass
class Held:
    """One span of GenAI as bytes, the line it came from, and whether it holds what a database refuses."""

    data: bytes
    line: int | None
    order: int
    dirty: bool


@dataclass
class Trace:
    """What is held of one trace. ``others`` counts its spans that are not of GenAI."""

    trace_id: str | None
    line: int | None
    spans: dict[bytes, Held] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    conversations: dict[str, str] = field(default_factory=dict)
    others: int = 0
    repeated: int = 0
    cost: int = SPAN_COST


class Joiner:
    """Holds traces until nothing can be added to them, or memory runs out."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._budget = budget
        self._cost = 0
        self._order = 0
        self._traces: OrderedDict[str | int, Trace] = OrderedDict()
        self._of_conversation: dict[str, set[str | int]] = defaultdict(set)

    def add(self, found: Exported, line: int | None, dirty: bool) -> None:
        """Take one span. The same span exported twice is one."""
        span = found.span()
        self._order += 1
        key: str | int = self._order if span.trace_id is None else span.trace_id
        trace = self._traces.setdefault(key, Trace(span.trace_id, line))
        self._traces.move_to_end(key)
        before = trace.cost
        self._keep(trace, found, span, line, dirty)
        conversation = conversation_of(span)
        if conversation is not None:
            self._of_conversation[conversation].add(key)
        self._cost += trace.cost - before

    def _keep(self, trace: Trace, found: Exported, span: Span, line: int | None, dirty: bool) -> None:
        conversation = conversation_of(span)
        if span.span_id is not None:
            trace.parents.setdefault(span.span_id, span.parent_id)
            if conversation is not None:
                trace.conversations.setdefault(span.span_id, conversation)
        elif conversation is not None:
            trace.conversations.setdefault("", conversation)
        trace.cost += SPAN_COST
        if kind_of(span) is None:
            trace.others += 1
            return
        raw = {"kind": found.kind, "raw": found.raw, "resource": found.resource, "scope": found.scope}
        data = canonical_bytes(raw)
        if data in trace.spans:
            trace.repeated += 1
            return
        trace.spans[data] = Held(data, line, self._order, dirty)
        trace.cost += len(data)

    def overflow(self) -> Iterator[list[Trace]]:
        """Where memory runs out: groups of traces that belong together, the longest untouched first."""
        if self._cost <= self._budget:
            return
        while self._traces and self._cost > self._budget // 2:
            yield self._take(next(iter(self._traces)))

    def rest(self) -> Iterator[list[Trace]]:
        """Everything held, in groups of traces that belong together, in the order they were last added to."""
        while self._traces:
            yield self._take(next(iter(self._traces)))

    def _take(self, key: str | int) -> list[Trace]:
        """A trace and all that share a conversation with it."""
        waiting, taken = [key], []
        while waiting:
            trace = self._traces.pop(waiting.pop(), None)
            if trace is None:
                continue
            taken.append(trace)
            self._cost -= trace.cost
            for conversation in set(trace.conversations.values()):
                waiting += self._of_conversation.pop(conversation, ())
        return taken
