"""What became of a conversation, when it happened, and what was left out."""

from __future__ import annotations

from typing import Any

import pytest

from .otel_runs import (
    SECOND,
    START,
    STORY,
    USER,
    event,
    flat,
    model_span,
    run,
    story,
    tool_span,
)


@pytest.mark.parametrize(
    ("labels", "outcome"),
    [
        (["pass"], "success"),
        (["Failed"], "failure"),
        (["pass", "pass"], "success"),
        (["pass", "fail"], "unknown"),
        (["relevant"], "unknown"),
        ([None], "unknown"),
    ],
)
def test_only_an_evaluation_that_says_pass_or_fail_is_an_outcome(read: Any, labels: Any, outcome: str) -> None:
    events = [
        event(
            "gen_ai.evaluation.result",
            **{
                "gen_ai.evaluation.name": f"check-{at}",
                "gen_ai.evaluation.score.label": label,
                "gen_ai.evaluation.score.value": 0.25,
            },
        )
        for at, label in enumerate(labels)
    ]
    (found,) = read([model_span(USER, events=events)])
    episode = found.episode
    assert episode.outcome == outcome
    assert episode.outcome_source == (None if outcome == "unknown" else "verifier")
    assert len(episode.metadata["evaluations"]) == len(labels)
    assert episode.reward == (0.25 if outcome != "unknown" and len(labels) == 1 else None)
    assert ("outcome_from" in found.details) is (outcome != "unknown")


def test_an_evaluation_among_the_attributes_counts(read: Any) -> None:
    (found,) = read([model_span(USER, more={"gen_ai.evaluation.score.label": "pass"})])
    assert (found.episode.outcome, found.episode.reward) == ("success", None)


@pytest.mark.parametrize("status", [{"code": 2}, {"code": "STATUS_CODE_ERROR"}, {"status_code": "ERROR"}])
def test_a_failed_tool_is_an_error_with_its_message(read: Any, status: Any) -> None:
    raised = [event("exception", **{"exception.message": "no such sea"})]
    failed = tool_span(more={"gen_ai.tool.call.result": None}, status=status, events=raised)
    (found,) = read([run()[0], failed])
    assert (found.episode.steps[3].text, found.episode.steps[3].is_error) == ("no such sea", True)
    assert found.episode.outcome == "unknown"


def test_a_failed_model_is_counted_and_its_message_kept(read: Any) -> None:
    (found,) = read([model_span(USER, status={"code": 2, "message": "rate limited"})])
    assert found.episode.metadata["failures"] == ["rate limited"]
    assert found.details["failed_spans"] == {"of models and agents": 1}


def test_times_that_run_backwards_are_noted_and_cost_no_step(read: Any) -> None:
    spans = run()
    spans[0]["endTime"] = [1, 0]
    spans[1]["startTime"] = [START // SECOND + 1, 0]
    spans[1]["parentSpanId"] = spans[2]["spanContext"]["spanId"]
    (found,) = read(spans)
    assert sorted(story(found)) == sorted(STORY)
    assert found.details["clock_backwards"] == {
        "spans that end before they start": 1,
        "spans that start before the one around them": 1,
    }


def test_spans_are_told_by_their_start_and_then_as_recorded(read: Any) -> None:
    assert story(read(list(reversed(run())))[0]) == STORY
    same = [{**span, "startTime": [5, 0], "endTime": [5, 0]} for span in run()]
    assert story(read(same)[0]) == STORY


def test_details_count_what_is_not_kept(read: Any) -> None:
    noise = [
        flat("GET", {"http.request.method": "GET", "gen_ai.conversation.id": "s"}, at, id=f"n{at}") for at in range(9)
    ]
    embedding = flat("embed", {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e"}, 3)
    (found,) = read([*run(), *noise, embedding])
    assert story(found) == STORY
    assert found.details == {"spans": 4, "not_kept": {"embedding spans": 1, "spans not of GenAI": 9}}
