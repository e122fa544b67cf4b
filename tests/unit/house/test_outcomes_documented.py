"""What the formats page says of claims, exit codes and rewards that differ is so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.reading import DOOR, read_all
from tasks.ingest.importers.base import Imported
from tasks.ingest.prepare import Origin, prepare

STEPS = {"task": "x", "steps": [{"kind": "user", "text": "x"}]}
CHAT = {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}


def ended(form: str, record: dict[str, Any]) -> str:
    (found,) = read_all(json.dumps(record).encode(), form)
    assert isinstance(found, Imported)
    return str(prepare(found, DOOR, Origin(form, 1, "scope", "file")).row["outcome"])


@pytest.mark.parametrize(
    ("claimed", "beside", "outcome"),
    [
        (True, {"exit_code": 1}, "failure"),
        (True, {"reward": 0}, "failure"),
        (True, {"exit_code": 0}, "success"),
        (False, {"exit_code": 0}, "failure"),
        (False, {"reward": 1}, "failure"),
        (None, {"exit_code": 1}, "failure"),
        (None, {"exit_code": 0}, "success"),
        (None, {"reward": 1}, "success"),
        (None, {"reward": 0}, "failure"),
        (None, {}, "unknown"),
    ],
)
def test_the_stricter_of_two_words_stays(claimed: bool | None, beside: dict[str, int], outcome: str) -> None:
    said = {} if claimed is None else {"outcome": "success" if claimed else "failure"}
    reward = {key: value for key, value in beside.items() if key == "reward"}
    code = {"metadata": {"exit_code": beside["exit_code"]}} if "exit_code" in beside else {}
    assert ended("canonical", {**STEPS, **said, **reward, **code}) == outcome
    assert ended("openai-messages", {**CHAT, **({} if claimed is None else {"success": claimed}), **beside}) == outcome


@pytest.mark.parametrize("source", ["verifier", "environment", "human"])
def test_neither_overrules_a_stronger_source(source: str) -> None:
    record = {**STEPS, "outcome": "success", "outcome_source": source, "reward": 0, "metadata": {"exit_code": 1}}
    assert ended("canonical", record) == "success"
