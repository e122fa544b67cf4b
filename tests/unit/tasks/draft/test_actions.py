"""Keep, remove, consolidate: what a regime lets a night do with a cluster."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.draft.actions import Situation, decide, marked, regime_of
from tasks.draft.modes import Choice, Past, choose
from tasks.draft.profile import Profile

NIGHT = date(2026, 11, 30)
situations = st.builds(
    Situation, st.integers(0, 9), st.integers(0, 99), st.integers(0, 3), st.integers(0, 3),
    st.lists(st.just("avoid-x version 1 reversed"), max_size=2).map(tuple), st.booleans(),
)  # fmt: skip


def choice(mode: str) -> Choice:
    """What the bandit says of a cluster whose own past speaks for one mode."""
    profile = Profile(frozenset({"order"}), successes=5, failures=5)
    made = choose(profile, "c", "f", NIGHT, [Past("r", "c", "f", NIGHT, mode, profile, 1.0)])  # type: ignore[arg-type]
    assert made.mode == mode
    return made


MODES = ("none", "imitation", "strategic", "corrective")
choices = st.sampled_from(MODES).map(choice)


@pytest.mark.parametrize(
    ("now", "mode", "action", "may_write"),
    [
        (Situation(new=4, runs=9), "strategic", "consolidate", True),
        (Situation(new=4, runs=9), "none", "keep", False),
        (Situation(new=0, runs=9), "strategic", "keep", False),
        (Situation(new=1, runs=1), "strategic", "keep", False),
        (Situation(new=4, runs=9, findings=2, known=2), "strategic", "keep", False),
        (Situation(new=4, runs=9, findings=2, known=1), "strategic", "consolidate", True),
        (Situation(new=0, runs=9, findings=1), "strategic", "consolidate", False),
        (Situation(new=4, runs=9, findings=1), "none", "consolidate", False),
        (Situation(new=4, runs=9, failing=("x",)), "corrective", "remove", True),
    ],
)
def test_what_a_night_does_with_a_cluster(now: Situation, mode: str, action: str, may_write: bool) -> None:
    decided = decide("auto", choice(mode), now)
    assert (decided.action, decided.may_write, decided.mode) == (action, may_write, mode)
    assert decided.why


@pytest.mark.parametrize(("findings", "mode", "action"), [(0, "none", "keep"), (1, "strategic", "consolidate")])
def test_where_no_model_writes_only_a_finding_makes_text(findings: int, mode: str, action: str) -> None:
    decided = decide("auto", choice("strategic"), Situation(new=4, runs=9, findings=findings, writer=False))
    assert (decided.mode, decided.action, decided.may_write) == (mode, action, False)
    assert ("strategic would score best, but no model writes here" in decided.why) == (not findings)


@given(choices, situations)
def test_an_episodic_namespace_has_no_text_made(chosen: Choice, now: Situation) -> None:
    decided = decide("episodic", chosen, now)
    assert (decided.mode, decided.may_write) == ("none", False)
    assert decided.action == ("remove" if now.failing else "keep")


@given(choices, situations)
def test_force_always_writes_and_says_so(chosen: Choice, now: Situation) -> None:
    decided = decide("force", chosen, now)
    assert (decided.action, decided.may_write) == ("consolidate", True)
    assert decided.mode != "none"
    assert "forced" in decided.why


@given(choices, situations)
def test_nothing_is_written_by_itself_where_nothing_changed(chosen: Choice, now: Situation) -> None:
    decided = decide("auto", chosen, now)
    if decided.may_write:
        assert now.new > 0
        assert decided.action != "keep"
        assert decided.mode != "none"


def test_an_unknown_or_absent_regime_is_auto() -> None:
    assert [regime_of(policy) for policy in ({}, {"regime": "force"}, {"regime": "x"})] == ["auto", "force", "auto"]


def test_only_a_policy_makes_forced_drafts_approvable() -> None:
    assert "forced" not in marked({"summary": "x"}, "auto", {"approve_forced": True})
    assert marked({}, "force", {})["forced"]["approvable"] is False
    assert marked({}, "force", {"approve_forced": True})["forced"]["approvable"] is True
