"""One finding keeps one text."""

from __future__ import annotations

from datetime import date
from typing import Any

from tasks.stage.settle import packet_hash, same_advice, settled

TODAY = date(2026, 11, 30)


def content(recheck: str, words: str = "Check first") -> dict[str, Any]:
    return {"when_to_use": "w", "guidance": [words], "scope": {"namespace": "n", "recheck_at": recheck}}


def test_a_later_night_keeps_the_date_set_first() -> None:
    kept = settled(content("2027-03-01"), [content("2027-02-28")], TODAY, waiting=True)
    assert kept == content("2027-02-28")


def test_a_date_that_passed_is_set_anew_only_while_the_candidate_waits() -> None:
    earlier = [content("2026-11-30")]
    assert settled(content("2027-03-01"), earlier, TODAY, waiting=True) == content("2027-03-01")
    assert settled(content("2027-03-01"), earlier, TODAY, waiting=False) == content("2026-11-30")


def test_words_that_come_back_come_back_to_the_letter() -> None:
    earlier = [content("2027-02-28", "Other words"), content("2027-02-20")]
    assert settled(content("2027-03-01"), earlier, TODAY, waiting=True) == content("2027-02-20")


def test_other_words_are_other_advice() -> None:
    assert same_advice(content("a"), content("b"))
    assert not same_advice(content("a"), content("a", "Other words"))


def test_the_packet_hash_covers_evidence_and_not_what_the_rest_of_the_night_changes() -> None:
    packet = {"effect": {"low": 0.1, "q_value": 0.01}, "evidence": {"support": 2}, "held_out": {"folds": [1]}}
    other_night = {**packet, "effect": {"low": 0.1, "q_value": 0.02}, "held_out": {"folds": [2]}}
    more = {**packet, "evidence": {"support": 3}}
    assert packet_hash(packet) == packet_hash(other_night)
    assert packet_hash(packet) != packet_hash(more)


def test_a_failed_check_that_another_policy_lets_pass_makes_another_packet() -> None:
    """Else what waits would keep the policy of the night that staged it."""
    failed = {"name": "recall", "verdict": "fail"}
    assert packet_hash({"checks": [failed]}) != packet_hash({"checks": [{**failed, "blocks": False}]})
    assert packet_hash({"checks": [failed]}) == packet_hash({"checks": [{**failed, "blocks": True}]})
