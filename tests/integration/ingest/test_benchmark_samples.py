"""Real benchmark runs, where they are present: each label has its run with its verdict, and the counts are exact."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tasks.ingest.importers.base import Imported
from tasks.ingest.importers.registry import choose
from tasks.ingest.reader import Missing, expand, open_source

pytestmark = pytest.mark.samples

LABELS = "LABELS.jsonl"
OUTCOME = {True: "success", False: "failure"}


def labels(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / LABELS).read_text().splitlines()]


def runs(folder: Path) -> Iterator[tuple[str, Imported]]:
    for found in expand([folder]):
        assert not isinstance(found, Missing)
        with open_source(found) as source:
            if source.name != LABELS:
                for each in choose(source).read(source):
                    assert isinstance(each, Imported), each
                    yield str(Path(source.path).relative_to(folder)), each


def asked(question: str) -> str:
    return " ".join(question.partition("You have attempted to answer")[0].split())


def test_agentdojo_runs_have_the_utility_and_the_attack_of_their_labels(samples: Path) -> None:
    folder = samples / "agentdojo"
    found = Counter(
        (file, run.episode.task_key, run.episode.outcome, "attack" in told, told.get("injection_succeeded", False))
        for file, run in runs(folder)
        for told in [run.episode.metadata]
    )
    assert found == Counter(
        (each["file"], each["task_id"], OUTCOME[each["utility"]], each["attack"], each["injection_succeeded"])
        for each in labels(folder)
    )
    assert found.total() == 204


def test_alfworld_runs_have_the_result_of_their_labels(samples: Path) -> None:
    folder = samples / "alfworld"
    found = Counter((file.removesuffix(".gz"), run.episode.task_key, run.episode.outcome) for file, run in runs(folder))
    assert found == Counter(
        (Path(each["file"]).name, each["task_id"], OUTCOME[each["success"]]) for each in labels(folder)
    )
    assert found.total() == 641


def test_questions_have_the_verdict_of_their_labels(samples: Path) -> None:
    folder = samples / "hotpotqa"
    found = Counter((file, asked(run.episode.task), run.episode.outcome) for file, run in runs(folder))
    assert found == Counter(
        (each["file"], asked(each["question"]), OUTCOME[each["success"]]) for each in labels(folder)
    )
    assert found.total() == 626


def test_failed_runs_point_to_the_step_that_their_labels_blame(samples: Path) -> None:
    folder = samples / "who-when"
    found = Counter(
        (file, run.episode.task_key, run.episode.outcome, told["mistake_agent"], told["mistake_step"])
        for file, run in runs(folder)
        for told in [run.episode.metadata]
        if told["mistake_step_id"] in {step.id for step in run.episode.steps}
    )
    assert found == Counter(
        (each["file"], each["question_id"], OUTCOME[each["success"]], each["mistake_agent"], each["mistake_step"])
        for each in labels(folder)
    )
    assert found.total() == 112
