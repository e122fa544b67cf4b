"""The spans of this process, kept in memory by the real SDK."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult


class WhileListening(Sampler):
    """Records nothing while nobody listens, so that other tests of this process are as fast as before."""

    def __init__(self, exporter: Kept) -> None:
        self._exporter = exporter

    def should_sample(self, *_: Any, **__: Any) -> SamplingResult:
        """As the SDK calls it."""
        return SamplingResult(Decision.DROP if self._exporter.spans is None else Decision.RECORD_AND_SAMPLE)

    def get_description(self) -> str:
        """As the SDK calls it."""
        return "while listening"


class Kept(SpanExporter):
    """Keeps the spans named ``search_memory`` while it listens; a process may set its provider once only."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] | None = None

    def export(self, spans: object) -> SpanExportResult:
        """As the SDK calls it."""
        if self.spans is not None:
            self.spans += [span for span in spans if span.name == "search_memory"]  # type: ignore[attr-defined]
        return SpanExportResult.SUCCESS


@cache
def _exporter() -> Kept:
    exporter = Kept()
    provider = TracerProvider(sampler=WhileListening(exporter))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@contextmanager
def listening() -> Iterator[list[ReadableSpan]]:
    """The spans that end from here on."""
    exporter = _exporter()
    exporter.spans = found = list[ReadableSpan]()
    try:
        yield found
    finally:
        exporter.spans = None
