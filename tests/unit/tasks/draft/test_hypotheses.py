"""Untested causes stay hypotheses: each with a next step, and what is ruled out already."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.contrast.predicate import Predicate, PredicateInvalid, from_canonical
from tasks.contrast.ruled_out import ruled_out
from tasks.draft.hypotheses import hypotheses

CLAIM = Predicate("call-present", ("cancel_order",), "avoid").canonical("shop")
FIGURES: dict[str, Any] = {
    "effect": {"odds_ratio": 0.1, "low": 0.05, "high": 0.5, "strata": 8},
    "held_out": {"confirmed": True, "same_direction": True, "groups": 20},
    "agent_adjusted": {"verdict": "same", "agents": 3},
    "evidence": {"independent_groups": 41},
    "exceptions": [],
}


def test_a_confirmed_finding_rules_out_difficulty_agent_chance_and_copies() -> None:
    assert ruled_out("confirmed", FIGURES) == [
        "not how hard the task is: it holds between runs of the same task, over 8 tasks",
        "not who ran: it holds when adjusted for 3 agents",
        "not chance: it came out the same on 20 groups that it was not found on",
        "not copies of a few runs: 41 independent groups count once each",
        "not a matter of some tasks only: in none of them do the successes do the opposite",
    ]


@pytest.mark.parametrize(
    ("change", "no_longer"),
    [
        ({"effect": {"low": 0.05, "high": 1.2, "strata": 8}}, "not how hard"),
        ({"effect": {"low": 0.05, "high": None, "strata": 8}}, "not how hard"),
        ({"agent_adjusted": {"verdict": "weaker", "agents": 3}}, "not who ran"),
        ({"agent_adjusted": {"verdict": "gone", "agents": 3}}, "not who ran"),
        ({"held_out": None}, "not chance"),
        ({"held_out": {"confirmed": False}}, "not chance"),
        ({"evidence": {"independent_groups": 1}}, "not copies"),
        ({"exceptions": ["t3"]}, "not a matter of some tasks"),
        ({"effect": {"low": 0.05, "high": 0.5, "strata": 4}}, "not a matter of some tasks"),
    ],
)
def test_nothing_is_ruled_out_that_the_figures_do_not(change: dict[str, Any], no_longer: str) -> None:
    assert not any(said.startswith(no_longer) for said in ruled_out("confirmed", FIGURES | change))


def test_what_is_confounded_rules_out_nothing() -> None:
    assert ruled_out("confounded", FIGURES) == []


def test_a_finding_that_turns_around_points_to_a_condition_that_was_not_recorded() -> None:
    (found,) = hypotheses(CLAIM, "p1", "confirmed", FIGURES | {"exceptions": ["t3", "t9"]}, ["not chance: x"])
    assert "in 2 tasks (t3, t9) the successes do the opposite" in found.statement
    assert "record what tells them apart" in found.next_step
    assert found.ruled_out == ("not chance: x",)


def test_what_cannot_be_told_from_who_ran_points_to_the_agents() -> None:
    (found,) = hypotheses(CLAIM, "p1", "agent-confounded", FIGURES, [])
    assert "3 agents" in found.statement
    assert "one agent" in found.next_step


@given(st.sampled_from(["confirmed", "unconfirmed", "insufficient", "confounded", "agent-confounded"]), st.booleans())
def test_no_hypothesis_is_a_claim_that_a_rule_could_be_made_of(verdict: str, turns: bool) -> None:
    for found in hypotheses(CLAIM, "p1", verdict, FIGURES | {"exceptions": ["t3"] * turns}, []):
        with pytest.raises(PredicateInvalid):
            from_canonical(found.predicate)
