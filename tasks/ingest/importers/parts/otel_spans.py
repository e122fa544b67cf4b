"""Spans out of the shapes in which they are exported: Jaeger, OTLP (old and new), SDK dumps, bare attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tasks.ingest.importers.base import RecordFault
from tasks.ingest.importers.parts.otel_values import attributes_of, list_of, name_of, nanoseconds, object_of, plain

MICRO, MILLI = 1_000, 1_000_000
OTLP_KEYS = ("resourceSpans", "resource_spans", "batches")
_SCOPE_KEYS = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans")
_BARE = (
    "gen_ai.", "llm.input_messages", "llm.output_messages", "llm.model_name", "ai.operationId", "ai.prompt",
    "openinference.span.kind", "traceloop.", "gcp.vertex.agent.",
)  # fmt: skip
_NO_PARENT = frozenset({"", "0000000000000000", "AAAAAAAAAAA="})


@dataclass(frozen=True)
class Event:
    """Something noted within a span. ``body`` is what older conventions put beside the attributes."""

    name: str
    attributes: dict[str, Any]
    body: Any = None


@dataclass(frozen=True)
class Span:
    """One span, whatever shape it came in. Times are nanoseconds since 1970; ``raw`` is it as it was written."""

    trace_id: str | None
    span_id: str | None
    parent_id: str | None
    name: str
    start: int | None
    end: int | None
    attributes: dict[str, Any]
    events: tuple[Event, ...] = ()
    failed: bool = False
    message: str = ""
    scope: str = ""
    resource: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Exported:
    """A span as it was written, and what stands around it: enough to read it again. ``kind`` is the shape."""

    kind: str
    raw: dict[str, Any]
    resource: Any = None
    scope: Any = None

    def span(self) -> Span:
        return _READERS[self.kind](self)


Found = Exported | RecordFault


def spans_of(value: Any, place: str = "") -> Iterator[Found]:
    """Every span of one JSON value, and a fault for each thing that stands where a span should."""
    if isinstance(value, list):
        if not value:
            yield RecordFault(f"{place or 'the list'} is empty: no span")
        for index, item in enumerate(value):
            yield from spans_of(item, f"{place}[{index}]")
        return
    if not isinstance(value, dict):
        yield RecordFault(f"{place + ': ' if place else ''}a span is a JSON object")
        return
    yield from _spans_in(value, f"{place}." if place else "")


def _spans_in(value: dict[str, Any], place: str) -> Iterator[Found]:
    key = next((key for key in OTLP_KEYS if key in value), None)
    if key is not None:
        yield from _otlp(value[key], f"{place}{key}")
    elif isinstance(value.get("data"), list):
        yield from _jaeger_traces(value["data"], f"{place}data")
    elif "traceID" in value and "spans" in value:
        yield from _jaeger_trace(value, place)
    elif isinstance(value.get("trace"), dict):
        yield from _spans_in(value["trace"], f"{place}trace.")
    elif isinstance(value.get("spans"), list):
        yield from spans_of(value["spans"], f"{place}spans")
    elif is_flat_span(value):
        yield Exported("flat", value)
    elif is_bare(value):
        yield Exported("bare", value)
    elif "resourceLogs" in value or "resourceMetrics" in value:
        yield RecordFault(f"{place}logs or metrics of OpenTelemetry, not spans: they are not read")
    else:
        yield RecordFault(f"{place.rstrip('.') or 'the record'} is no export of spans and no span")


def is_flat_span(value: dict[str, Any]) -> bool:
    """Whether an object is one span of an SDK's dump: its context, a name, and attributes."""
    context = next((value[key] for key in ("spanContext", "context", "_spanContext") if key in value), value)
    known = isinstance(context, dict) and any(key in context for key in ("traceId", "trace_id"))
    return known and "attributes" in value


def is_bare(value: dict[str, Any]) -> bool:
    """Whether an object is the attributes of one span and nothing around them."""
    return any(str(key).startswith(_BARE) for key in value)


def _jaeger_traces(traces: list[Any], place: str) -> Iterator[Found]:
    for index, trace in enumerate(traces):
        if isinstance(trace, dict):
            yield from _jaeger_trace(trace, f"{place}[{index}].")
        else:
            yield RecordFault(f"{place}[{index}] must be a trace: an object with a list of spans")


def _jaeger_trace(trace: dict[str, Any], place: str) -> Iterator[Found]:
    processes = object_of(trace.get("processes"))
    for span in _objects(trace.get("spans"), f"{place}spans"):
        if isinstance(span, RecordFault):
            yield span
        else:
            process = span.get("process") or processes.get(str(span.get("processID")))
            yield Exported("jaeger", {"traceID": trace.get("traceID"), **span}, object_of(process))


def _otlp(batches: Any, place: str) -> Iterator[Found]:
    for at, batch in enumerate(_objects(batches, place)):
        if isinstance(batch, RecordFault):
            yield batch
            continue
        resource = object_of(batch.get("resource")).get("attributes")
        key = next((key for key in _SCOPE_KEYS if key in batch), _SCOPE_KEYS[0])
        for number, scoped in enumerate(_objects(batch.get(key), f"{place}[{at}].{key}")):
            if isinstance(scoped, RecordFault):
                yield scoped
                continue
            scope = object_of(scoped.get("scope") or scoped.get("instrumentationLibrary")).get("name")
            for span in _objects(scoped.get("spans"), f"{place}[{at}].{key}[{number}].spans"):
                yield span if isinstance(span, RecordFault) else Exported("otlp", span, resource, scope)


