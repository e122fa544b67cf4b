"""``python -m worlds``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from worlds.__main__ import main


def test_lines_go_to_standard_output_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "7", "--episodes", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["id"][-6:] for line in lines] == [f"{n:06d}" for n in range(5)]


def test_a_folder_gets_one_file_that_does_not_depend_on_the_run(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        assert main(["--seed", "3", "--episodes", "12", "--out", str(tmp_path / folder)]) == 0
    one, two = (tmp_path / folder / "episodes-3.jsonl" for folder in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert len(one.read_text("utf-8").splitlines()) == 12


def test_the_planted_truth_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--planted", "--world", "travel"]) == 0
    truth = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["id"] for row in truth} == {"cancel-on-request", "repeated-search", "bag-first"}
    assert all(row["predicate"]["direction"] in ("do", "avoid") for row in truth)


def test_rules_from_a_file_are_read_by_the_reader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps([{"id": "r1", "guidance": ["Avoid cancel_reservation"]}]), "utf-8")
    assert main(["--episodes", "2", "--agent", "reader", "--rules", str(rules)]) == 0
    assert '"memory_read"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--episodes", "-3"], "must not be negative"),
        (["--start", "yesterday"], "yesterday"),
        (["--world", "casino"], "invalid choice"),
        (["--rules", "missing.json", "--agent", "reader"], "missing.json"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_why(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    for option in ("--seed", "--episodes", "--out", "--confound", "--no-task-keys", "--rules", "--planted"):
        assert option in shown


def test_an_invented_world_is_named_by_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--invented", "3", "--episodes", "4", "--no-task-keys"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["id"] for line in lines] == [f"invented-3-7-{n:06d}" for n in range(4)]
    assert all("task_key" not in line for line in lines)
    assert main(["--invented", "3", "--planted"]) == 0
    assert {json.loads(line)["world"] for line in capsys.readouterr().out.splitlines()} == {"invented-3"}


def test_an_invented_world_takes_no_other_world_beside_it() -> None:
    with pytest.raises(SystemExit) as left:
        main(["--invented", "3", "--world", "travel"])
    assert left.value.code == 2
