"""Trajectories of the interchange format: a harbour bot that moors boats."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.mangling import mangle
from tasks.ingest.importers.atif import IMPORTER
from tasks.ingest.importers.base import Imported, Rejected
from tasks.ingest.importers.registry import choose, part_of
from tasks.ingest.reader import open_source

from ..conftest import as_source


def call(number: str = "c1", name: str = "moor") -> dict[str, Any]:
    return {"tool_call_id": number, "function_name": name, "arguments": {"boat": "Ida"}}


def result(content: Any = "moored", **more: Any) -> dict[str, Any]:
    return {"source_call_id": "c1", "content": content, **more}


def steps(**changes: Any) -> list[dict[str, Any]]:
    acts = {"reasoning_content": "It drifts.", "tool_calls": [call()], "observation": {"results": [result()]}}
    return [
        {"step_id": 1, "source": "system", "message": "You keep a harbour."},
        {"step_id": 2, "source": "user", "message": "Moor the Ida.", "timestamp": "2026-05-01T10:00:00Z"},
        {
            "step_id": 3,
            "source": "agent",
            "message": "Mooring.",
            "timestamp": "2026-05-01T10:00:05Z",
            **acts,
            **changes,
        },
        {"step_id": 4, "source": "agent", "message": "She lies fast.", "timestamp": "2026-05-01T10:00:09Z"},
    ]


def trajectory(**changes: Any) -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": "moor", "parameters": {}}}]
    agent = {"name": "harbour-bot", "version": "2.1", "model_name": "model-x", "tool_definitions": tools}
    return {"schema_version": "ATIF-v1.6", "session_id": "s-1", "agent": agent, "steps": steps(), **changes}


def sub(name: str = "diver", **changes: Any) -> dict[str, Any]:
    told = [
        {"step_id": 1, "source": "user", "message": "Look at the keel."},
        {"step_id": 2, "source": "agent", "message": "It is sound."},
    ]
    agent = {"name": name, "version": "1"}
    return {"schema_version": "ATIF-v1.7", "trajectory_id": name, "agent": agent, "steps": told, **changes}


def calling(*references: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A trajectory whose call was answered by sub-agents."""
    answered = {"results": [result(subagent_trajectory_ref=list(references))]}
    return trajectory(**{"schema_version": "ATIF-v1.7", "steps": steps(observation=answered), **changes})


def only(found: list[Imported | Rejected]) -> Any:
    assert len(found) == 1
    return found[0]


