import gzip
import io
import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.mangling import mangle
from tasks.ingest.importers.base import Imported, Rejected
from tasks.ingest.importers.react_log import IMPORTER
from tasks.ingest.prepare import Door, Origin, prepare
from tasks.ingest.source import Source, SourceBroken

from ..conftest import as_source

HEADER = "\n{rule}#\nBEGIN TRIAL {trial}\nTrial summary: Correct: 1, Incorrect: 0, Halted: 0\n{rule}\n"
SECTION = "------------- BEGIN {} AGENTS -------------\n\n"
MEMORY = (
    "You have attempted to answer following question before and failed. The following reflection(s) give a plan.\n"
    "Reflections:\n- I should have asked the keeper. \n"
)
SOLVED = """Question: Who keeps the Rhin lock?
Thought 1: I need to search the lock.
Action 1: Search[Rhin lock]
Observation 1: The lock lies at Rhin.
It is kept by Ida.
Thought 2: So it is Ida.
Action 2: Finish[Ida]
Observation 2: Answer is CORRECT
Correct answer: Ida (keeper)

"""


def log(*parts: str, trial: int = 1) -> str:
    return HEADER.format(rule="#" * 39, trial=trial) + "".join(parts)


def asked(question: str, *lines: str, key: str | None = "Bo") -> str:
    end = [] if key is None else [f"Correct answer: {key}", "", ""]
    return "\n".join(
        [f"Question: {question}", *(lines or ("Thought 1: Hm.", "Action 1: Search[x]", "Observation 1: y")), *end]
    )


def section(name: str, *runs: str) -> str:
    return SECTION.format(name) + "".join(runs)


def line(**changes: Any) -> dict[str, Any]:
    examples = "Answer a question.\nQuestion: An example?\nThought 1: Easy.\nAction 1: Finish[no]\n(END OF EXAMPLES)\n"
    run = (
        "Question: Who keeps the Rhin lock?\nActionPath 1: Start\nThought 1: Look.\nAction 1: Retrieve[lock]\n"
        "Observation 1: No results found.\nActionPath 2: Start->Retrieve[lock]\nThought 2: A guess.\n"
        "Action 2: Finish[Bo]\nObservation 2: Answer is INCORRECT"
    )
    told = {"question": "Who keeps the Rhin lock?", "answer": "Ida (keeper)", "correct": False, "reward": 0.4}
    return {**told, "halted": False, "error": False, "prompt": examples + run, **changes}


def steps_text(found: Imported) -> str:
    return json.dumps([step.model_dump(mode="json") for step in found.episode.steps])


def test_a_log_is_read_run_by_run(read: Any) -> None:
    (found,) = read(log(section("CORRECT", SOLVED)).encode(), "log.txt")
    episode = found.episode
    assert (episode.task, episode.source_id, episode.task_key) == ("Who keeps the Rhin lock?", "trial-1/1", None)
    assert (episode.outcome, episode.outcome_source) == ("success", "verifier")
    kinds = [step.kind for step in episode.steps]
    assert kinds == ["user", "plan", "tool_call", "observation", "plan", "answer", "observation"]
    call, seen = episode.steps[2:4]
    assert (call.name, call.arguments, seen.of) == ("Search", {"input": "Rhin lock"}, call.id)
    assert seen.text == "The lock lies at Rhin.\nIt is kept by Ida."
    assert (episode.steps[5].text, episode.steps[6].source) == ("Ida", "environment")
    assert found.line == 8


@pytest.mark.parametrize(
    ("name", "outcome", "source"),
    [
        ("CORRECT", "success", "verifier"),
        ("INCORRECT", "failure", "verifier"),
        ("HALTED", "failure", "environment"),
        ("PUZZLED", "unknown", None),
    ],
)
def test_the_section_gives_the_outcome(read: Any, name: str, outcome: str, source: Any) -> None:
    (found,) = read(log(section(name, asked("Who?"))).encode())
    assert (found.episode.outcome, found.episode.outcome_source) == (outcome, source)


