"""The canonical form is documented field by field, and its page says what the models say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from support.reading import read_all
from tasks.ingest.episode import LONGEST_ID, MOST_VERSION, Episode, Outcome, OutcomeSource, Step, StepKind, Trust
from tasks.ingest.importers.base import Imported, Rejected

FIRST_CELL = re.compile(r"^\| `([a-z_-]+)` \|", re.MULTILINE)
ROW = re.compile(r"^\| `([a-z_]+)` \| (.+?) \| .+ \| (\S+) \|$", re.MULTILINE)


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs" / "canonical.md").read_text()


def section(page: str, title: str) -> str:
    return page.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def default_of(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    return f"`{json.dumps(field.get_default(call_default_factory=True))}`"


@pytest.mark.parametrize("model", [Episode, Step])
def test_every_field_is_on_the_page_with_its_default(page: str, model: type[BaseModel]) -> None:
    documented = [(name, default) for name, _, default in ROW.findall(section(page, model.__name__))]
    fields = model.model_fields.items()
    assert documented == [(field.alias or name, default_of(field)) for name, field in fields]


def test_the_page_says_which_fields_are_relations(page: str) -> None:
    told = {name for name, kind, _ in ROW.findall(section(page, "Step")) if kind == "relation"}
    assert told == {name for name, field in Step.model_fields.items() if field.annotation == list[str]}


def test_every_kind_of_step_and_every_source_is_on_the_page(page: str) -> None:
    assert FIRST_CELL.findall(section(page, "Step kinds")) == list(get_args(StepKind))
    assert FIRST_CELL.findall(section(page, "Outcomes")) == list(get_args(OutcomeSource))
    assert set(get_args(Outcome)) <= set(re.findall(r"`(\w+)`", section(page, "Outcomes")))
    assert re.findall(r"`(\w+)`", section(page, "Trust")) == list(get_args(Trust))


def test_the_page_says_the_bounds(page: str) -> None:
    assert section(page, "Episode").count(f"at most {LONGEST_ID} characters") == 2
    assert f"0 to {MOST_VERSION}" in section(page, "Step")


def test_the_formats_page_leads_to_it(root: Path) -> None:
    assert "(canonical.md)" in (root / "docs" / "formats.md").read_text()


def test_its_example_is_an_episode_and_shows_the_steps_it_cites(page: str) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (found,) = read_all(example.encode(), "canonical")
    assert isinstance(found, Imported)
    steps = {step.id: step for step in found.episode.steps}
    assert list(steps) == ["1", "call", "3", "4"]
    assert {steps["3"].of, *steps["4"].cites} <= steps.keys()


def read_one(**fields: Any) -> Imported | Rejected:
    record = {"task": "x", "steps": [{"kind": "user", "text": "x"}], **fields}
    (found,) = read_all(json.dumps(record).encode(), "canonical")
    return found


def test_an_unknown_field_is_refused_by_its_name_as_the_page_says() -> None:
    for given, named in (({"colour": 1}, "colour"), ({"steps": [{"kind": "user", "hue": 1}]}, "steps[0].hue")):
        found = read_one(**given)
        assert isinstance(found, Rejected)
        assert found.reason.startswith(named)
        assert "metadata" in found.reason


def test_the_ids_that_may_be_numbers_are_those_on_the_page(page: str) -> None:
    (told,) = re.findall(r"ids may be numbers \((.*?)\)", page, re.DOTALL)
    assert re.findall(r"`(\w+)`", told) == [
        "id", "task_key", "session_id", "retry_of", "agent_version", "id", "of", "environment",
    ]  # fmt: skip
    numbers = dict.fromkeys(("id", "task_key", "session_id", "retry_of", "agent_version"), 7)
    found = read_one(
        **numbers, environment={"shop": 2}, steps=[{"id": 1, "kind": "tool_call"}, {"kind": "observation", "of": 1}]
    )
    assert isinstance(found, Imported)
    episode = found.episode
    assert {episode.source_id, episode.task_key, episode.session_id, episode.retry_of, episode.agent_version} == {"7"}
    assert (episode.environment, episode.steps[1].of) == ({"shop": "2"}, "1")
