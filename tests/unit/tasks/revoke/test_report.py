"""Which calls a report names, and what a policy may say of tools."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.revoke.report import Action, BadToolPolicy, Effects, ToolPolicy, actions_of

STEPS = [
    {"id": "1", "kind": "tool_call", "name": "pay_early"},
    {"id": "2", "kind": "memory_read", "rule": "r", "version": 2},
    {"id": "3", "kind": "tool_call", "name": "pay_booking"},
    {"id": "4", "kind": "observation", "of": "3"},
    {"id": "5", "kind": "tool_call", "name": "get_fare"},
    {"id": "6", "kind": "tool_call", "name": "mail"},
]
POLICY = {
    "pay_*": {"side_effects": True, "cancellable": True},
    "get_*": {"side_effects": False},
    "*_booking": {"side_effects": False},
}


def actions(keys: set[tuple[str, int]]) -> list[Action]:
    return actions_of("e", "s", {"steps": [*STEPS, "odd"]}, keys, ToolPolicy.read(POLICY))


def test_calls_count_from_where_the_rule_was_read_and_harmless_ones_are_left_out() -> None:
    assert actions({("r", 2)}) == [
        Action("e", "s", "3", "pay_booking", True, True),
        Action("e", "s", "6", "mail", None, None),
    ]


def test_a_run_that_does_not_say_when_it_read_is_told_whole() -> None:
    assert [one.tool for one in actions({("r", 9)})] == ["pay_early", "pay_booking", "mail"]


def test_the_first_pattern_that_fits_counts_and_what_none_fits_is_unknown() -> None:
    policy = ToolPolicy.read(POLICY)
    assert policy.of("pay_booking") == Effects(True, True)
    assert policy.of("mail") == Effects(None, None)
    assert ToolPolicy.read(None).of("pay_booking") == Effects()


@pytest.mark.parametrize(
    "value",
    [[], {"pay": True}, {"pay": {"cancel": True}}, {"pay": {"side_effects": "yes"}},
     {"pay": {"side_effects": False, "cancellable": True}}],
)  # fmt: skip
def test_what_cannot_be_taken_is_refused_by_name(value: Any) -> None:
    with pytest.raises(BadToolPolicy, match="tools"):
        ToolPolicy.read(value)