def test_without_a_section_the_environments_answer_to_finish_settles_it(read: Any) -> None:
    said = asked("Who?", "Thought 1: a", "Action 1: Finish[Bo]", "Observation 1: Answer is INCORRECT")
    prose = asked("Who?", "Thought 1: a", "Action 1: Search[Bo]", "Observation 1: Answer is CORRECT")
    found = read(log(said, prose).encode())
    assert [each.episode.outcome for each in found] == ["failure", "unknown"]
    (doubted,) = read(log(section("CORRECT", said)).encode())
    assert (doubted.episode.outcome, "otherwise" in doubted.details["outcome_doubt"]) == ("success", True)


def test_the_correct_answer_is_never_a_step(read: Any) -> None:
    (found,) = read(log(section("CORRECT", SOLVED)).encode())
    assert found.episode.metadata["correct_answer"] == "Ida (keeper)"
    assert "keeper" not in steps_text(found)
    (found,) = read(line())
    assert found.episode.metadata["correct_answer"] == "Ida (keeper)"
    assert "keeper" not in steps_text(found)


def test_text_after_the_correct_answer_is_no_part_of_the_run(read: Any) -> None:
    run = asked("Who?").rstrip() + "\nReflections:\n- I should have known.\n\n"
    (found,) = read(log(section("INCORRECT", run)).encode())
    assert "should have known" in found.episode.metadata["after_the_run"]
    assert "should have known" not in steps_text(found)


def test_reflections_given_with_the_question_are_a_memory_and_no_part_of_the_task(read: Any, door: Door) -> None:
    told = f"Who keeps the Rhin lock?{MEMORY}".rstrip("\n")
    later = log(section("INCORRECT", asked(told, "Thought 1: Hm.", "Action 1: Search[x]")), trial=2)
    found = read((log(section("INCORRECT", asked("Who keeps the Rhin lock?"))) + later).encode())
    assert [each.episode.task for each in found] == ["Who keeps the Rhin lock?"] * 2
    memory = found[1].episode.steps[1]
    assert (memory.kind, "asked the keeper" in (memory.snapshot or "")) == ("memory_read", True)
    assert found[1].episode.retry_of == found[0].episode.source_id == "trial-1/1"
    keys = {prepare(each, door, Origin("react-log", 1, "f", "f")).row["task_key"] for each in found}
    assert len(keys) == 1


def test_a_question_has_one_key_in_a_log_and_in_json_lines(read: Any, door: Door) -> None:
    found = [*read(log(section("CORRECT", SOLVED)).encode()), *read(line())]
    rows = [prepare(each, door, Origin("react-log", 1, "f", "f")).row for each in found]
    assert len({row["task_key"] for row in rows}) == 1
    assert {row["task_key_derived"] for row in rows} == {True}


def test_reflections_may_stand_ahead_of_the_question(read: Any) -> None:
    runs = asked("One?") + MEMORY + asked("Two?")
    found = read(log(section("INCORRECT", runs)).encode())
    assert [each.episode.task for each in found] == ["One?", "Two?"]
    assert [step.kind for step in found[1].episode.steps[:2]] == ["user", "memory_read"]
    assert "after_the_run" not in found[0].episode.metadata


def test_an_earlier_trial_shown_in_the_prompt_is_no_run_of_its_own(read: Any) -> None:
    shown = (
        "You have attempted to answer the following question before and failed. "
        "Below is the last trial you attempted to answer the question.\n"
        "Question: Two?\nThought 1: Wrong.\n(END PREVIOUS TRIAL)\n"
    )
    found = read(log(section("INCORRECT", asked("One?") + shown + asked("Two?"))).encode())
    assert [each.episode.task for each in found] == ["One?", "Two?"]
    assert "Wrong." in (found[1].episode.steps[1].snapshot or "")


def test_a_run_that_a_later_trial_shows_again_is_a_retry_of_the_first(read: Any) -> None:
    later = log(section("CORRECT", SOLVED, asked("Who?")), trial=2)
    first, again, other = read((log(section("CORRECT", SOLVED)) + later).encode())
    assert (again.episode.steps, again.episode.task) == (first.episode.steps, first.episode.task)
    assert (again.episode.source_id, again.episode.retry_of) == ("trial-2/1", "trial-1/1")
    assert again.details["shown_again"] == "letter for letter as trial-1/1"
    assert other.episode.source_id == "trial-2/2"
    assert other.record != first.record


