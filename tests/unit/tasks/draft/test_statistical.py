"""The statistical drafter is a function of its brief, and its packet says what a reviewer needs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.reviewing import Found, avoid, statistics
from tasks.draft.drafter import Brief, Cited, candidate_id
from tasks.draft.statistical import StatisticalDrafter, count_evidence, counter_example, expected_gain, reach
from tasks.promote.packet import missing_parts


def cited(n: int, stance: str = "support", outcome: str = "failure", **details: object) -> Cited:
    piece = Cited(f"e{n}", ("c1",), stance, f"g{n}", f"t{n}", outcome, "verifier", "ops")
    return replace(piece, **details)  # type: ignore[arg-type]


BRIEF = Brief(
    namespace="acme/shop",
    family_label="shop orders",
    predicate=avoid("cancel_order").canonical("shop"),
    statement="Done in 2 of 31 successes and 19 of 24 failures.",
    statistics=statistics(Found(avoid("cancel_order"), (), exceptions=("t8", "t9~ab12cd"))),
    cited=(
        cited(1, environment=(("api", "3.2"),)),
        cited(2, environment=(("api", "3.4"),)),
        cited(3, "counter", "success", environment=(("api", "3.4"),)),
        cited(9, "counter", "success", environment=(("api", "3.4"),)),
    ),
    owner="ana",
    recheck_at="2027-02-28",
)


def test_the_same_brief_gives_the_same_draft_and_hash() -> None:
    assert StatisticalDrafter().draft(BRIEF) == StatisticalDrafter().draft(replace(BRIEF))
    assert BRIEF.prompt_hash == replace(BRIEF).prompt_hash


@pytest.mark.parametrize("changed", [{"statement": "x"}, {"cited": BRIEF.cited[:2]}, {"owner": "bo"}])
def test_the_prompt_hash_covers_every_input(changed: dict[str, object]) -> None:
    assert replace(BRIEF, **changed).prompt_hash != BRIEF.prompt_hash  # type: ignore[arg-type]


def test_the_inputs_are_the_episodes_and_nothing_else() -> None:
    assert BRIEF.inputs == ["e1", "e2", "e3", "e9"]


def test_a_draft_is_complete_but_for_its_checks() -> None:
    drafted = StatisticalDrafter().draft(BRIEF)
    assert missing_parts(drafted.content, drafted.packet) == ["tier_why is missing", "checks is missing"]
    assert drafted.content["scope"]["environment"] == {"api": ">=3.2,<=3.4"}
    assert drafted.mode == "corrective"


def test_a_candidate_keeps_its_identity_and_shares_it_with_no_other_namespace_or_family() -> None:
    predicate = avoid("cancel_order")
    assert BRIEF.candidate_id == candidate_id("acme/shop", predicate.canonical("shop"))
    others = {
        candidate_id("acme/other", predicate.canonical("shop")),
        candidate_id("acme/shop", predicate.canonical("other")),
        candidate_id("acme/shop", predicate.toward("do").canonical("shop")),
    }
    assert BRIEF.candidate_id not in others
    assert len(others) == 3


def test_evidence_counts_groups_and_a_group_with_both_counts_against() -> None:
    pieces = [cited(1), cited(1, episode_id="e1b"), cited(2), cited(3), cited(3, "counter")]
    counted = count_evidence(pieces)
    assert (counted["support"], counted["counter"], counted["independent_groups"]) == (2, 1, 3)


def test_the_counter_example_is_of_an_excepted_task() -> None:
    shown = counter_example(BRIEF)
    assert shown["episode_id"] == "e9"
    assert shown["why"] == "in task t9, `cancel_order` was called, and the run ended in success"


def test_no_counter_example_is_said_so() -> None:
    shown = counter_example(replace(BRIEF, cited=BRIEF.cited[:2]))
    assert (shown["episode_id"], shown["why"]) == (None, "no run behind this finding speaks against it")


def test_rank_is_the_cautious_effect_times_the_runs_reached() -> None:
    strong = {"effect": {"low": 0.05, "high": 0.5}, "reach": {"runs": 10}}
    unbounded = {"effect": {"low": 2.0, "high": None}, "reach": {"runs": 10}}
    none = {"effect": {"low": 0.5, "high": 1.5}, "reach": {"runs": 1000}}
    assert expected_gain(strong) == expected_gain(unbounded) == pytest.approx(6.931472)
    assert expected_gain({**strong, "effect": {"low": 0, "high": 0.5}}) == pytest.approx(6.931472)
    assert expected_gain(none) == 0


def test_reach_counts_the_runs_it_speaks_of() -> None:
    rows = [{"success_with": 1, "success_without": 2, "failure_with": 3, "failure_without": 4}]
    assert reach(rows) == {"runs": 10, "did": 4}