def write(folder: Path, **files: Any) -> None:
    """Files by name; ``/`` is written ``__`` and ``.`` is written ``_``: a verifier's text file is ``reward_txt``."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))


def read_file(path: Path) -> list[Imported | Rejected]:
    with open_source(path) as source:
        return list(choose(source).read(source))


def owner(path: Path) -> str | None:
    with open_source(path) as source:
        return part_of(source)


def trial(**changes: Any) -> dict[str, Any]:
    told = {"task_name": "moor-ida", "trial_name": "moor-ida__x1", "verifier_result": {"rewards": {"reward": 1.0}}}
    return {**told, "exception_info": None, "started_at": "2026-05-01T12:00:00", **changes}


def test_a_trajectory_is_read_with_its_thought_call_observation_and_answer(read: Any) -> None:
    found = only(read(trajectory()))
    episode = found.episode
    assert (episode.task, episode.session_id, episode.source_id) == ("Moor the Ida.", "s-1", "s-1")
    assert (episode.agent, episode.agent_version, episode.model) == ("harbour-bot", "2.1", "model-x")
    assert [step.kind for step in episode.steps] == [
        "system", "user", "plan", "plan", "tool_call", "observation", "answer"
    ]  # fmt: skip
    made, seen = episode.steps[4:6]
    assert (made.name, made.arguments, made.initiated_by) == ("moor", {"boat": "Ida"}, ["2"])
    assert (seen.of, seen.text, seen.trust) == (made.id, "moored", None)
    assert episode.tools_offered == ["moor"]
    assert episode.started_at.isoformat() == "2026-05-01T10:00:00+00:00"
    assert episode.ended_at.isoformat() == "2026-05-01T10:00:09+00:00"
    assert found.details == {}


@pytest.mark.parametrize("minor", range(2, 8))
def test_every_version_from_1_2_to_1_7_is_taken_without_a_note(read: Any, minor: int) -> None:
    assert only(read(trajectory(schema_version=f"ATIF-v1.{minor}"))).details == {}


@pytest.mark.parametrize("version", ["ATIF-v1.8", "ATIF-v2.0", "ATIF-v1.0"])
def test_another_version_is_read_and_noted(read: Any, version: str) -> None:
    assert version in only(read(trajectory(schema_version=version))).details["version_note"]


def test_there_is_no_outcome_inside(read: Any) -> None:
    assert only(read(trajectory())).episode.outcome == "unknown"


def test_a_trajectory_that_the_package_refuses_is_read_with_the_fault_noted(read: Any) -> None:
    found = only(read(trajectory(mood="good", agent={"name": "bot"})))
    assert len(found.episode.steps) == 7
    assert "agent.version is missing" in found.details["format_faults"]
    assert "mood is not a field of the format" in found.details["format_faults"]


def test_a_fault_never_quotes_a_value(read: Any) -> None:
    bad = steps(timestamp="hunter2", observation={"results": [result(source_call_id="hunter2")]})
    found = only(read(trajectory(steps=bad, schema_version="hunter2")))
    assert "steps[2].timestamp must be a time" in found.details["format_faults"]
    assert "hunter2" not in json.dumps(found.details)
    assert found.details["times_not_read"] == {"not a time": 1}


@pytest.mark.parametrize("wrong", [None, [], {}, "x", [1, "a"]])
def test_without_steps_it_is_rejected_with_the_packages_reason(read: Any, wrong: Any) -> None:
    refused = only(read(trajectory(steps=wrong)))
    assert isinstance(refused, Rejected)
    assert "steps" in refused.reason


def test_without_a_word_of_the_user_the_task_is_unknown(read: Any) -> None:
    assert "task is unknown" in only(read(trajectory(steps=steps()[2:]))).reason


def test_copied_context_is_marked_and_still_names_the_task(read: Any) -> None:
    copied = [{**step, "is_copied_context": True} for step in steps()[:2]]
    episode = only(read(trajectory(steps=[*copied, *steps()[2:]]))).episode
    assert episode.task == "Moor the Ida."
    assert [step.is_copied_context for step in episode.steps] == [True, True] + [False] * 5


def test_a_sidechain_is_named_and_its_prompt_is_not_the_task(read: Any) -> None:
    aside = {"step_id": 1, "source": "user", "message": "Look aside.", "extra": {"is_sidechain": True}}
    episode = only(read(trajectory(steps=[aside, *steps()[1:]]))).episode
    assert episode.task == "Moor the Ida."
    assert [step.agent for step in episode.steps][:2] == ["sidechain", None]


def test_results_without_call_ids_answer_the_calls_of_their_step_in_order(read: Any) -> None:
    answered = {"results": [{"content": "first"}, {"content": "second"}]}
    two = steps(tool_calls=[call("a", "moor"), call("b", "fend")], observation=answered)
    kinds = only(read(trajectory(steps=two))).episode.steps
    names = {step.id: step.name for step in kinds if step.kind == "tool_call"}
    assert [(names[step.of], step.text) for step in kinds if step.kind == "observation"] == [
        ("moor", "first"), ("fend", "second")
    ]  # fmt: skip


def test_the_same_call_id_in_every_step_ties_each_result_to_its_own(read: Any) -> None:
    again = {**steps()[2], "step_id": 4}
    found = only(read(trajectory(steps=[*steps()[:3], again]))).episode.steps
    calls = [step.id for step in found if step.kind == "tool_call"]
    assert [step.of for step in found if step.kind == "observation"] == calls


def test_steps_out_of_time_keep_their_order_and_are_noted(read: Any) -> None:
    found = only(read(trajectory(steps=steps(timestamp="2026-05-01T09:00:00Z"))))
    assert found.details["clock"] == "some steps are earlier than the one before"
    assert [step.text for step in found.episode.steps][-1] == "She lies fast."
    assert found.episode.started_at.isoformat() == "2026-05-01T09:00:00+00:00"


def test_steps_are_put_in_the_order_of_their_ids(read: Any) -> None:
    found = only(read(trajectory(steps=steps()[::-1])))
    assert found.episode.steps[0].kind == "system"
    assert "step_id" in found.details["order"]


def test_images_leave_a_mark_and_are_counted(read: Any) -> None:
    picture = {"type": "image", "source": {"media_type": "image/png", "path": "images/keel.png"}}
    found = only(read(trajectory(steps=steps(message=[{"type": "text", "text": "See"}, picture]))))
    assert found.episode.steps[3].text == "See\n[image images/keel.png]"
    assert found.details["media_left_out"] == {"image": 1}


def test_a_recorded_exit_code_of_a_result_is_kept(read: Any) -> None:
    answered = {"results": [result(extra={"exit_code": 2, "is_error": True})]}
    seen = only(read(trajectory(schema_version="ATIF-v1.7", steps=steps(observation=answered)))).episode.steps[5]
    assert (seen.exit_code, seen.is_error) == (2, True)


def test_an_embedded_sub_agent_stands_after_the_observation_that_refers_to_it(read: Any) -> None:
    found = only(read(calling({"trajectory_id": "diver"}, subagent_trajectories=[sub()])))
    told = [(step.kind, step.agent) for step in found.episode.steps]
    assert told[5:8] == [("observation", None), ("user", "diver"), ("answer", "diver")]
    assert found.episode.task == "Moor the Ida."
    assert "format_faults" not in found.details


def test_a_sub_agents_prompt_starts_no_call_of_the_main_one(read: Any) -> None:
    again = {**steps()[2], "step_id": 4}
    run = calling({"trajectory_id": "diver"}, subagent_trajectories=[sub()])
    run["steps"][3:] = [again]
    found = only(read(run)).episode.steps
    assert [step.initiated_by for step in found if step.kind == "tool_call"] == [["2"], ["2"]]


def test_a_sub_agent_that_nothing_refers_to_is_joined_at_the_end_and_noted(read: Any) -> None:
    found = only(read(trajectory(schema_version="ATIF-v1.7", subagent_trajectories=[sub()])))
    assert found.episode.steps[-1].agent == "diver"
    assert found.details["subagents"] == {"joined at the end: nothing refers to it": 1}


def test_a_missing_sub_agent_is_noted(read: Any) -> None:
    found = only(read(calling({"trajectory_path": "gone.json"}, {"trajectory_id": "who"})))
    assert sum(found.details["subagents"].values()) == 2
    assert all(key.startswith("missing") for key in found.details["subagents"])


def test_sub_agents_that_refer_to_themselves_end(read: Any) -> None:
    answered = {"results": [result(subagent_trajectory_ref=[{"trajectory_id": "diver"}])]}
    inner = sub(steps=steps(observation=answered))
    inner["subagent_trajectories"] = [sub()]
    found = only(read(calling({"trajectory_id": "diver"}, subagent_trajectories=[inner])))
    assert isinstance(found, Imported)


def test_a_sub_agents_file_is_joined_into_its_parent_and_is_no_episode_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, main_json=calling({"trajectory_path": "subs/diver.json"}), subs__diver_json=sub())
    found = only(read_file(tmp_path / "main.json"))
    assert [step.agent for step in found.episode.steps][6:8] == ["diver", "diver"]
    assert found.record["subagents"] == {"subs/diver.json": sub()}
    assert (owner(tmp_path / "subs/diver.json"), owner(tmp_path / "main.json")) == ("../main.json", None)


def test_a_path_in_a_container_is_looked_for_beside(tmp_path: Path) -> None:
    write(tmp_path, main_json=calling({"trajectory_path": "/logs/agent/diver.json"}), diver_json=sub())
    assert only(read_file(tmp_path / "main.json")).episode.steps[6].agent == "diver"
    assert owner(tmp_path / "diver.json") == "main.json"


def test_files_that_refer_to_each_other_are_one_episode_and_none_is_lost(tmp_path: Path) -> None:
    write(tmp_path, a_json=calling({"trajectory_path": "b.json"}), b_json=calling({"trajectory_path": "a.json"}))
    assert [owner(tmp_path / name) for name in ("a.json", "b.json")] == [None, "a.json"]
    assert "refers back" in next(iter(only(read_file(tmp_path / "a.json")).details["subagents"]))


@pytest.mark.parametrize("layout", ["trial", "one folder"])
def test_the_outcome_is_the_verifiers_and_says_which_file_it_stands_in(tmp_path: Path, layout: str) -> None:
    at = "agent/" if layout == "trial" else ""
    write(tmp_path, **{f"{at}trajectory_json": trajectory(), "result_json": trial()})
    found = only(read_file(tmp_path / at / "trajectory.json"))
    assert (found.episode.outcome, found.episode.outcome_source, found.episode.reward) == ("success", "verifier", 1.0)
    assert found.details["outcome_from"].endswith("result.json")
    assert found.episode.task_key == "moor-ida"
    assert owner(tmp_path / "result.json") == f"{at}trajectory.json"


@pytest.mark.parametrize(
    ("reward", "outcome"), [(1, "success"), (0, "failure"), (-1.0, "failure"), (0.4, "partial"), (None, "unknown")]
)
def test_a_reward_in_between_is_a_partial_success(tmp_path: Path, reward: Any, outcome: str) -> None:
    told = trial(verifier_result={"rewards": {"reward": reward}})
    write(tmp_path, agent__trajectory_json=trajectory(), result_json=told)
    episode = only(read_file(tmp_path / "agent/trajectory.json")).episode
    assert (episode.outcome, episode.reward) == (outcome, None if reward is None else float(reward))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("verifier__reward_txt", "1.0\n"),
        ("verifier__reward_json", {"reward": 1}),
        ("verifier__reward_json", 1),
        ("agent__reward_txt", "1"),
    ],
)
def test_a_verifiers_file_gives_the_reward_where_there_is_no_result(tmp_path: Path, name: str, content: Any) -> None:
    write(tmp_path, agent__trajectory_json=trajectory(), **{name: content})
    found = only(read_file(tmp_path / "agent/trajectory.json"))
    assert found.episode.outcome == "success"
    assert found.details["outcome_from"].endswith((".txt", ".json"))
    assert owner(tmp_path / name.replace("__", "/").replace("_", ".")) is not None


def test_an_agents_timeout_is_no_verdict(tmp_path: Path) -> None:
    failed = {"exception_type": "AgentTimeoutError", "exception_message": "hunter2"}
    told = trial(verifier_result=None, exception_info=failed)
    write(tmp_path, agent__trajectory_json=trajectory(), result_json=told)
    found = only(read_file(tmp_path / "agent/trajectory.json"))
    assert found.episode.outcome == "unknown"
    assert found.details["exception"] == "AgentTimeoutError"
    assert "no verdict" in found.details["outcome_note"]
    assert "hunter2" not in json.dumps([found.details, found.record])


def test_a_result_that_comes_later_is_another_record_of_the_same_id(tmp_path: Path) -> None:
    write(tmp_path, agent__trajectory_json=trajectory(session_id=None))
    before = only(read_file(tmp_path / "agent/trajectory.json"))
    write(tmp_path, result_json=trial())
    after = only(read_file(tmp_path / "agent/trajectory.json"))
    assert before.episode.source_id == after.episode.source_id is not None
    assert before.record != after.record
    assert before.record == trajectory(session_id=None)


def test_the_trials_local_times_serve_only_where_steps_have_none(tmp_path: Path) -> None:
    bare = [{key: child for key, child in step.items() if key != "timestamp"} for step in steps()]
    write(tmp_path, agent__trajectory_json=trajectory(steps=bare), result_json=trial())
    episode = only(read_file(tmp_path / "agent/trajectory.json")).episode
    assert (episode.time_is_naive, episode.started_at.hour) == (True, 12)
    write(tmp_path, agent__trajectory_json=trajectory())
    assert not only(read_file(tmp_path / "agent/trajectory.json")).episode.time_is_naive


def test_a_jobs_result_is_no_trials(tmp_path: Path) -> None:
    write(tmp_path, trajectory_json=trajectory(), result_json={"n_total_trials": 3, "stats": {}})
    assert only(read_file(tmp_path / "trajectory.json")).episode.outcome == "unknown"
    assert owner(tmp_path / "result.json") is None


def test_a_result_above_any_other_folder_is_of_something_else(tmp_path: Path) -> None:
    write(tmp_path, runs__trajectory_json=trajectory(), result_json=trial())
    assert only(read_file(tmp_path / "runs/trajectory.json")).episode.outcome == "unknown"
    assert owner(tmp_path / "result.json") is None


def test_one_result_beside_several_runs_is_nobodys(tmp_path: Path) -> None:
    write(tmp_path, a_json=trajectory(), b_json=trajectory(session_id="s-2"), result_json=trial())
    found = only(read_file(tmp_path / "a.json"))
    assert found.episode.outcome == "unknown"
    assert "several runs" in found.details["outcome_note"]
    assert owner(tmp_path / "result.json") is None


def test_of_a_run_in_parts_the_last_one_has_the_verdict(tmp_path: Path) -> None:
    first = trajectory(continued_trajectory_ref="trajectory.cont-1.json")
    write(tmp_path, agent__trajectory_json=first, result_json=trial())
    (tmp_path / "agent/trajectory.cont-1.json").write_text(json.dumps(trajectory()))
    found = only(read_file(tmp_path / "agent/trajectory.json"))
    assert (found.episode.outcome, found.episode.task_key) == ("unknown", "moor-ida")
    assert found.details["continued"]
    assert only(read_file(tmp_path / "agent/trajectory.cont-1.json")).episode.outcome == "success"


def test_trajectories_one_a_line_are_read_and_a_bad_line_is_named(read: Any) -> None:
    data = b"\n".join(json.dumps(each).encode() for each in (trajectory(), trajectory(steps=[]), trajectory()))
    found = read(data + b"\n{oops\n")
    assert [type(each).__name__ for each in found] == ["Imported", "Rejected", "Imported", "Rejected"]
    assert [found[1].line, found[3].line] == [2, 4]
    assert [found[0].episode.source_id, found[2].episode.source_id] == ["s-1", "s-1#2"]


def test_a_file_that_breaks_off_says_so(read: Any) -> None:
    found = read(json.dumps(trajectory(), indent=1).encode()[:-140])
    assert [type(each).__name__ for each in found] == ["Imported", "Rejected"]
    assert "breaks at line" in found[0].details["broken_off"]


def test_other_files_are_nobodys_part(tmp_path: Path) -> None:
    write(tmp_path, agent__trajectory_json=trajectory(), config_json={"a": 1}, verifier__reward_json=["x"])
    assert [owner(tmp_path / name) for name in ("config.json", "verifier/reward.json")] == [None, None]


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_a_mangled_trajectory_never_raises_and_never_costs_the_good_one_beside_it(rng: Random, times: int) -> None:
    run = calling({"trajectory_id": "diver"}, {"trajectory_path": "x.json"}, subagent_trajectories=[sub()])
    lines = [json.dumps(each).encode() for each in (mangle(run, rng.randrange, times), trajectory(session_id="good"))]
    found = list(IMPORTER.read(as_source(b"\n".join(lines) + b"\n")))
    good = [each for each in found if isinstance(each, Imported) and each.episode.session_id == "good"]
    assert len(good) == 1
    assert len(found) >= 2
