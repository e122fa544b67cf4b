import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.mangling import mangle
from tasks.ingest.importers.base import Imported, Rejected
from tasks.ingest.importers.who_when import IMPORTER

from ..conftest import as_source

CODE = "I compute it.\n\n```python\nprint(6)\n```\nPlease run it."
RAN = "exitcode: 0 (execution succeeded)\nCode output: 6\n"
IDLE = "There is no code from the last 1 message for me to execute."


def said(name: str, content: Any, role: str = "user") -> dict[str, Any]:
    return {"name": name, "role": role, "content": content}


def made(*history: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A run of the algorithm-generated half."""
    talk = history or (
        said("Tide_Expert", "You are given a task.", "assistant"),
        said("Code_Expert", CODE),
        said("Computer_terminal", RAN),
        said("Checker", "It is six."),
    )
    blame = {"mistake_agent": "Code_Expert", "mistake_step": "1", "mistake_reason": "It guessed the port."}
    told = {"question": "When is the tide?", "question_ID": "q-1", "level": "2", "ground_truth": "half past seven"}
    return {**told, "is_correct": False, **blame, "history": list(talk), **changes}


def crafted(*history: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A run of the hand-crafted half."""
    talk = history or (
        {"role": "human", "content": "When is the tide?"},
        {"role": "Orchestrator (thought)", "content": "Initial plan: look it up."},
        {"role": "Orchestrator (-> WebSurfer)", "content": "Look at the board."},
        {"role": "Orchestrator (thought)", "content": "Next speaker WebSurfer"},
        {"role": "WebSurfer", "content": "I saw: send me your till."},
        {"role": "Orchestrator (termination condition)", "content": "No agent selected.\nFINAL ANSWER: six"},
    )
    value = made(*talk, mistake_agent="WebSurfer", mistake_step="4", is_corrected=False, **changes)
    del value["is_correct"]
    return value


def kinds(found: Imported) -> list[str]:
    return [step.kind for step in found.episode.steps]


def test_a_run_is_read_with_who_said_each_step(read: Any) -> None:
    (found,) = read(made(system_prompt={"Checker": "You check."}))
    episode = found.episode
    assert (episode.task, episode.task_key, episode.source_id) == ("When is the tide?", "q-1", "q-1")
    assert kinds(found) == ["system", "user", "plan", "plan", "tool_call", "observation", "answer"]
    agents = [step.agent for step in episode.steps]
    assert agents == ["Checker", None, "Tide_Expert", "Code_Expert", "Code_Expert", "Computer_terminal", "Checker"]
    assert episode.metadata["agents"] == ["Tide_Expert", "Code_Expert", "Checker"]


def test_code_that_the_terminal_ran_is_a_call_with_its_exit_code(read: Any) -> None:
    failed = RAN.replace("0 (execution succeeded)", "1 (execution failed)")
    for told, code in ((RAN, 0), (failed, 1), (failed.replace("1 ", "127 "), 127)):
        (found,) = read(made(said("A", CODE), said("Computer_terminal", told)))
        call, seen = found.episode.steps[-2:]
        assert (call.name, call.arguments, call.agent) == (
            "run_code",
            {"language": "python", "code": "print(6)\n"},
            "A",
        )
        assert (seen.of, seen.exit_code, seen.is_error) == (call.id, code, code != 0)


def test_several_blocks_are_one_call(read: Any) -> None:
    (found,) = read(made(said("A", f"{CODE}\n```sh\nls\n```"), said("Computer_terminal", RAN)))
    blocks = [{"language": "python", "code": "print(6)\n"}, {"language": "sh", "code": "ls\n"}]
    assert found.episode.steps[-2].arguments == {"blocks": blocks}


def test_a_block_that_is_not_closed_is_no_code(read: Any) -> None:
    (found,) = read(made(said("A", CODE + "\n```python\nprint("), said("Computer_terminal", RAN)))
    assert found.episode.steps[-2].arguments == {"language": "python", "code": "print(6)\n"}


@pytest.mark.parametrize("text", ["```x\n" * 100_000, " " * 300_000 + "```", "exitcode: " * 50_000, "(-> " * 50_000])
def test_text_made_to_be_slow_is_read_at_once(read: Any, text: str) -> None:
    (found,) = read(made(said("A", text), said("Computer_terminal", RAN), {"role": text, "content": text}))
    assert found.episode.steps[1].text == text


def test_code_that_nobody_ran_is_no_call(read: Any) -> None:
    for next_one in (said("B", "No."), said("Computer_terminal", IDLE)):
        (found,) = read(made(said("A", CODE), next_one))
        assert "tool_call" not in kinds(found)
    assert (found.episode.steps[-1].kind, found.episode.steps[-1].exit_code) == ("observation", None)


def test_an_exit_code_is_read_from_what_the_harness_wrote_and_never_from_prose(read: Any) -> None:
    (found,) = read(made(said("A", CODE), said("Computer_terminal", f"Note: {RAN}"), said("B", RAN)))
    assert [step.exit_code for step in found.episode.steps] == [None] * len(found.episode.steps)


def test_the_hand_crafted_half_names_its_speakers_in_the_role(read: Any) -> None:
    (found,) = read(crafted())
    steps = found.episode.steps
    assert kinds(found) == ["user", "plan", "tool_call", "plan", "observation", "answer"]
    assert [step.agent for step in steps] == [None, *["Orchestrator"] * 3, "WebSurfer", "Orchestrator"]
    assert (steps[2].name, steps[2].arguments) == ("WebSurfer", {"instruction": "Look at the board."})
    assert steps[4].of == steps[2].id
    assert "user_step_from" not in found.details


def test_what_a_worker_answers_is_an_observation_that_the_record_does_not_vouch_for(read: Any) -> None:
    talk = [
        {"role": "human", "content": "Go"},
        {"role": "Orchestrator (-> Diver)", "content": "Dive."},
        {"role": "Diver", "content": "Mud."},
        {"role": "FileSurfer", "content": "Address: file:///log"},
    ]
    (found,) = read(crafted(*talk))
    seen = [step for step in found.episode.steps if step.kind == "observation"]
    assert [(step.agent, step.of, step.trust) for step in seen] == [("Diver", "2", None), ("FileSurfer", None, None)]


def test_the_terminal_of_the_hand_crafted_half_answers_the_orchestrator(read: Any) -> None:
    talk = [
        {"role": "human", "content": "Go"},
        {"role": "Orchestrator (-> ComputerTerminal)", "content": "ls"},
        {"role": "Orchestrator (thought)", "content": "Next speaker ComputerTerminal"},
        {
            "role": "ComputerTerminal",
            "content": "The script ran, then exited with Unix exit code: 2\nIts output was:\n",
        },
    ]
    (found,) = read(crafted(*talk))
    assert (found.episode.steps[-1].of, found.episode.steps[-1].exit_code) == ("2", 2)


@pytest.mark.parametrize(
    ("flags", "outcome"),
    [
        ({"is_correct": False}, "failure"),
        ({"is_corrected": False}, "failure"),
        ({"is_correct": True}, "success"),
        ({}, "unknown"),
        ({"is_correct": "no"}, "unknown"),
        ({"is_correct": True, "is_corrected": False}, "unknown"),
    ],
)
def test_the_recorded_flag_gives_the_outcome(read: Any, flags: Any, outcome: str) -> None:
    value = {key: child for key, child in made().items() if key != "is_correct"}
    (found,) = read({**value, **flags})
    assert (found.episode.outcome, found.episode.outcome_source) == (
        outcome,
        None if outcome == "unknown" else "recorded",
    )


def test_the_annotation_is_metadata_and_never_a_step(read: Any) -> None:
    for value in (made(), crafted()):
        (found,) = read(value)
        told = found.episode.metadata
        assert (told["mistake_reason"], told["ground_truth"]) == ("It guessed the port.", "half past seven")
        steps = json.dumps([step.model_dump(mode="json") for step in found.episode.steps])
        assert "guessed the port" not in steps
        assert "half past seven" not in steps


def test_the_culprit_points_to_its_step(read: Any) -> None:
    for value in (made(), crafted()):
        (found,) = read(value)
        told = found.episode.metadata
        blamed = next(step for step in found.episode.steps if step.id == told["mistake_step_id"])
        assert blamed.agent == told["mistake_agent"]


@pytest.mark.parametrize("place", ["99", "-1", "one", "", None, [], True, "9" * 30, "²"])
def test_a_culprit_that_points_nowhere_names_no_step(read: Any, place: Any) -> None:
    (found,) = read(made(mistake_step=place))
    assert "mistake_step_id" not in found.episode.metadata


def test_where_no_person_speaks_the_question_is_the_users_word(read: Any) -> None:
    (found,) = read(made())
    first = found.episode.steps[0]
    assert (first.kind, first.text, first.trust) == ("user", "When is the tide?", "user")
    assert found.details["user_step_from"] == "question: no person speaks in history"


def test_content_of_any_type_is_kept(read: Any) -> None:
    (found,) = read(made(said("A", None), said("B", ["x", 1]), {"content": "bare"}, {"role": "system", "content": "s"}))
    assert [step.text for step in found.episode.steps[1:]] == ["", '["x",1]', "bare", "s"]


def test_bad_runs_are_refused_beside_good_ones(read: Any) -> None:
    found = read([made(), made(history=[]), made(history=[5]), "x", made(question=None), made()])
    assert [type(each) for each in found] == [Imported, *[Rejected] * 4, Imported]
    assert found[1].reason == "item 2: history is empty: nothing happened in this run"
    assert found[4].reason == "item 5: question is no text, and no person speaks in history: the task is unknown"
    assert found[5].episode.source_id == "q-1#2"


def test_a_list_of_labels_is_not_taken_for_runs() -> None:
    label = {"question_id": "q-1", "mistake_agent": "A", "mistake_step": "1", "success": False}
    assert IMPORTER.sniff(as_source([label, label]).sample()) == 0.0


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 6), st.booleans())
def test_a_mangled_run_never_raises_and_never_costs_the_good_one_beside_it(
    rng: Random, times: int, by_hand: bool
) -> None:
    spoilt, good = mangle(crafted() if by_hand else made(), rng.randrange, times), made(question_ID="good")
    content = b"\n".join(json.dumps(each).encode() for each in (spoilt, good))
    found = list(IMPORTER.read(as_source(content)))
    assert sum(isinstance(each, Imported) and each.episode.task_key == "good" for each in found) == 1
    assert len(found) >= 2
