"""Risk: what following the advice makes an agent do, not what it speaks of."""

from __future__ import annotations

import pytest

from tasks.contrast.predicate import Predicate
from tasks.verify.tier import risk_of, tier_of


@pytest.mark.parametrize(
    ("kind", "parts", "direction", "mixed", "tier"),
    [
        ("call-present", ("cancel_reservation",), "avoid", False, "standard"),
        ("call-present", ("cancel_reservation",), "avoid", True, "standard"),
        ("call-present", ("cancel_reservation",), "do", False, "high"),
        ("call-present", ("cancel_reservation",), "do", True, "standard"),
        ("call-present", ("update_notes",), "do", False, "standard"),
        ("call-present", ("get_payment_methods",), "do", False, "standard"),
        ("missing-check", ("get_order", "refund_order"), "avoid", False, "standard"),
        ("missing-check", ("get_order", "refund_order"), "do", False, "high"),
        ("recovery", ("get_order", "not found", "delete_order"), "do", False, "high"),
        ("recovery", ("delete_order", "not found", "get_order"), "do", False, "standard"),
        ("argument", ("send_money", "speed", "1"), "do", False, "high"),
        ("order", ("get_user", "send_money"), "do", False, "standard"),
        ("environment", ("api", "3"), "avoid", False, "standard"),
    ],
)
def test_only_advice_that_does_something_risky_or_drops_a_check_is_high(
    kind: str, parts: tuple[str, ...], direction: str, mixed: bool, tier: str
) -> None:
    predicate = Predicate(kind, parts, direction).canonical("f")  # type: ignore[arg-type]
    found = tier_of(predicate, mixed=mixed, external=False)
    assert (found.tier, bool(found.why)) == (tier, True)


def test_external_evidence_makes_anything_high() -> None:
    predicate = Predicate("call-present", ("get_order",), "do").canonical("f")
    assert tier_of(predicate, mixed=False, external=True).tier == "high"


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
