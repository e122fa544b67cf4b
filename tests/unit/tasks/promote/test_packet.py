"""Complete packets, what agents are told of the evidence, and names of rules."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tasks.contrast.predicate import Predicate
from tasks.promote.naming import rule_id
from tasks.promote.packet import missing_parts, puts_aside, recheck_date, served_evidence

CONTENT = {"when_to_use": "w", "guidance": ["g"], "scope": {"namespace": "n", "recheck_at": "2027-02-28"}}
PACKET = {
    "summary": "s",
    "evidence": {"support": 19, "counter": 2, "independent_groups": 55},
    "effect": {"odds_ratio": 0.1},
    "held_out": {"odds_ratio": 0.2, "low": 0.1, "high": None},
    "verification_method": "m",
    "counter_example": {"why": "none"},
    "owner": "o",
    "authoritative_source": "a",
    "tier_why": "t",
    "checks": [{"name": "scope", "verdict": "pass"}, {"name": "agent", "verdict": "warn"}],
}


def test_a_whole_packet_misses_nothing_and_warnings_do_not_block() -> None:
    assert missing_parts(CONTENT, PACKET) == []


@pytest.mark.parametrize("part", sorted(PACKET))
def test_each_part_of_the_packet_is_required(part: str) -> None:
    assert f"{part} is missing" in missing_parts(CONTENT, {**PACKET, part: None})


@pytest.mark.parametrize("part", sorted(CONTENT))
def test_each_part_of_the_content_is_required(part: str) -> None:
    assert f"{part} is missing" in missing_parts({**CONTENT, part: None}, PACKET)


def test_a_failed_check_blocks_and_is_quoted() -> None:
    checks = [{"name": "secrets", "verdict": "fail", "detail": "holds a key"}]
    assert missing_parts(CONTENT, {**PACKET, "checks": checks}) == ["check “secrets” failed: holds a key"]


def test_agents_are_told_groups_and_held_out_lift() -> None:
    assert served_evidence(PACKET) == {
        "independent_groups": 55,
        "support": 19,
        "counter": 2,
        "lift": {"odds_ratio": 0.2, "low": 0.1, "high": None},
    }


def test_what_is_put_aside_is_read_from_the_conflicts() -> None:
    conflicts = [
        {"with": "rule:avoid-x-3f2a1c@3", "supersedes": True},
        {"with": "rule:old@1", "supersedes": False},
        {"with": "candidate:abc", "supersedes": False},
    ]
    assert puts_aside({"conflicts": conflicts}) == ([("avoid-x-3f2a1c", 3)], ["abc"])


def test_the_recheck_date_is_midnight_utc() -> None:
    assert recheck_date(CONTENT) == datetime(2027, 2, 28, tzinfo=UTC)
    assert recheck_date({}) is None


@pytest.mark.parametrize(
    ("predicate", "name"),
    [
        (Predicate("call-present", ("cancel_reservation",), "avoid"), "avoid-cancel-reservation-3f2a1c"),
        (Predicate("missing-check", ("get_order", "refund"), "avoid"), "avoid-get-order-refund-3f2a1c"),
        (Predicate("recovery", ("pay", "Card «declined»!", "get"), "do"), "do-pay-card-declined-get-3f2a1c"),
    ],
)
def test_rules_are_named_after_what_they_speak_of(predicate: Predicate, name: str) -> None:
    assert rule_id(predicate.canonical("f"), "3f2a1c9900") == name


def test_a_name_is_short_and_plain_whatever_the_claim_holds() -> None:
    hostile = Predicate("argument", ("ship", "where", "../../<b>" + "x" * 300), "do").canonical("f")
    found = rule_id(hostile, "3f2a1c9900")
    assert len(found) < 60
    assert set(found) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert rule_id({}, "3f2a1c9900") == "rule-3f2a1c"
