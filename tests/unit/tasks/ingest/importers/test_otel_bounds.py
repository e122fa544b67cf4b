"""Hostile and huge traces: nothing raises, nothing costs more than it may, nothing good is lost."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.ingest.importers.base import Imported, Rejected
from tasks.ingest.importers.otel_genai import IMPORTER
from tasks.ingest.importers.parts import otel_join
from tasks.ingest.source import Source, SourceBroken

from ..conftest import as_source
from .otel_runs import (
    STORY,
    USER,
    as_jaeger,
    as_otlp,
    flat,
    lines,
    model_span,
    run,
    story,
)


def test_a_huge_index_costs_one_item(read: Any) -> None:
    told = {"gen_ai.completion": "Hi", "gen_ai.prompt.name": "greeting", f"gen_ai.prompt.12.content.{'a.' * 5000}b": 1}
    for index, role, text in [("9" * 5000, "user", "Last."), ("999999999", "user", "Ahoy"), ("2", "system", "First.")]:
        told |= {f"gen_ai.prompt.{index}.role": role, f"gen_ai.prompt.{index}.content": text}
    (found,) = read([flat("chat", told)])
    texts = [text for _, text in story(found)]
    assert [texts[0], *texts[2:]] == ["First.", "Ahoy", "Last.", "Hi"]


def test_parents_that_go_in_a_circle_or_are_missing_are_read(read: Any) -> None:
    one, two, three = run()
    one["parentSpanId"], two["parentSpanId"] = two["spanContext"]["spanId"], one["spanContext"]["spanId"]
    three["parentSpanId"] = "nowhere"
    (found,) = read([one, two, three])
    assert sorted(story(found)) == sorted(STORY)


def test_memory_is_bounded_and_a_trace_given_out_early_goes_on_under_a_new_name(monkeypatch: Any) -> None:
    monkeypatch.setattr(otel_join.Joiner.__init__, "__defaults__", (3000,))
    ended = [each for number in range(20) for each in run(trace=f"t{number}")]
    again = model_span(USER, at=50, trace="t0")
    found = list(IMPORTER.read(as_source(lines(*ended, again))))
    names = [each.episode.source_id for each in found if isinstance(each, Imported)]
    assert len(names) == len(set(names)) == 21
    assert names[-1] == "t0#2"


def test_thousands_of_spans_that_repeat_their_history_are_read_in_time(read: Any) -> None:
    said = [{"role": "user" if at % 2 == 0 else "assistant", "content": f"word {at}"} for at in range(400)]
    spans = [
        model_span(*said[max(0, at - 40) : at + 1], at=at, says={"content": said[at + 1]["content"]})
        for at in range(0, 398, 2)
    ]
    noise = [
        flat("GET", {"http.request.method": "GET"}, at, id=f"n{at}", parentSpanId=f"n{at - 1}") for at in range(3000)
    ]
    (found,) = read([*spans, *noise])
    assert [step.text for step in found.episode.steps] == [each["content"] for each in said[:398]]


def test_a_stream_that_breaks_off_gives_what_came_before() -> None:
    class Broken(io.BytesIO):
        def readline(self, *args: Any) -> bytes:
            line = super().readline(*args)
            if not line:
                raise OSError("gone")
            return line

    reading = IMPORTER.read(Source(Broken(lines(*run())), "f", "f", "f"))
    assert story(next(reading)) == STORY
    with pytest.raises(SourceBroken, match="gone"):
        next(reading)


def test_dirty_text_is_made_storable_and_counted(read: Any) -> None:
    span = json.dumps([model_span({"role": "user", "content": "a\x00b\ud800"})]).encode()
    (found,) = read(span)
    assert found.episode.task == "a\u2400b\ufffd"
    assert found.details["cleaned"] == {"nul": 1, "not_utf8": 1}


def test_the_same_trace_has_one_identity_whatever_the_order_of_its_lines(read: Any) -> None:
    (one,), (other,) = read(lines(*run())), read(lines(*reversed(run())))
    assert one.record == other.record
    (longer,) = read(lines(*run(), model_span(USER, at=9)))
    assert longer.record != one.record


KEYS = [
    "gen_ai.prompt",
    "gen_ai.prompt.0",
    "gen_ai.prompt.0.role",
    "gen_ai.prompt.0.content",
    "gen_ai.prompt.1.tool_calls",
    "gen_ai.completion.0.tool_calls.0",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.name",
    "role",
    "gen_ai.tool.call.id",
    "gen_ai.tool.definitions",
    "llm.input_messages",
    "llm.tools",
    "ai.prompt",
    "content",
    "parts",
    "ai.response.toolCalls",
    "gcp.vertex.agent.llm_request",
    "gcp.vertex.agent.tool_response",
    "gen_ai.conversation.id",
    "input.value",
    "openinference.span.kind",
    "gen_ai.evaluation.score.label",
    "type",
    "traceId",
    "spanId",
    "attributes",
    "events",
    "startTime",
    "name",
    "status",
    "spanContext",
    "tool_calls",
    "id",
    "text",
    "function",
    "resource",
    "key",
]
WORDS = [
    "user",
    "tool",
    "assistant",
    "LLM",
    "TOOL",
    "tool_call",
    "text",
    "reasoning",
    "execute_tool",
    '[{"role": "user"}]',
]
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([*WORDS, "\x00", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=10,
)


@st.composite
def mangled(draw: Any, record: Any) -> Any:
    """The record with anything at all at a few random places."""
    held = json.loads(json.dumps(record))
    for _ in range(draw(st.integers(1, 3))):
        place: Any = held
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(place[key], dict | list) and place[key] and draw(st.booleans()):
                place = place[key]
                continue
            place[key] = draw(JUNK)
            break
        if isinstance(place, dict) and draw(st.booleans()):
            place[draw(st.sampled_from(KEYS))] = draw(JUNK)
    return held


@settings(max_examples=300, deadline=None)
@given(mangled(run()), mangled(as_otlp(*run())), mangled(as_jaeger(*run())), mangled(run()[2]["attributes"]), JUNK)
def test_a_bad_record_never_raises_and_never_costs_a_good_one(
    dump: Any, otlp: Any, jaeger: Any, bare: Any, junk: Any
) -> None:
    good = as_otlp(*run(trace="good", more={"gen_ai.conversation.id": "good"}))
    data = lines(good, dump, otlp, jaeger, bare, junk)
    found = list(IMPORTER.read(as_source(data)))
    IMPORTER.sniff(as_source(data).sample())
    assert all(isinstance(each, Imported | Rejected) for each in found)
    assert all(each.reason for each in found if isinstance(each, Rejected))
    whole = [each for each in found if isinstance(each, Imported) and each.episode.source_id == "good"]
    assert [story(each) for each in whole] == [STORY]


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    assert all(isinstance(each, Imported | Rejected) for each in IMPORTER.read(as_source(lines(*run()) + data)))
