"""What goes wrong with a model: nothing is lost, nothing is paid for twice, and the run says why."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import col, select

from storage.engine import Database
from storage.queries.runs import run_by_id
from storage.tables import (
    CandidateRevision,
    Episode,
    ModelReply,
    Namespace,
)
from support.model_nights import (
    FARE_FIRST,
    MALFORMED,
    NOW,
    ON_SQLITE,
    SECRET,
    Nights,
    conclusion,
    first_call,
    for_cluster,
    rows,
    run_of,
    said_of,
    six,
    trips,
)
from support.model_server import ModelServer, Reply, answers
from tasks import pipeline
from tasks.context import PipelineSettings
from tasks.draft import step as draft_step
from tasks.draft.model.budget import Drafting
from tasks.draft.model.prompt import LIVELY
from tasks.pipeline import Worker
from worker.models.patience import Patient


@pytest.mark.parametrize("malformed", [f"```json\n{MALFORMED}\n```", '{"draft": null}'])
def test_a_malformed_reply_ends_the_night_partial_and_a_rerun_gives_what_a_clean_run_gives(
    database: Database, empty_copy: Database, bring: Any, at_night: Nights, model_server: ModelServer, malformed: str,
    model: Patient,
) -> None:  # fmt: skip
    taken = bring(six())
    assert taken.accepted == 6
    model_server.says(for_cluster("ticket", malformed, first_call))
    run = at_night()
    assert run.state == "partial"
    (problem,) = run.problems
    assert problem["stage"] == "draft"
    assert "3 replies of openai/m were no answer" in problem["error"]
    kept = [one for one in rows(database, ModelReply) if one.state == "malformed"]
    assert [(one.attempt, one.reply) for one in kept] == [(1, malformed), (2, malformed), (3, malformed)]
    assert len(rows(database, Episode)) == 6
    asked = len(model_server.asked)

    model_server.says(first_call)
    again = at_night()
    assert again.id != run.id
    assert (again.state, again.problems) == ("completed", [])
    # Only the cluster that was left is asked about again, and no reply of the other is paid for twice.
    assert {"ticket" in one.user for one in model_server.asked[asked:]} == {True}
    assert at_night().id == again.id

    bring(six(), database=empty_copy)
    clean = Worker("test", SECRET, clock=lambda: NOW, retry_seconds=0, model=model,
                   settings=PipelineSettings(drafting=Drafting("model")))  # fmt: skip
    run = pipeline.drive(empty_copy, pipeline.open_run(empty_copy, "lab", "2026-11-30", "test", NOW).id, clean)
    assert run.state == "completed"
    assert conclusion(database) == conclusion(empty_copy)


@ON_SQLITE
def test_a_reply_in_prose_and_a_fence_is_read(
    database: Database, bring: Any, at_night: Nights, model_server: ModelServer
) -> None:
    bring(trips())
    wrap = "Certainly! Here is what I found:\n```json\n{}\n```\nShall I go on {with more}?"
    model_server.says(answers(call="get_fare", predicate=FARE_FIRST, wrap=wrap))
    assert at_night().state == "completed"
    assert {one.state for one in rows(database, ModelReply)} == {"accepted"}
    assert rows(database, CandidateRevision)[0].drafter.startswith("drafter:model/")


@ON_SQLITE
@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (Reply(MALFORMED), "no JSON object"),
        (Reply('{"draft"', ended="length"), "cut off at its token limit"),
        (Reply("", refusal="I can't help with that"), "declined"),
        (Reply(None), "the reply is empty"),
    ],
)
def test_a_fault_is_told_to_the_model_without_its_reply_and_a_good_answer_then_counts(
    database: Database, bring: Any, at_night: Nights, model_server: ModelServer, bad: Reply, fault: str
) -> None:
    bring([one for one in six() if "trip" in one["task"]])
    model_server.says(bad, first_call)
    assert at_night(repeat=False).state == "completed"
    states = [(one.attempt, one.state, one.error) for one in rows(database, ModelReply)]
    assert [(attempt, state) for attempt, state, _ in states] == [(1, "malformed"), (2, "accepted")]
    assert fault in str(states[0][2])
    second = model_server.asked[1].user
    assert fault in second
    assert MALFORMED not in second
    assert second.startswith(model_server.asked[0].user)
    first, later = (asked.body for asked in model_server.asked)
    assert (first["temperature"], later["temperature"]) == (0.0, LIVELY)
    assert first["seed"] != later["seed"]


@ON_SQLITE
def test_an_endpoint_that_is_down_is_left_alone_after_two_clusters_and_the_rest_of_the_night_counts(
    database: Database, bring: Any, at_night: Nights, model_server: ModelServer
) -> None:
    bring(trips() + six())
    model_server.says(Reply(status=404))
    run = at_night()
    assert run.state == "partial"
    asked = {one.cluster_id for one in rows(database, ModelReply)}
    assert len(asked) == len(model_server.asked) == 2
    assert len(run.problems) == len(said_of(database, run)) > 2
    assert any("was not asked" in problem["error"] for problem in run.problems)
    assert rows(database, CandidateRevision)[0].drafter == "drafter:statistical/1"


def test_a_night_killed_in_the_middle_pays_for_no_reply_twice(
    database: Database, bring: Any, at_night: Nights, model_server: ModelServer
) -> None:
    bring(six())
    model_server.says(first_call)
    died: list[int] = []

    def steps(stage: str) -> Any:
        def dies_once(*given: Any) -> dict[str, Any]:
            result = draft_step.run(*given)
            if not died:
                died.append(len(model_server.asked))
                raise RuntimeError("killed after the last reply")
            return result

        return dies_once if stage == "draft" else pipeline.step_function(stage)

    run = at_night(steps=steps)
    assert run.state == "completed"
    assert died == [len(model_server.asked)] == [4]
    assert run.stats["stages"]["draft"]["model_calls"] == 4


def test_the_same_prompt_is_not_paid_for_again_another_night(
    database: Database, bring: Any, at_night: Nights, model_server: ModelServer
) -> None:
    bring(six())
    model_server.says(for_cluster("ticket", MALFORMED, first_call))
    at_night()
    model_server.says(first_call)
    asked = len(model_server.asked)
    run = at_night(1)
    assert run.state == "completed"
    assert all("ticket" in one.user for one in model_server.asked[asked:])


@ON_SQLITE
@pytest.mark.parametrize(
    ("budget", "calls", "why"),
    [({"calls": 1}, 1, "1 model calls are used up"), ({"tokens": 100}, 0, "of tonight's 100 model tokens"),
     ({"seconds": 0.0}, 0, "0 seconds of waiting")],
)  # fmt: skip
def test_a_used_up_budget_stops_the_drafting_with_its_reason_and_no_failure(
    database: Database, bring: Any, at_night: Nights, model_server: ModelServer, budget: dict[str, Any], calls: int,
    why: str,
) -> None:  # fmt: skip
    bring(six())
    model_server.says(first_call)
    run = at_night(**budget)
    assert (run.state, run.problems) == ("completed", [])
    assert len(model_server.asked) == calls
    stopped = [told for told in said_of(database, run) if told["state"] == "over-budget"]
    assert len(stopped) == 2 - calls
    assert all(why in told["why"] for told in stopped)


@ON_SQLITE
def test_a_policys_budget_and_drafter_count_more_than_the_settings(
    database: Database, bring: Any, at_night: Nights, model_server: ModelServer
) -> None:
    bring(six())
    with database.write() as session:
        session.get_one(Namespace, "lab").policy = {"model_budget": {"calls": 0}}
    model_server.says(first_call)
    run = at_night()
    assert {told["state"] for told in said_of(database, run)} == {"over-budget"}
    with database.write() as session:
        session.get_one(Namespace, "lab").policy = {"drafter": "statistical"}
    bring([run_of("later", 1, ["pay_booking"], "failure")])
    assert said_of(database, at_night(1)) == []
    assert model_server.asked == []


def test_every_run_of_one_night_shares_its_budget(
    database: Database, bring: Any, at_night: Nights, model_server: ModelServer
) -> None:
    bring([one for one in six() if "trip" in one["task"]])
    model_server.says(first_call)
    first = at_night(calls=2)
    bring([one for one in six() if "ticket" in one["task"]])
    second = at_night(calls=2)
    with database.read() as session:
        assert run_by_id(session, second.id).key == first.key  # type: ignore[union-attr]
        assert second.id != first.id
        spent = session.exec(select(sa.func.count(col(ModelReply.attempt)))).one()
    assert spent == 2