def test_runs_that_differ_in_their_section_only_are_two(read: Any) -> None:
    found = read(log(section("INCORRECT", asked("Who?")), section("HALTED", asked("Who?"))).encode())
    assert found[0].record != found[1].record
    assert [each.episode.source_id for each in found] == ["trial-1/1", "trial-1/2"]


def test_a_page_that_speaks_in_labels_stays_an_observation(read: Any) -> None:
    page = ("Thought 1: a", "Action 1: Search[x]", "Observation 1: A play.", "Question: who goes there?",
            "Thought 9: none", "Action: he leaves", "Thought 2: b", "Action 2: Finish[y]")  # fmt: skip
    (found,) = read(log(section("INCORRECT", asked("Who?", *page))).encode())
    seen = next(step for step in found.episode.steps if step.kind == "observation")
    assert seen.text == "A play.\nQuestion: who goes there?\nThought 9: none\nAction: he leaves"


def test_only_an_invalid_action_is_an_error(read: Any) -> None:
    lines = (
        "Action 1: Search[x]",
        "Observation 1: Could not find [x]. Similar: ['y']",
        "Action 2: Compare x and y",
        "Observation 2: Invalid Action. Valid Actions are Search[<topic>]",
        "Action 3:",
        "Observation 3: Hm",
    )
    (found,) = read(log(section("HALTED", asked("Who?", *lines))).encode())
    steps = found.episode.steps
    assert [step.is_error for step in steps if step.kind == "observation"] == [False, True, False]
    calls = [(step.name, step.arguments) for step in steps if step.kind == "tool_call"]
    assert calls[1:] == [("Compare", {"action": "Compare x and y"}), ("unnamed", {"action": ""})]


@pytest.mark.parametrize(
    "text", ["a" + " " * 200_000 + "b", "a " * 100_000, "[" * 200_000, "a[" + "] " * 100_000 + "b"]
)
def test_text_made_to_be_slow_is_read_at_once(read: Any, text: str) -> None:
    lines = ("Thought 1: a", f"Action 1: {text}", f"Observation 1: {text}")
    (found,) = read(log(section("HALTED", asked(f"Who {text}?", *lines))).encode())
    assert found.episode.steps[2].arguments == {"action": text.strip()}


def test_a_log_that_ends_within_a_run_keeps_it_and_says_so(read: Any) -> None:
    text = log(section("INCORRECT", asked("One?"), asked("Two?", key=None)))
    found = read(text.encode())
    assert [each.episode.task for each in found] == ["One?", "Two?"]
    assert "truncated" not in found[0].details
    assert found[1].details["truncated"] == "no 'Correct answer:' closes this run"


def test_a_log_whose_stream_breaks_keeps_what_came_before() -> None:
    packed = gzip.compress(log(section("CORRECT", SOLVED * 3)).encode())
    stream = gzip.GzipFile(fileobj=io.BytesIO(packed[:-10]), mode="rb")
    source = Source(stream, "log", "log", "log")  # type: ignore[arg-type]
    found = []
    with pytest.raises(SourceBroken, match="ends early"):
        for each in IMPORTER.read(source):
            found.append(each)
    assert any(isinstance(each, Imported) for each in found)


def test_text_that_belongs_to_no_run_is_refused_by_its_line(read: Any) -> None:
    text = log(section("CORRECT", SOLVED), section("HALTED", "A stray remark.\n"))
    found = read(text.encode())
    assert isinstance(found[0], Imported)
    assert (found[1].line, found[1].data) == (20, b"A stray remark.")
    assert found[1].reason == "text that belongs to no run: no 'Question:' follows it"


def test_a_question_that_nothing_followed_is_refused(read: Any) -> None:
    found = read(log(section("HALTED", "Question: Who?\nCorrect answer: Bo\n\n", SOLVED)).encode())
    assert [type(each) for each in found] == [Rejected, Imported]
    assert found[0].reason.startswith("nothing happened in this run")


