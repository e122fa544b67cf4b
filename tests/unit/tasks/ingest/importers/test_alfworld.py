import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.mangling import mangle
from tasks.ingest.importers.alfworld import IMPORTER
from tasks.ingest.importers.base import Imported, Rejected

from ..conftest import as_source

ROOM = "You are in a boathouse. You see a locker 1, a bench 1."
NAME = "pick_and_place_simple-Oar-None-Locker-4/trial_T1"
DONE = """
> Think: First find an oar.
> ActionPath: Start
> go to bench 1
On the bench 1, you see an oar 2.
> take oar 2 from bench 1
You pick up the oar 2.
> put oar 2 in/on locker 1
Nothing happens.
"""


def run(done: str = DONE, **changes: Any) -> dict[str, Any]:
    return {"name": NAME, "result": True, "traj": f"{ROOM}\nYour task is to: put an oar in locker.{done}", **changes}


def test_a_run_is_read_with_its_room_task_actions_and_answers(read: Any) -> None:
    (found,) = read(run())
    episode = found.episode
    assert (episode.task, episode.task_key, episode.source_id) == ("put an oar in locker.", NAME, NAME)
    assert (episode.outcome, episode.outcome_source) == ("success", "environment")
    kinds = [step.kind for step in episode.steps]
    assert kinds == ["observation", "user", "plan", "plan", *["tool_call", "observation"] * 3]
    assert (episode.steps[0].text, episode.steps[1].trust) == (ROOM, "user")
    calls = [step for step in episode.steps if step.kind == "tool_call"]
    assert [step.of for step in episode.steps[5::2]] == [call.id for call in calls]


def test_notes_are_plans_and_no_actions(read: Any) -> None:
    (found,) = read(run("\n> Think: a\n> think: b\n> ActionPath: Start->Goto(x)\n> look\nDark.\n"))
    assert [step.text for step in found.episode.steps if step.kind == "plan"] == [
        "a",
        "b",
        "ActionPath: Start->Goto(x)",
    ]
    assert [step.name for step in found.episode.steps if step.kind == "tool_call"] == ["look"]


@pytest.mark.parametrize(
    ("action", "name", "arguments"),
    [
        ("go to locker 1", "go to", {"receptacle": "locker 1"}),
        ("open locker 1", "open", {"receptacle": "locker 1"}),
        ("close locker 1", "close", {"receptacle": "locker 1"}),
        ("take oar 2 from bench 1", "take", {"object": "oar 2", "receptacle": "bench 1"}),
        ("put oar 2 in/on locker 1", "put", {"object": "oar 2", "receptacle": "locker 1"}),
        ("put oar 2 on bench 1", "put", {"object": "oar 2", "receptacle": "bench 1"}),
        ("move oar 2 to bench 1", "move", {"object": "oar 2", "receptacle": "bench 1"}),
        ("clean oar 2 with basin 1", "clean", {"object": "oar 2", "receptacle": "basin 1"}),
        ("heat tar 1 with stove 1", "heat", {"object": "tar 1", "receptacle": "stove 1"}),
        ("cool tar 1 with stream 1", "cool", {"object": "tar 1", "receptacle": "stream 1"}),
        ("toggle lamp 1", "toggle", {"object": "lamp 1"}),
        ("use lamp 1", "use", {"object": "lamp 1"}),
        ("examine oar 2", "examine", {"object": "oar 2"}),
        ("look", "look", {}),
        ("inventory", "inventory", {}),
        ("use lamp 1 on oar 2", "use", {"action": "use lamp 1 on oar 2"}),
        ("turn on lamp 1", "turn", {"action": "turn on lamp 1"}),
        ("Open(locker 1)", "Open(locker", {"action": "Open(locker 1)"}),
        ("take oar 2", "take", {"action": "take oar 2"}),
    ],
)
def test_an_action_is_named_by_its_verb_or_kept_whole(read: Any, action: str, name: str, arguments: Any) -> None:
    (found,) = read(run(f"\n> {action}\nFine.\n"))
    call = found.episode.steps[2]
    assert (call.kind, call.name, call.arguments, call.text) == ("tool_call", name, arguments, action)


