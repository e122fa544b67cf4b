"""Which spans are one conversation, and under which name."""

from __future__ import annotations

from typing import Any

import pytest

from .otel_runs import (
    SAID,
    STORY,
    TRACE,
    USER,
    flat,
    model_span,
    run,
    story,
)


def test_one_conversation_over_several_traces_is_one_episode(read: Any) -> None:
    named = {"gen_ai.conversation.id": "talk-1"}
    later = {"role": "user", "content": "Thanks!"}
    first = run(more=named)
    second = model_span(USER, {"role": "assistant", **SAID}, later, at=9, says={"content": "Ahoy."}, more=named)
    (found,) = read([*first, {**second, "spanContext": {"traceId": "other", "spanId": "x"}}])
    assert story(found) == [*STORY, ("user", "Thanks!"), ("answer", "Ahoy.")]
    assert (found.episode.source_id, found.episode.session_id) == ("talk-1", "talk-1")
    assert found.details["traces"] == 2


@pytest.mark.parametrize(
    "key",
    [
        "gen_ai.conversation.id",
        "session.id",
        "ai.telemetry.metadata.sessionId",
        "langfuse.session.id",
        "gcp.vertex.agent.session_id",
    ],
)
def test_every_vendors_session_is_a_conversation(read: Any, key: str) -> None:
    (found,) = read([model_span(USER, more={key: "s-1"})])
    assert (found.episode.source_id, found.episode.session_id) == ("s-1", "s-1")


def test_a_span_takes_its_conversation_from_the_one_around_it(read: Any) -> None:
    outer = flat("GET /chat", {"session.id": "s-1", "http.request.method": "GET"}, id="outer")
    other = model_span(USER, trace="t2", at=5, more={"session.id": "s-2"})
    found = read([outer, model_span(USER, parentSpanId="outer", id="inner"), other])
    assert [each.episode.source_id for each in found] == ["s-1", "s-2"]


def test_two_traces_without_a_conversation_are_two_episodes(read: Any) -> None:
    found = read([*run(), *run(trace="second")])
    assert [each.episode.source_id for each in found] == [TRACE, "second"]
