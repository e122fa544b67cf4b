"""What the packet of a candidate holds once another was merged into it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tasks.cluster.kin import Worded
from tasks.contrast.predicate import Predicate
from tasks.stage.merge import Link, Said, entry, merged_packet, united, why_not
from tasks.stage.settle import packet_hash

AT = datetime(2026, 11, 30, 3, tzinfo=UTC)
EFFECT = {"odds_ratio": 0.1, "low": 0.05, "high": 0.4}
ONE = Predicate("call-present", ("pay",), "avoid")
TWO = Predicate("missing-check", ("look", "pay"), "avoid")


def packet(support: list[str], counter: list[str] = [], **given: Any) -> dict[str, Any]:  # noqa: B006  never written to
    evidence = {
        "support": len(support), "counter": len(counter), "independent_groups": len(support) + len(counter),
        "principals": 1, "groups": {"support": support, "counter": counter}, "read": [], "tainted": [], "stale": [],
    }  # fmt: skip
    return {"effect": EFFECT, "evidence": evidence, "also_worded": [], "conflicts": []} | given


def content(predicate: Predicate, **scope: Any) -> dict[str, Any]:
    return {"predicate": predicate.canonical("f"), "scope": {"namespace": "n", "environment": {}, "agents": []} | scope,
            "when_to_use": "w", "guidance": ["g"]}  # fmt: skip


def other(support: list[str], counter: list[str] = [], **given: Any) -> list[dict[str, Any]]:  # noqa: B006
    return entry("b", "B", "hash-b", content(TWO), packet(support, counter, **given), by="u", reason="same", at=AT)


def links(support: list[str], counter: list[str] = []) -> list[Link]:  # noqa: B006
    return [Link(f"e-{group}", "support", group) for group in support] + [
        Link(f"e-{group}", "counter", group) for group in counter
    ]


def test_an_episode_counts_once_for_a_stance() -> None:
    mine = links(["g1", "g2"])
    theirs = [*links(["g2", "g3"], ["g1"]), *links(["g3"])]
    assert united(mine, theirs) == [Link("e-g3", "support", "g3"), Link("e-g1", "counter", "g1")]


def test_the_counts_are_of_the_union_and_say_so_and_the_effect_is_not_touched() -> None:
    made = merged_packet(packet(["g1", "g2"]), other(["g2", "g3"]), links(["g1", "g2", "g3"]))
    evidence = made["evidence"]
    assert (evidence["support"], evidence["independent_groups"]) == (3, 3)
    assert evidence["groups"]["support"] == ["g1", "g2", "g3"]
    assert "counted once" in evidence["counts"]
    assert made["effect"] == EFFECT


def test_a_group_that_speaks_against_one_of_them_does_not_support_the_other() -> None:
    made = merged_packet(packet(["g1", "g2"]), other([], ["g2"]), [*links(["g1", "g2"]), Link("e-x", "counter", "g2")])
    assert made["evidence"]["groups"] == {"support": ["g1"], "counter": ["g2"]}
    assert made["evidence"]["counter"] == 1


def test_counts_that_go_beyond_what_is_cited_are_not_added_up() -> None:
    mine = packet(["g1"])
    mine["evidence"]["support"] = 40
    theirs = other(["g2"])
    theirs[0]["evidence"]["support"] = 30
    assert merged_packet(mine, theirs, links(["g1", "g2"]))["evidence"]["support"] == 40


def test_the_other_wording_is_known_and_the_conflict_between_the_two_is_over() -> None:
    conflicts = [{"with": "candidate:b", "kind": "duplicate"}, {"with": "rule:c@1", "kind": "overlap"}]
    made = merged_packet(
        packet(["g1"], conflicts=conflicts), other(["g2"], also_worded=[ONE.canonical("f")]), links(["g1", "g2"])
    )
    assert made["also_worded"] == [TWO.canonical("f"), ONE.canonical("f")]
    assert [row["with"] for row in made["conflicts"]] == ["rule:c@1"]


def test_rules_that_the_others_runs_had_read_stay_known() -> None:
    theirs = other(["g2"])
    theirs[0]["evidence"]["read"] = [["rule-a", 1]]
    assert merged_packet(packet(["g1"]), theirs, links(["g1", "g2"]))["evidence"]["read"] == [["rule-a", 1]]


def test_what_was_merged_into_the_other_goes_along() -> None:
    earlier = other(["g9"])
    found = entry("c", "C", "hash-c", content(ONE), packet(["g3"], merged=earlier), by="u", reason="r", at=AT)
    assert [one["id"] for one in found] == ["c", "b"]


def test_a_merge_is_seen_in_the_hash_of_the_packet_and_none_is_not() -> None:
    plain = packet(["g1"])
    made = merged_packet(plain, other([]), links(["g1"]))
    assert packet_hash(made) != packet_hash(plain)
    assert merged_packet(made, [], links(["g1"])).get("merged") is None
    assert merged_packet(plain, [], links(["g1"])) == plain


@pytest.mark.parametrize(
    ("one", "two", "says"),
    [
        (content(ONE), content(TWO), ""),
        (content(ONE), content(Predicate("call-present", ("pay",), "do")), "opposite"),
        (content(ONE, agents=["ann"]), content(ONE, agents=["bob"]), "no run"),
    ],
)
def test_what_is_opposite_or_elsewhere_is_no_duplicate(one: dict[str, Any], two: dict[str, Any], says: str) -> None:
    found = why_not(one, two)
    assert says in found
    assert bool(found) == bool(says)


def said(predicate: Predicate | None, *lines: str) -> Said:
    return Said(predicate, Worded.of(lines))


@pytest.mark.parametrize(
    ("one", "two", "why"),
    [
        (said(ONE), said(Predicate("loop", ("pay",), "avoid")), "same-calls"),
        (said(ONE), said(TWO), "shared-calls"),
        (said(None, "read the fare class first"), said(None, "read the fare class first of all"), "alike-words"),
        (said(ONE, "do not pay"), said(Predicate("loop", ("ship",), "avoid"), "ask the desk whether it left"), ""),
        (said(None), said(None), ""),
    ],
)
def test_a_likely_duplicate_says_why(one: Said, two: Said, why: str) -> None:
    assert one.likeness(two) == why
