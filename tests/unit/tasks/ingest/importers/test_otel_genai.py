"""Traces of GenAI: every shape is read and what cannot be is refused by its place."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.ingest.importers.base import Rejected

from .otel_runs import (
    STORY,
    SYSTEM,
    TRACE,
    as_jaeger,
    as_otlp,
    flat,
    lines,
    model_span,
    run,
    story,
)

# Shapes


@pytest.mark.parametrize("shape", [as_otlp, lambda *spans: as_otlp(*spans, old=True), as_jaeger])
def test_every_export_of_one_trace_is_the_same_conversation(read: Any, shape: Any) -> None:
    (found,) = read(shape(*run()))
    assert story(found) == STORY
    episode = found.episode
    assert (episode.source_id, episode.session_id, episode.model) == (TRACE, None, "model-5")
    assert episode.environment == {"harbour": "3.1"}
    assert (episode.outcome, episode.time_is_naive) == ("unknown", False)
    assert episode.started_at.isoformat() == "2026-05-28T20:26:40+00:00"
    assert episode.ended_at.isoformat() == "2026-05-28T20:26:43+00:00"


def test_a_dump_is_read_as_a_list_as_one_span_and_as_lines(read: Any) -> None:
    assert story(read(run())[0]) == STORY
    assert story(read(run()[2])[0]) == STORY
    assert story(read(lines(*run()))[0]) == STORY


def test_bare_attributes_are_an_episode_without_an_id_or_times(read: Any) -> None:
    (found,) = read(run()[2]["attributes"])
    assert story(found) == STORY
    assert (found.episode.source_id, found.episode.started_at) == (None, None)


def test_bare_attributes_in_two_lines_are_two_episodes(read: Any) -> None:
    assert len(read(lines(run()[2]["attributes"], run()[2]["attributes"]))) == 2


def test_a_python_sdk_dump_is_read_with_its_written_times(read: Any) -> None:
    span = {
        "name": "chat",
        "context": {"trace_id": "0xab", "span_id": "0xcd", "trace_state": "[]"},
        "parent_id": None,
        "start_time": "2026-03-01T10:00:00.000005Z",
        "end_time": "2026-03-01T10:00:01Z",
        "status": {"status_code": "UNSET"},
        "attributes": run()[2]["attributes"],
        "resource": {"attributes": {"service.name": "harbour"}},
    }
    (found,) = read([span])
    assert story(found) == STORY
    assert found.episode.started_at.microsecond == 5
    assert found.episode.environment == {"harbour": "unknown"}


def test_integer_nanoseconds_keep_every_microsecond(read: Any) -> None:
    span = as_otlp(run()[2], old=True)
    span["batches"][0]["instrumentationLibrarySpans"][0]["spans"][0]["startTimeUnixNano"] = 1777555053769345999
    (found,) = read(span)
    assert found.episode.started_at.isoformat() == "2026-04-30T13:17:33.769345+00:00"


@pytest.mark.parametrize(
    "times",
    [
        {"startTime": [1_780_000_000, 5_000], "endTime": [1_780_000_001, 0]},
        {"startTime": 1_780_000_000_000.005, "endTime": 1_780_000_001_000},
        {"startTimeUnixNano": "1780000000000005000", "endTimeUnixNano": 1780000001000000000},
        {"timestamp": 1_780_000_000_000_005, "duration": 999_995},
    ],
)
def test_every_unit_of_time_of_a_dump_is_read(read: Any, times: Any) -> None:
    span = {key: value for key, value in run()[2].items() if not key.endswith("Time")}
    (found,) = read([{**span, **times}])
    assert found.episode.started_at.isoformat().startswith("2026-05-28T20:26:40.00000")
    assert found.episode.ended_at.isoformat() == "2026-05-28T20:26:41+00:00"


def test_spans_of_one_trace_are_joined_over_lines_in_any_order(read: Any) -> None:
    one, two, three = run()
    (found,) = read(lines(as_otlp(three), as_otlp(one), as_otlp(two)))
    assert story(found) == STORY


# What is refused


def test_a_trace_without_genai_is_refused_with_its_number_of_spans(read: Any) -> None:
    noise = [flat("GET", {"http.request.method": "GET"}, at, trace="web") for at in range(3)]
    refused, found = read([*noise, *run()])
    assert refused.reason == "trace web: 3 spans, none of GenAI"
    assert story(found) == STORY


def test_genai_without_content_is_refused_with_a_hint(read: Any) -> None:
    (found,) = read([flat("chat", {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})])
    why = "its one span of GenAI holds no message and no tool call: was the recording of content turned off?"
    assert found.reason == f"trace {TRACE}: {why}"
    (found,) = read(
        [
            flat("embed", {"ai.operationId": "ai.embed", "ai.value": "x"}),
            flat("e", {"ai.operationId": "ai.embed.doEmbed"}),
        ]
    )
    assert found.reason.endswith("its 2 spans of GenAI hold no message and no tool call (embedding: 2)")


def test_a_run_without_a_user_is_refused(read: Any) -> None:
    (found,) = read([model_span(SYSTEM)])
    assert found.reason.endswith("holds no word of a user: the task is unknown")


def test_what_is_no_span_is_refused_by_its_place_beside_good_ones(read: Any) -> None:
    export = as_otlp(*run())
    export["resourceSpans"][0]["scopeSpans"][0]["spans"].insert(1, 7)
    export["resourceSpans"].append({"scopeSpans": "x"})
    *refused, found = read(export)
    assert [each.reason for each in refused] == [
        "resourceSpans[0].scopeSpans[0].spans[1] must be an object",
        "resourceSpans[1].scopeSpans must be a list of objects",
    ]
    assert story(found) == STORY
    *refused, found = read([3, *run(), {"x": 1}, {"resourceLogs": []}])
    assert [each.reason for each in refused] == [
        "[0]: a span is a JSON object",
        "[4] is no export of spans and no span",
        "[5].logs or metrics of OpenTelemetry, not spans: they are not read",
    ]
    assert story(found) == STORY


def test_a_broken_line_is_refused_and_the_rest_is_read(read: Any) -> None:
    refused, found = read(lines(*run()[:2]) + b'{"name": \n' + lines(run()[2]))
    assert (refused.line, found.line) == (3, 1)
    assert story(found) == STORY


@pytest.mark.parametrize("content", [{"resourceSpans": "x"}, {"data": [{"traceID": 1}]}, {"batches": [None]}])
def test_a_broken_export_is_refused_by_its_name(read: Any, content: Any) -> None:
    (found,) = read(content)
    assert isinstance(found, Rejected)
