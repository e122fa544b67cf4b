import json
from typing import Any

import pytest

from tasks.ingest.importers.base import Rejected

from ..conftest import checks, tau1_run, tau2_file, tau2_run, tau2_task


def test_tau_bench_is_read_with_its_call_observation_and_verdict(read: Any) -> None:
    (found,) = read([tau1_run()], "tau1_model-y_airline.json")
    episode = found.episode
    assert (episode.task, episode.task_key, episode.source_id) == ("Book me a ferry.", "ferry/4", "4/1")
    assert (episode.outcome, episode.outcome_source, episode.reward) == ("failure", "verifier", 0.0)
    assert [step.kind for step in episode.steps] == ["system", "user", "tool_call", "observation", "answer"]
    call, seen = episode.steps[2:4]
    assert (call.name, call.arguments, call.initiated_by) == ("find_ferry", {"port": "Rhin"}, ["2"])
    assert (seen.of, seen.is_error, seen.trust) == (call.id, True, None)
    assert episode.environment == {"ferry": "unknown"}


def test_the_policy_is_a_step_and_no_part_of_the_task(read: Any) -> None:
    (found,) = read([tau1_run()])
    assert "policy" in found.episode.steps[0].text
    assert "policy" not in found.episode.task
    assert found.episode.metadata["instruction"] == "You are Ida. Book a ferry."


def test_a_file_name_only_hints_at_the_agent(read: Any) -> None:
    (hinted,) = read([tau1_run()], "tau1_model-y_airline.json")
    (bare,) = read([tau1_run()], "results.json")
    assert (hinted.episode.agent, hinted.details) == ("model-y", {"agent_from": "file name"})
    assert (bare.episode.agent, bare.details) == ("unknown-agent", {})


def test_two_runs_of_one_name_in_a_file_are_two_runs(read: Any) -> None:
    found = read([tau1_run(), tau1_run(reward=1.0)])
    assert [each.episode.source_id for each in found] == ["4/1", "4/1#2"]


def test_arguments_that_are_not_json_are_kept_as_written(read: Any) -> None:
    run = tau1_run()
    run["traj"][2]["tool_calls"][0]["function"]["arguments"] = '{"port": '
    (found,) = read([run])
    assert (found.episode.steps[2].arguments, found.episode.steps[2].raw_arguments) == (None, '{"port": ')


def test_tau2_is_read_with_users_calls_told_apart(read: Any) -> None:
    (found,) = read(tau2_file(tau2_run()))
    episode = found.episode
    assert (episode.task, episode.task_key) == ("My boat is late.", "ferry/7")
    assert (episode.session_id, episode.source_id) == ("sim-1", "sim-1")
    assert (episode.agent, episode.outcome, episode.time_is_naive) == ("model-x", "success", True)
    calls = [(step.name, step.requestor) for step in episode.steps if step.kind == "tool_call"]
    assert calls == [("look", "user"), ("status", "agent")]
    assert [step.is_error for step in episode.steps if step.kind == "observation"] == [False, True]
    assert "About status." in episode.metadata["instruction"]


def test_credentials_of_the_run_are_never_copied(read: Any) -> None:
    (found,) = read(tau2_file(tau2_run()))
    assert "do-not-copy-me" not in found.episode.model_dump_json() + json.dumps(found.record) + json.dumps(
        found.details
    )


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"reward_info": {"reward": 0.5}}, "failure"),
        ({"reward_info": {"reward": None}}, "unknown"),
        ({"reward_info": None}, "unknown"),
        ({"termination_reason": "infrastructure_error"}, "unknown"),
        ({"termination_reason": "max_steps", "reward_info": {"reward": 0.0}}, "failure"),
    ],
)
def test_an_outcome_needs_a_reward_that_the_agent_earned(read: Any, changes: Any, outcome: str) -> None:
    (found,) = read(tau2_file(tau2_run(**changes)))
    assert found.episode.outcome == outcome


def test_a_run_without_a_task_id_is_placed_by_what_it_was_judged_on(read: Any) -> None:
    run = {key: value for key, value in tau2_run().items() if key in ("id", "reward_info", "messages")}
    (found,) = read(tau2_file(run))
    assert (found.episode.task_key, found.task_key_derived) == ("ferry/7", True)
    twice = [tau2_task("7", "status"), tau2_task("9", "status")]
    (found,) = read(tau2_file(run, tasks=twice))
    assert found.episode.task_key is None


def test_a_recorded_task_id_stands_and_what_speaks_against_it_is_noted(read: Any) -> None:
    (found,) = read(tau2_file(tau2_run(reward_info={"reward": 1.0, "action_checks": checks("refund")})))
    assert (found.episode.task_key, found.task_key_derived) == ("ferry/7", False)
    assert found.details["task_key_doubt"] == "the reward was computed from the criteria of task 8"


def test_one_time_written_into_every_run_is_no_time(read: Any) -> None:
    found = read(tau2_file(tau2_run(), tau2_run(id="sim-2")))
    assert [each.episode.started_at for each in found] == [None, None]
    assert found[0].details["times"] == "left out: the same in every run"


def test_without_a_user_the_ticket_is_the_task(read: Any) -> None:
    run = tau2_run(messages=[{"role": "assistant", "content": "Working."}])
    (found,) = read(tau2_file(run, tasks=[{**tau2_task("7", "status"), "ticket": "The boat is late."}]))
    assert found.episode.task == "The boat is late."


def test_bad_runs_are_rejected_by_place_and_reason_beside_good_ones(read: Any) -> None:
    found = read(tau2_file(tau2_run(messages=None), 5, tau2_run(id="good"), tau2_run(messages=[{"role": "ghost"}])))  # type: ignore[arg-type]
    assert [isinstance(each, Rejected) for each in found] == [True, True, False, True]
    assert found[0].reason == "simulation 1: messages must be a list of messages"
    assert found[1].reason == "simulation 2: a run is a JSON object"
    found = read([tau1_run(traj=[]), tau1_run()])
    assert found[0].reason == "item 1: traj is empty: nothing happened in this run"


def test_a_document_that_breaks_off_keeps_its_whole_runs(read: Any) -> None:
    text = json.dumps([tau1_run(), tau1_run(trial=2)])
    found = read(text[:-30].encode())
    assert found[0].episode.source_id == "4/1"
    assert "breaks here; what came before was kept" in found[-1].reason
    text = json.dumps(tau2_file(tau2_run(), tau2_run(id="sim-2")))
    found = read(text[:-30].encode())
    assert found[0].episode.source_id == "sim-1"
    assert isinstance(found[-1], Rejected)
