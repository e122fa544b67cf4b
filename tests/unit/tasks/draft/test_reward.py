"""What a choice was worth: what became of its drafts, less what the model cost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.draft.reward import WORTH, Fate, fate_of, judge, reward

CHOSEN = datetime(2026, 11, 30, 3, tzinfo=UTC)
LATER, BEFORE = CHOSEN + timedelta(hours=9), CHOSEN - timedelta(days=1)
FATES = get_args(Fate)


@pytest.mark.parametrize(
    ("fate", "held", "state", "moved", "revoked"),
    [
        ("failed-checks", True, None, None, False),
        ("failed-checks", True, "promoted", LATER, False),
        ("left-out", False, None, None, False),
        ("approved", False, "promoted", LATER, False),
        ("revoked", False, "promoted", LATER, True),
        ("rejected", False, "rejected", LATER, False),
        ("withdrawn", False, "void", LATER, False),
        ("waiting", False, "staged", LATER, False),
        ("waiting", False, "approved", LATER, False),
        ("nothing-new", False, "promoted", BEFORE, False),
        ("nothing-new", False, "rejected", BEFORE, False),
    ],
)
def test_what_became_of_a_draft(
    fate: str, held: bool, state: str | None, moved: datetime | None, revoked: bool
) -> None:
    assert fate_of(held=held, state=state, moved_at=moved, revoked=revoked, chosen_at=CHOSEN) == fate


@pytest.mark.parametrize(
    ("fates", "calls", "worth"),
    [
        (["approved"], 0, 1.0),
        (["approved"], 4, 0.8),
        (["rejected"], 1, -1.0),
        (["approved", "rejected"], 0, 0.0),
        (["approved", "failed-checks", "waiting"], 2, 0.15),
        (["waiting"], 3, None),
        ([], 0, 0.0),
        ([], 3, -0.15),
        (["nothing-new", "left-out"], 0, 0.0),
    ],
)
def test_the_reward_is_the_mean_over_what_is_known_less_the_calls(
    fates: list[Fate], calls: int, worth: float | None
) -> None:
    known, why = judge(fates, calls)
    assert known == (None if worth is None else pytest.approx(worth))
    assert why


@given(st.floats(-1, 1), st.integers(0, 10_000))
def test_a_reward_is_clipped(y: float, calls: int) -> None:
    assert reward(y, calls) == min(1, max(-1, y - 0.05 * calls))
    assert -1 <= reward(y, calls) <= 1


@given(st.lists(st.sampled_from(FATES), max_size=8), st.integers(0, 40))
def test_a_reward_is_unknown_only_while_everything_waits(fates: list[Fate], calls: int) -> None:
    known, _ = judge(fates, calls)
    assert (known is None) == (bool(fates) and set(fates) == {"waiting"})
    assert judge(fates[::-1], calls)[0] == pytest.approx(known) if known is not None else True


def test_every_fate_has_a_worth_that_is_on_the_page(root: Path) -> None:
    page = (root / "docs" / "drafting-modes.md").read_text()
    for fate in FATES:
        worth = "not known yet" if WORTH[fate] is None else f"{WORTH[fate]:g}".replace("-", "−")
        assert f"| {fate.replace('-', ' ')} | {worth} |" in page
