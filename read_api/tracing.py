"""Spans of OpenTelemetry for what agents ask of the memory, by the conventions for generative AI (``search_memory``).

Only the API is used: who runs the service brings the SDK, and without one there is no span.
No text of a task or of a rule is in a span unless ``SLOWWAVE_TRACE_CONTENT`` asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import orjson
from opentelemetry.trace import (
    INVALID_SPAN,
    ProxyTracerProvider,
    Span,
    SpanKind,
    Status,
    StatusCode,
    get_tracer,
    get_tracer_provider,
)

from read_api.schemas import WithheldOut

TRACER = get_tracer("slowwave.read_api")
OPERATION = "search_memory"


class Found(Protocol):
    """What is served: a version of a rule or an exemplar."""

    id: str
    version: int
    when_to_use: str


class Search:
    """The span of one request, told what came of it."""

    def __init__(self, span: Span, with_content: bool) -> None:
        self._span = span
        self._with_content = with_content

    def came_to(self, epoch: int, found: Sequence[Found], withheld: Sequence[WithheldOut]) -> None:
        """What is served as of ``epoch``, and how much was left out."""
        span = self._span
        if not span.is_recording():
            return
        span.set_attribute("gen_ai.memory.record.count", len(found))
        span.set_attribute("slowwave.withheld.count", len(withheld))
        span.set_attribute("slowwave.epoch", epoch)
        if self._with_content:
            records = [{"id": f"{one.id}@{one.version}", "content": one.when_to_use} for one in found]
            span.set_attribute("gen_ai.memory.records", orjson.dumps(records).decode())


NOTHING = Search(INVALID_SPAN, False)


@contextmanager
def searching(
    kind: str,
    namespace: str,
    session_id: str | None,
    agent: str | None,
    task: str | None,
    *,
    with_content: bool,
) -> Iterator[Search]:
    """A span around one search; ``kind`` is ``rules``, ``exemplars`` or ``startup``, which has no ``task``.

    What is raised inside marks it by its type alone: a message may repeat what was sent.
    """
    if isinstance(get_tracer_provider(), ProxyTracerProvider):
        yield NOTHING
        return
    with TRACER.start_as_current_span(
        OPERATION, kind=SpanKind.INTERNAL, record_exception=False, set_status_on_exception=False
    ) as span:
        if span.is_recording():
            _describe(span, kind, namespace, session_id, agent)
            if with_content and task is not None:
                span.set_attribute("gen_ai.memory.query.text", task)
        try:
            yield Search(span, with_content)
        except Exception as problem:
            span.set_attribute("error.type", type(problem).__qualname__)
            span.set_status(Status(StatusCode.ERROR))
            raise


def _describe(span: Span, kind: str, namespace: str, session_id: str | None, agent: str | None) -> None:
    span.set_attribute("gen_ai.operation.name", OPERATION)
    span.set_attribute("gen_ai.provider.name", "slowwave")
    span.set_attribute("gen_ai.memory.store.id", namespace)
    span.set_attribute("slowwave.search.kind", kind)
    if session_id:
        span.set_attribute("gen_ai.conversation.id", session_id)
    if agent:
        span.set_attribute("gen_ai.agent.name", agent)