def test_bytes_that_are_no_text_are_shown_and_counted(read: Any) -> None:
    text = log(section("CORRECT", SOLVED)).encode().replace(b"kept by Ida", b"kept\x00 by \xff")
    (found,) = read(text)
    assert "kept\u2400 by \ufffd" in steps_text(found).encode().decode("unicode_escape")
    assert found.details["cleaned"] == {"nul": 1, "not_utf8": 1}


def test_json_lines_are_read_from_the_question_on(read: Any) -> None:
    (found,) = read(line(), "KnowAgentHotpotQA_model-y_D0.jsonl.gz")
    episode = found.episode
    assert (episode.task, episode.source_id) == ("Who keeps the Rhin lock?", None)
    assert (episode.agent, episode.agent_version, episode.model) == ("KnowAgent", "D0", "model-y")
    kinds = [step.kind for step in episode.steps]
    assert kinds == [
        "system",
        "user",
        "plan",
        "plan",
        "tool_call",
        "observation",
        "plan",
        "plan",
        "answer",
        "observation",
    ]
    assert "An example?" in episode.steps[0].text
    assert [step.text for step in episode.steps[6:9]] == ["ActionPath: Start->Retrieve[lock]", "A guess.", "Bo"]


@pytest.mark.parametrize(
    ("correct", "reward", "outcome"),
    [
        (True, 1.0, "success"),
        (False, 0.4, "failure"),
        (False, 0, "failure"),
        (None, 1.0, "unknown"),
        ("?", 0, "unknown"),
    ],
)
def test_the_outcome_is_whether_the_answer_was_correct_and_the_reward_is_kept(
    read: Any, correct: Any, reward: float, outcome: str
) -> None:
    (found,) = read(line(correct=correct, reward=reward))
    assert (found.episode.outcome, found.episode.reward) == (outcome, reward)


def test_a_reward_that_is_no_number_is_none(read: Any) -> None:
    for odd in (True, "much", [1]):
        (found,) = read(line(reward=odd))
        assert found.episode.reward is None


def test_the_run_may_stand_in_traj_without_examples(read: Any) -> None:
    run = line()
    run["traj"] = run.pop("prompt").split("(END OF EXAMPLES)\n")[1]
    (found,) = read(run)
    assert [step.kind for step in found.episode.steps[:3]] == ["user", "plan", "plan"]


def test_bad_lines_are_refused_beside_good_ones(read: Any) -> None:
    bad = [line(prompt=5), line(prompt="nothing"), line(prompt="(END OF EXAMPLES)\nQuestion: Who?"), 7]
    found = read(b"\n".join(json.dumps(each).encode() for each in [line(), *bad, line(reward=0)]))
    assert [type(each) for each in found] == [Imported, *[Rejected] * 4, Imported]
    assert [each.line for each in found[1:5]] == [2, 3, 4, 5]
    assert found[1].reason == "neither prompt nor traj is the text of a run"
    assert found[2].reason == "the text of the run holds no 'Question:' with its question"


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_a_mangled_line_never_raises_and_never_costs_the_good_one_beside_it(rng: Random, times: int) -> None:
    spoilt, good = mangle(line(), rng.randrange, times), line(question="Good?")
    content = b"\n".join(json.dumps(each).encode() for each in (spoilt, good))
    found = list(IMPORTER.read(as_source(content)))
    assert sum(isinstance(each, Imported) and each.episode.task == "Good?" for each in found) == 1
    assert len(found) >= 2


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([*SOLVED.splitlines(), *MEMORY.splitlines(), "", "-" * 9, "BEGIN TRIAL x"]), max_size=30)
)
def test_any_order_of_lines_is_answered_and_the_next_section_is_read(lines: list[str]) -> None:
    text = log(section("INCORRECT", "\n".join(lines) + "\n"), section("CORRECT", SOLVED))
    found = list(IMPORTER.read(as_source(text.encode(), "log.txt")))
    last = found[-1]
    assert isinstance(last, Imported)
    assert (last.episode.task, last.episode.outcome) == ("Who keeps the Rhin lock?", "success")
