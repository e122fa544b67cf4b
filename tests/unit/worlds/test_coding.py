"""Coding sessions: the same seed gives the same, nobody says how they ended, and the truth is declared."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from worlds.__main__ import main
from worlds.coding import TROUBLES, Found, grade, planted, sessions

START = datetime(2026, 1, 5, tzinfo=UTC)


def test_the_same_seed_gives_the_same_sessions() -> None:
    assert list(sessions(3, 9, START)) == list(sessions(3, 9, START))
    assert list(sessions(3, 9, START)) != list(sessions(4, 9, START))


def test_no_session_says_how_it_ended_and_ids_are_unique() -> None:
    made = list(sessions(3, 40, START))
    assert all("outcome" not in one for one in made)
    assert len({one["id"] for one in made}) == len(made)
    for one in made:
        answers = [step for step in one["steps"] if step["kind"] == "observation"]
        assert all("exit_code" in step or "is_error" in step for step in answers)
        ids = {step["id"] for step in one["steps"]}
        assert all(step["of"] in ids for step in answers)


def test_three_harnesses_and_two_languages_are_there() -> None:
    made = list(sessions(3, 40, START))
    assert {one["environment"]["harness"] for one in made} == {"claude-code", "codex", "swe-agent"}
    text = json.dumps(made, ensure_ascii=False)
    assert "错误：找不到虚拟环境" in text
    assert "ModuleNotFoundError" in text


def test_nothing_helps_where_cures_do_not_work() -> None:
    """A trouble with a cure passes as often after it as without it."""
    worked = {True: [0, 0], False: [0, 0]}
    for one in sessions(5, 300, START, cures_work=False):
        commands = [(step, answer) for step, answer in zip(one["steps"], one["steps"][1:], strict=False)
                    if step["kind"] == "tool_call"]  # fmt: skip
        tidied, failed = False, False
        for call, answer in commands:
            line = str(call["arguments"].get("command"))
            if "go test" in line:
                if failed:
                    worked[tidied][answer.get("exit_code") == 0 or answer.get("is_error") is False] += 1
                failed = True
            tidied = tidied or "go mod tidy" in line
    rates = {did: won / (won + lost) for did, (lost, won) in worked.items()}
    assert abs(rates[True] - rates[False]) < 0.2


def test_a_grade_counts_a_second_wording_and_a_wrong_finding_as_wrong() -> None:
    right = Found("go test", "go: updates to go.mod needed; to update it:", "go mod tidy")
    seen = grade([right, right, Found("curl", "curl: (28) Connection timed out", "ls")])
    assert (len(seen.right), len(seen.doubled), len(seen.false)) == (1, 1, 1)
    assert seen.precision == pytest.approx(1 / 3)
    assert seen.recall == pytest.approx(1 / sum(len(one.cures) for one in TROUBLES))


def test_the_command_writes_sessions_and_their_truth(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--coding", "--episodes", "2"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0]["id"] == "coding-7-00000"
    assert main(["--coding", "--planted"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {one["id"] for one in told} == {one.id for one in planted()}


def test_a_start_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a zone"):
        next(sessions(1, 1, datetime(2026, 1, 5)))  # noqa: DTZ001
