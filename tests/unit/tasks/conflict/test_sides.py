"""What a conflict says of its sides."""

from __future__ import annotations

from datetime import UTC, datetime

from tasks.conflict.mixed import Mixed
from tasks.conflict.sides import as_claim, mixed_row, stated_side
from tasks.conflict.statements import sentences_of


def test_mixed_outcomes_are_told_in_figures() -> None:
    detail = mixed_row("acme", Mixed("f", "refund", "act", success=5, failure=10), [], [])["detail"]
    assert "task refund" in detail
    assert "failed in 10, succeeded in 5 independent groups" in detail


def test_a_title_is_no_sentence() -> None:
    assert as_claim("r", {"guidance": ["Call `a` first.", "Then go on."]}).title == "Call `a` first"


def test_a_fact_is_so_since_it_was_first_said() -> None:
    first, last = datetime(2026, 3, 5, tzinfo=UTC), datetime(2026, 3, 7, tzinfo=UTC)
    said = tuple(statement for when in (first, last) for statement in sentences_of("The port is 8080", when))
    assert len(said) == 2
    assert stated_side(said)["said_at"] == "2026-03-05T00:00:00+00:00"
