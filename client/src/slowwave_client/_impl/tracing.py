"""A span around each search, where the OpenTelemetry API is installed; without it or an SDK, nothing is traced.

By the conventions for generative AI (``search_memory``). No text of a task or of a rule is in a span unless
``SLOWWAVE_TRACE_CONTENT`` is set to a true value.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from slowwave_client._impl.models import RuleSet

if TYPE_CHECKING:
    from opentelemetry.trace import Span

try:
    from opentelemetry import trace
except ImportError:
    TRACED = False
else:
    TRACED = True

OPERATION = "search_memory"


class Search:
    """The span of one search, or none, told what came of it."""

    def __init__(self, span: Span | None = None, with_content: bool = False) -> None:
        self._span = span
        self._with_content = with_content

    def came_to(self, answer: RuleSet, cached: bool) -> RuleSet:
        """The answer as it is; ``cached`` if no server was asked for it."""
        span = self._span
        if span is not None and span.is_recording():
            span.set_attribute("gen_ai.memory.record.count", len(answer))
            span.set_attribute("slowwave.withheld.count", len(answer.withheld))
            span.set_attribute("slowwave.epoch", answer.epoch)
            span.set_attribute("slowwave.cached", cached)
            span.set_attribute("slowwave.stale", answer.stale)
            if self._with_content:
                records = [{"id": f"{rule.id}@{rule.version}", "content": rule.when_to_use} for rule in answer]
                span.set_attribute("gen_ai.memory.records", json.dumps(records, ensure_ascii=False))
        return answer


@contextmanager
def searching(namespace: str, session_id: str, agent: str | None, task: str) -> Iterator[Search]:
    """A span around one search. What is raised inside marks it by its type alone: a message may repeat a text."""
    # Asked each time: an SDK may be set up after this client. Without one a hit from the cache stays as cheap as it is.
    if not TRACED or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        yield Search()
        return
    # Not made the current span: a search is a generator, which may be given up, or go on, in another context.
    span = trace.get_tracer("slowwave_client").start_span(OPERATION, kind=trace.SpanKind.CLIENT)
    with_content = False
    if span.is_recording():
        with_content = os.environ.get("SLOWWAVE_TRACE_CONTENT", "").lower() in ("1", "true", "yes", "on", "t", "y")
        span.set_attribute("gen_ai.operation.name", OPERATION)
        span.set_attribute("gen_ai.provider.name", "slowwave")
        span.set_attribute("gen_ai.memory.store.id", namespace)
        span.set_attribute("gen_ai.conversation.id", session_id)
        if agent:
            span.set_attribute("gen_ai.agent.name", agent)
        if with_content:
            span.set_attribute("gen_ai.memory.query.text", task)
    try:
        yield Search(span, with_content)
    except Exception as problem:
        span.set_attribute("error.type", type(problem).__qualname__)
        span.set_status(trace.Status(trace.StatusCode.ERROR))
        raise
    finally:
        span.end()
