"""What the agents' page says of sending episodes is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

from read_api.schemas import IngestAnswer
from support.reading import read_all
from tasks.ingest.importers.base import Imported
from tasks.ingest.outcome import settled


def test_its_episodes_are_one_object_a_line_and_are_taken(root: Path) -> None:
    episodes, _ = _blocks(root)
    found = read_all(episodes.encode(), "auto")
    assert [type(each) for each in found] == [Imported] * len(episodes.splitlines())


def test_its_episodes_are_compared_though_they_come_through_a_token(root: Path) -> None:
    episodes, _ = _blocks(root)
    for each in read_all(episodes.encode(), "auto"):
        assert isinstance(each, Imported)
        assert settled(each.episode, capped=True)[0].outcome_source == "environment"


def test_its_answer_has_the_shape_of_the_answer(root: Path) -> None:
    _, answer = _blocks(root)
    shown = json.loads(answer)
    assert IngestAnswer.model_validate(shown).model_dump() == shown
    table = re.findall(r"^\| `(\w+)` \|", (root / "docs" / "agents.md").read_text(), re.MULTILINE)
    assert table == list(IngestAnswer.model_fields)


def _blocks(root: Path) -> list[str]:
    page = (root / "docs" / "agents.md").read_text().split("## Sending episodes back", 1)[1]
    return re.findall(r"```json\n(.*?)```", page, re.DOTALL)
