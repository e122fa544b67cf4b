"""What was recorded beats what was said; prose is never read."""

from typing import Any

import pytest

from tasks.ingest.episode import Episode
from tasks.ingest.outcome import settled


def outcome(*, capped: bool = False, **fields: Any) -> tuple[str, str | None]:
    episode, _ = settled(Episode.model_validate({"task": "t", "steps": [], **fields}), capped=capped)
    return episode.outcome, episode.outcome_source


def ran(command: Any, code: int | None, number: int = 1) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "kind": "tool_call", "name": "Bash", "arguments": {"command": command}}
    return [call, {"id": f"o{number}", "kind": "observation", "of": f"c{number}", "exit_code": code}]


def test_an_exit_code_beats_a_claimed_success_and_keeps_the_claim_in_view() -> None:
    episode = Episode.model_validate({"task": "t", "steps": [], "outcome": "success", "metadata": {"exit_code": 1}})
    found, how = settled(episode, capped=False)
    assert (found.outcome, found.outcome_source) == ("failure", "exit-code")
    assert how == {"outcome_from": "exit code 1 of the run", "outcome_overruled": "success"}


@pytest.mark.parametrize("source", ["verifier", "environment", "human"])
def test_a_verifier_the_environment_or_a_person_outrank_an_exit_code(source: str) -> None:
    assert outcome(outcome="success", outcome_source=source, metadata={"exit_code": 1}) == ("success", source)


def test_an_exit_code_of_zero_is_no_success_where_the_run_itself_says_failure() -> None:
    assert outcome(outcome="failure", metadata={"exit_code": 0}) == ("failure", "exit-code")
    assert outcome(metadata={"exit_code": 0}) == ("success", "exit-code")


def test_a_reward_of_nothing_beats_a_claimed_success() -> None:
    assert outcome(outcome="success", reward=0.0, capped=True) == ("failure", "self-reported")
    assert outcome(outcome="success", reward=1.0) == ("success", "recorded")
    assert outcome(outcome="success", reward=0.0, outcome_source="verifier") == ("success", "verifier")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"reward": 1.0}, "success"),
        ({"reward": 0}, "failure"),
        ({"reward": 0.4}, "unknown"),
        ({"metadata": {"exit_code": 1}, "reward": 1.0}, "failure"),
        ({"outcome": "unknown", "reward": 1.0}, "unknown"),
        ({"outcome": "partial", "outcome_source": "human"}, "partial"),
    ],
)
def test_an_outcome_that_was_not_written_comes_from_what_was(fields: dict[str, Any], expected: str) -> None:
    assert outcome(**fields)[0] == expected


def test_the_last_check_that_failed_makes_a_failure_whatever_the_last_word_says() -> None:
    steps = [*ran("pytest -q", 1), {"id": "a", "kind": "answer", "text": "All tests green"}]
    assert outcome(steps=steps) == ("failure", "exit-code")
    assert outcome(steps=steps, outcome="success", capped=True) == ("failure", "exit-code")


def test_a_check_that_passed_proves_that_check_only() -> None:
    assert outcome(steps=[*ran("pytest", 1, 1), *ran("pytest", 0, 2)]) == ("unknown", "recorded")


def test_a_failed_check_followed_by_other_work_settles_nothing() -> None:
    assert outcome(steps=[*ran("pytest", 1, 1), *ran("sed -i s/a/b/ x.py", 0, 2)]) == ("unknown", "recorded")


@pytest.mark.parametrize(
    "command",
    ["grep -r todo .", "cat pytest.ini", "echo make test", "diff a b", "pytest | grep FAILED", "pytest; ls gone"],
)
def test_the_exit_code_of_a_search_is_no_verdict(command: str) -> None:
    assert outcome(steps=ran(command, 1)) == ("unknown", "recorded")


@pytest.mark.parametrize(
    "command",
    [
        "cd x && python3.11 -m pytest",
        "FOO=1 uv run pytest -q",
        "ls\n.venv/bin/pytest",
        ["bash", "-lc", "pytest -x"],
        "npm run test -- --ci",
        "make -j4 check",
        "cargo test",
        "go vet ./...",
        ["tox", "-e"],
    ],
)
def test_what_runs_a_check_is_known_by_its_command(command: Any) -> None:
    assert outcome(steps=ran(command, 2)) == ("failure", "exit-code")


def test_who_said_it_is_recorded_for_an_operator_and_self_reported_for_an_agent() -> None:
    assert outcome(outcome="success") == ("success", "recorded")
    assert outcome(outcome="success", capped=True) == ("success", "self-reported")