def _objects(value: Any, place: str) -> Iterator[dict[str, Any] | RecordFault]:
    """The objects of a list; a fault for each item that is none, or for what is no list."""
    if not isinstance(value, list):
        yield RecordFault(f"{place} must be a list of objects")
        return
    for index, item in enumerate(value):
        yield item if isinstance(item, dict) else RecordFault(f"{place}[{index}] must be an object")


def _read_jaeger(found: Exported) -> Span:
    raw, process = found.raw, object_of(found.resource)
    start, lasted = nanoseconds(raw.get("startTime"), MICRO), nanoseconds(raw.get("duration"), MICRO)
    attributes = attributes_of(raw.get("tags"))
    parents = (name_of(object_of(each).get("spanID")) for each in list_of(raw.get("references")))
    logs = (attributes_of(object_of(log).get("fields")) for log in list_of(raw.get("logs")))
    failed = attributes.get("error") in (True, "true") or attributes.get("otel.status_code") == "ERROR"
    return Span(
        trace_id=name_of(raw.get("traceID")),
        span_id=name_of(raw.get("spanID")),
        parent_id=name_of(raw.get("parentSpanID")) or next((parent for parent in parents if parent), None),
        name=name_of(raw.get("operationName")) or "",
        start=start,
        end=start + (lasted or 0) if start is not None else None,
        attributes=attributes,
        events=tuple(Event(name_of(log.get("event") or log.get("name")) or "", log, log.get("body")) for log in logs),
        failed=failed,
        message=_text(attributes.get("otel.status_description")),
        scope=_text(attributes.get("otel.scope.name") or attributes.get("otel.library.name")),
        resource={"service.name": process.get("serviceName"), **attributes_of(process.get("tags"))},
    )


def _read_otlp(found: Exported) -> Span:
    raw = found.raw
    status = object_of(raw.get("status"))
    return Span(
        trace_id=name_of(_any(raw, "traceId", "trace_id")),
        span_id=name_of(_any(raw, "spanId", "span_id")),
        parent_id=_parent(_any(raw, "parentSpanId", "parent_span_id")),
        name=name_of(raw.get("name")) or "",
        start=nanoseconds(_any(raw, "startTimeUnixNano", "start_time_unix_nano"), 1),
        end=nanoseconds(_any(raw, "endTimeUnixNano", "end_time_unix_nano"), 1),
        attributes=attributes_of(raw.get("attributes")),
        events=_events(raw.get("events")),
        failed=_is_error(status.get("code")),
        message=_text(status.get("message")),
        scope=_text(found.scope),
        resource=attributes_of(found.resource),
    )


def _read_flat(found: Exported) -> Span:
    """A span as an SDK writes it: JavaScript counts microseconds under ``timestamp``, milliseconds elsewhere."""
    raw = found.raw
    context = next(
        (raw[key] for key in ("spanContext", "context", "_spanContext") if isinstance(raw.get(key), dict)), raw
    )
    parent = object_of(_any(raw, "parentSpanContext", "parent"))
    status = object_of(raw.get("status"))
    scope = object_of(_any(raw, "instrumentationScope", "instrumentationLibrary", "scope"))
    start = _time(raw, ("startTimeUnixNano", 1), ("startTime", MILLI), ("start_time", MILLI), ("timestamp", MICRO))
    end = _time(raw, ("endTimeUnixNano", 1), ("endTime", MILLI), ("end_time", MILLI))
    if end is None and start is not None:
        lasted = nanoseconds(raw.get("duration"), MICRO)
        end = start + lasted if lasted is not None else None
    return Span(
        trace_id=name_of(_any(context, "traceId", "trace_id")),
        span_id=name_of(_any(context, "spanId", "span_id", "id")),
        parent_id=_parent(_any(raw, "parentSpanId", "parent_id", "parentId") or _any(parent, "spanId", "span_id")),
        name=name_of(raw.get("name")) or "",
        start=start,
        end=end,
        attributes=attributes_of(raw.get("attributes")),
        events=_events(raw.get("events")),
        failed=_is_error(_any(status, "code", "status_code")),
        message=_text(_any(status, "message", "description")),
        scope=_text(scope.get("name")),
        resource=attributes_of(object_of(raw.get("resource")).get("attributes")),
    )


def _read_bare(found: Exported) -> Span:
    return Span(None, None, None, "", None, None, attributes_of(found.raw))


_READERS = {"jaeger": _read_jaeger, "otlp": _read_otlp, "flat": _read_flat, "bare": _read_bare}


def _events(value: Any) -> tuple[Event, ...]:
    found = (each for each in list_of(value) if isinstance(each, dict))
    return tuple(
        Event(name_of(each.get("name")) or "", attributes_of(each.get("attributes")), plain(each.get("body")))
        for each in found
    )


def _time(raw: dict[str, Any], *named: tuple[str, int]) -> int | None:
    """The first time that can be read, of keys each with its unit."""
    found = (nanoseconds(raw.get(key), unit) for key, unit in named)
    return next((time for time in found if time is not None), None)


def _parent(value: Any) -> str | None:
    name = name_of(value)
    return None if name is None or name in _NO_PARENT else name


def _is_error(code: Any) -> bool:
    return (
        code == 2
        if isinstance(code, int)
        else isinstance(code, str) and (code == "2" or code.upper().endswith("ERROR"))
    )


def _any(value: dict[str, Any], *keys: str) -> Any:
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
