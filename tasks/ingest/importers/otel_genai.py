"""Traces of GenAI as OpenTelemetry records them: Jaeger or OTLP JSON, SDK dumps, bare attributes. See docs/formats.md.

One episode is one conversation where the spans name one, else one trace. Most spans of a trace are of HTTP and the
like: they are counted and left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from tasks.ingest.episode import Episode
from tasks.ingest.explain import explain
from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.otel_attributes import conversation_of, kind_of
from tasks.ingest.importers.parts.otel_conversation import Conversation
from tasks.ingest.importers.parts.otel_join import Held, Joiner, Trace
from tasks.ingest.importers.parts.otel_spans import OTLP_KEYS, Exported, Span, is_bare, is_flat_span, spans_of
from tasks.ingest.importers.parts.reading import Notes
from tasks.ingest.jsontext import canonical_bytes, parse, tidy, tidy_text
from tasks.ingest.source import Sample, Source, SourceBroken

# How many items of a list detection looks at.
LOOKED_AT = 20


@dataclass
class _Group:
    """The spans of one conversation, or of one trace that names none. ``records`` are they as they were written."""

    conversation: str | None
    trace_id: str | None
    line: int | None
    spans: list[tuple[int, Span]] = field(default_factory=list)
    records: list[Any] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    cleaned: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        if self.conversation is not None:
            return f"conversation {self.conversation[:80]}"
        return f"trace {self.trace_id[:80]}" if self.trace_id is not None else "a span without a trace"


class OtelGenai:
    """Conversations with models, and the tools they used, out of traces."""

    name = "otel-genai"
    version = 1
    about = "OpenTelemetry traces of GenAI (Jaeger JSON, OTLP JSON, SDK dumps)"

    def sniff(self, sample: Sample) -> float:
        return max((_confidence(value) for record in sample.records for value in _items(record)), default=0.0)

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        joiner, seen = Joiner(), Counter[str]()
        lines = source.sample().shape == "lines"
        broken: SourceBroken | None = None
        try:
            for record in source.records():
                if record.fault is not None:
                    yield Rejected(record.line, record.fault, record.data)
                    continue
                for found in spans_of(record.value):
                    if isinstance(found, RecordFault):
                        yield Rejected(record.line, str(found), canonical_bytes(record.value) if lines else None)
                    else:
                        joiner.add(found, record.line, record.dirty)
                for traces in joiner.overflow():
                    yield from _episodes(traces, seen, lines)
        except SourceBroken as stopped:
            broken = stopped
        for traces in joiner.rest():
            yield from _episodes(traces, seen, lines)
        if broken is not None:
            raise broken


def _items(record: Any) -> list[Any]:
    return record[:LOOKED_AT] if isinstance(record, list) else [record]


def _confidence(value: Any) -> float:
    if not isinstance(value, dict):
        return 0.0
    batches = next((value[key] for key in OTLP_KEYS if key in value), None)
    if batches is not None:
        return 0.95 if isinstance(batches, list) else 0.4
    data = value.get("data")
    if isinstance(data, list) and any(isinstance(each, dict) and "traceID" in each for each in data[:LOOKED_AT]):
        return 0.95
    if isinstance(value.get("trace"), dict):
        return _confidence(value["trace"])
    if is_flat_span(value) or ("traceID" in value and "spans" in value):
        return 0.95
    if isinstance(value.get("spans"), list):
        return max((_confidence(each) for each in value["spans"][:LOOKED_AT]), default=0.0)
    return 0.95 if is_bare(value) else 0.0


def _episodes(traces: list[Trace], seen: Counter[str], lines: bool) -> Iterator[Imported | Rejected]:
    """The episodes of traces that belong together, by the time they begin."""
    groups: dict[tuple[str, object], _Group] = {}
    for trace in traces:
        if not trace.spans:
            yield Rejected(trace.line, _none_of_genai(trace))
            continue
        _share_out(trace, groups)
    for group in sorted(groups.values(), key=lambda group: min(order for order, _ in group.spans)):
        yield _episode(group, seen, lines)


def _none_of_genai(trace: Trace) -> str:
    name = f"trace {trace.trace_id[:80]}" if trace.trace_id is not None else "a span without a trace"
    return f"{name}: {trace.others} span{'s' if trace.others != 1 else ''}, none of GenAI"


def _share_out(trace: Trace, groups: dict[tuple[str, object], _Group]) -> None:
    """Give each span of a trace to its conversation."""
    named = list(dict.fromkeys(trace.conversations.values()))
    for held in trace.spans.values():
        span, raw, cleaned = _again(held)
        conversation = conversation_of(span) or _inherited(span, trace)
        if conversation is None and named and (len(named) == 1 or kind_of(span) not in ("model", "tool")):
            conversation = named[0]
        key = ("conversation", conversation) if conversation is not None else ("trace", trace.trace_id or held.order)
        group = groups.setdefault(key, _Group(conversation, trace.trace_id, held.line))
        group.spans.append((held.order, span))
        group.records.append(raw)
        group.cleaned.update(cleaned)
        if all(each is not trace for each in group.traces):
            group.traces.append(trace)


def _again(held: Held) -> tuple[Span, Any, dict[str, int]]:
    """A span out of its bytes: what is read of it is tidied, what it is known by is as it was written."""
    raw = parse(held.data).value
    tidied, cleaned = tidy(raw) if held.dirty else (raw, {})
    return Exported(**tidied).span(), raw, cleaned


def _inherited(span: Span, trace: Trace) -> str | None:
    """The conversation of the nearest span around one."""
    parent, seen = span.parent_id, set[str]()
    while parent is not None and parent not in seen:
        if parent in trace.conversations:
            return trace.conversations[parent]
        seen.add(parent)
        parent = trace.parents.get(parent)
    return None


def _episode(group: _Group, seen: Counter[str], lines: bool) -> Imported | Rejected:
    notes = Notes()
    record = sorted(group.records, key=canonical_bytes)
    spans = [span for _, span in sorted(group.spans, key=lambda each: each[0])]
    parents = {trace.trace_id: trace.parents for trace in group.traces if trace.trace_id is not None}
    try:
        fields = Conversation(spans, parents, notes).fields()
        episode = _validated(fields, group, seen)
    except RecordFault as fault:
        return Rejected(group.line, f"{group.name}: {fault}", canonical_bytes(record))
    others, repeated = (sum(getattr(trace, key) for trace in group.traces) for key in ("others", "repeated"))
    notes.facts["spans"] = len(spans)
    notes.facts["traces"] = len(group.traces) if len(group.traces) > 1 else None
    notes.not_kept("spans not of GenAI", others)
    notes.not_kept("spans exported twice", repeated)
    details = {**notes.details(), **({"cleaned": dict(group.cleaned)} if group.cleaned else {})}
    return Imported(episode, record, group.line if lines else None, details=details)


def _validated(fields: dict[str, Any], group: _Group, seen: Counter[str]) -> Episode:
    """The episode under the name its source gives it.

    A name that comes again is a conversation of which a part was given out before the rest was read.
    """
    conversation, trace = (
        None if each is None else tidy_text(each, {}) for each in (group.conversation, group.trace_id)
    )
    name = conversation or trace
    number = f"{name}#{seen[name] + 1}" if name is not None and seen[name] else name
    given = {"id": number, "session_id": conversation}
    try:
        episode = Episode.model_validate(
            {key: child for key, child in {**given, **fields}.items() if child is not None}
        )
    except ValidationError as error:
        raise RecordFault(explain(error)) from None
    if name is not None:
        seen[name] += 1
    return episode


IMPORTER = OtelGenai()