def test_nothing_happens_is_an_error_and_only_that(read: Any) -> None:
    (found,) = read(run())
    assert [step.is_error for step in found.episode.steps if step.kind == "observation"] == [False, False, False, True]


@pytest.mark.parametrize(
    ("result", "outcome"),
    [(True, "success"), (False, "failure"), (0, "failure"), (1, "success"), (None, "unknown"), ("true", "unknown")],
)
def test_the_result_is_true_false_or_zero(read: Any, result: Any, outcome: str) -> None:
    (found,) = read(run(result=result))
    assert found.episode.outcome == outcome
    assert repr(found.episode.metadata["result"]) == repr(result)


def test_without_a_result_the_outcome_is_unknown(read: Any) -> None:
    value = run()
    del value["result"]
    (found,) = read(value)
    assert (found.episode.outcome, found.episode.outcome_source) == ("unknown", None)


def test_a_run_may_end_with_an_action_that_was_not_answered(read: Any) -> None:
    (found,) = read(run("\n> go to bench 1"))
    assert [step.kind for step in found.episode.steps] == ["observation", "user", "tool_call"]


def test_an_answer_of_several_lines_is_kept_whole(read: Any) -> None:
    (found,) = read(run("\n> look\nOne.\n\nTwo.\n"))
    assert found.episode.steps[-1].text == "One.\n\nTwo."


def test_windows_line_ends_make_no_difference(read: Any) -> None:
    traj = run()["traj"] + "And a second line.\n"
    plain, windows = read(run(traj=traj))[0], read(run(traj=traj.replace("\n", "\r\n")))[0]
    assert [step.text for step in plain.episode.steps] == [step.text for step in windows.episode.steps]


@pytest.mark.parametrize("text", ["take " + "a " * 100_000, "put a in " * 50_000, "think" + " " * 200_000 + "x"])
def test_text_made_to_be_slow_is_read_at_once(read: Any, text: str) -> None:
    (found,) = read(run(f"\n> {text}\nFine.\n"))
    assert found.episode.steps[2].text == text.strip()


def test_the_same_name_in_two_files_is_the_same_task(read: Any) -> None:
    (one,), (two,) = read(run(), "a.jsonl"), read(run("\n> look\nDark.\n"), "b.jsonl")
    assert one.episode.task_key == two.episode.task_key == NAME


def test_a_file_name_only_hints_at_who_ran(read: Any) -> None:
    (hinted,) = read(run(), "KnowAgentALFWorld_model-y_D1.jsonl.gz")
    (bare,) = read(run(), "runs.jsonl")
    told = hinted.episode
    assert (told.agent, told.agent_version, told.model) == ("KnowAgent", "D1", "model-y")
    assert hinted.details["agent_from"] == "file name"
    assert (bare.episode.agent, bare.episode.model) == ("unknown-agent", None)


def test_extra_fields_are_kept(read: Any) -> None:
    (found,) = read(run(seed=3))
    assert found.episode.metadata["extra"] == {"seed": 3}


def test_bad_runs_are_refused_with_their_reason_beside_good_ones(read: Any) -> None:
    bad = [run(traj=None), run(traj="> go"), run(traj=f"{ROOM}\nYour task is to:"), run("\nNothing."), [], run()]
    found = read(b"\n".join(json.dumps(each).encode() for each in [run(), *bad]))
    assert [type(each) for each in found] == [Imported, *[Rejected] * 5, Imported]
    assert [each.line for each in found[1:5]] == [2, 3, 4, 5]
    assert [each.reason.split(":")[0] for each in found[1:6]] == [
        "traj must be the text of the run",
        "traj holds no 'Your task is to",
        "nothing stands after 'Your task is to",
        "traj holds no line that starts with '> '",
        "the list is empty",
    ]


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_a_mangled_run_never_raises_and_never_costs_the_good_one_beside_it(rng: Random, times: int) -> None:
    spoilt, good = mangle(run(), rng.randrange, times), run(name="good")
    content = b"\n".join(json.dumps(each).encode() for each in (spoilt, good))
    found = list(IMPORTER.read(as_source(content)))
    assert sum(isinstance(each, Imported) and each.episode.task_key == "good" for each in found) == 1
    assert len(found) >= 2
