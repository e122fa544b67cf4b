"""The fields of an edit: what goes into the form comes out of it the same."""

from __future__ import annotations

import pytest

from review_ui.views.changes import Typed, steps_of, steps_text, wanted_words
from tasks.promote.errors import TextRefused
from tasks.stage.wanted import Wanted


@pytest.mark.parametrize(
    "steps",
    [["Look first.", "Then say so."], ["One\ntwo", "three"], ["a\n\n  b\n   c", "d"], ["- a", "- b"], ["only"]],
)
def test_steps_come_out_of_the_form_as_they_went_in(steps: list[str]) -> None:
    assert steps_of(steps_text(steps)) == steps
    assert steps_of(steps_text(steps).replace("\n", "\r\n")) == steps


def test_empty_lines_are_no_steps_and_an_indented_line_goes_on() -> None:
    assert steps_of("\n\nLook first.\n\n\tat the order\nSay so.\n") == ["Look first.\nat the order", "Say so."]


def typed(**changes: object) -> Typed:
    given = {"when_to_use": "", "guidance": "", "component": ["api", ""], "version": ["3", ""], "agents": " a \n\nb",
             "valid_from": " ", "recheck_at": "2027-01-01", "reason": ""} | changes  # fmt: skip
    return Typed(**given)  # type: ignore[arg-type]


def test_a_scope_is_read_from_its_rows() -> None:
    assert typed().scope() == {
        "environment": {"api": "3"}, "agents": ["a", "b"], "valid_from": None, "recheck_at": "2027-01-01",
    }  # fmt: skip


@pytest.mark.parametrize("component", [["api", "api "], ["", "web"]])
def test_a_component_is_named_once_and_a_version_is_of_one(component: list[str]) -> None:
    with pytest.raises(TextRefused):
        typed(component=component, version=["3", "4"]).scope()


def test_what_is_waited_for_is_one_sentence_with_its_conditions() -> None:
    assert wanted_words(Wanted(1)) == "1 more judged run"
    asked = Wanted(5, agent="bot", component="api", version="3.3", task="t1", outcome="success")
    assert wanted_words(asked) == "5 more successful runs (agent bot, api 3.3, task t1)"
