"""Risk: what following the advice makes an agent do, not what it speaks of."""

from __future__ import annotations

import pytest

from tasks.contrast.predicate import Predicate
from tasks.verify.tier import risk_of, tier_of


@pytest.mark.parametrize(
    ("kind", "parts", "direction", "tier"),
    [
        ("call-present", ("cancel_reservation",), "avoid", "standard"),
        ("call-present", ("cancel_reservation",), "do", "high"),
        ("call-present", ("update_notes",), "do", "standard"),
        ("call-present", ("get_payment_methods",), "do", "standard"),
        ("missing-check", ("get_order", "refund_order"), "avoid", "standard"),
        ("missing-check", ("get_order", "refund_order"), "do", "high"),
        ("recovery", ("get_order", "not found", "delete_order"), "do", "high"),
        ("recovery", ("delete_order", "not found", "get_order"), "do", "standard"),
        ("argument", ("send_money", "speed", "1"), "do", "high"),
        ("order", ("get_user", "send_money"), "do", "standard"),
        ("environment", ("api", "3"), "avoid", "standard"),
    ],
)
def test_only_advice_that_does_something_risky_or_drops_a_check_is_high(
    kind: str, parts: tuple[str, ...], direction: str, tier: str
) -> None:
    predicate = Predicate(kind, parts, direction).canonical("f")  # type: ignore[arg-type]
    found = tier_of(predicate, external=False)
    assert (found.tier, bool(found.why)) == (tier, True)


def test_external_evidence_makes_anything_high() -> None:
    predicate = Predicate("call-present", ("get_order",), "do").canonical("f")
    assert tier_of(predicate, external=True).tier == "high"


def test_text_that_reads_as_an_order_makes_anything_high() -> None:
    predicate = Predicate("call-present", ("get_order",), "avoid").canonical("f")
    found = tier_of(predicate, external=False, ordered=True)
    assert found.tier == "high"
    assert "order to the agent" in found.why


def test_only_advice_to_avoid_is_said_to_hold_back() -> None:
    claim = Predicate("call-present", ("get_order",))
    assert "hold back" in tier_of(claim.toward("avoid").canonical("f"), external=False).why
    assert "hold back" not in tier_of(claim.toward("do").canonical("f"), external=False).why


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("refundOrder", "money"),
        ("grant_access", "permissions"),
        ("reset_password", "credentials"),
        ("send_message", "external calls"),
        ("files.delete", "deletion"),
        ("get_refund_policy", None),
        ("paint_wall", None),
    ],
)
def test_risk_is_told_by_whole_words_of_the_name(call: str, kind: str | None) -> None:
    assert risk_of(call) == kind
