"""No agent's token makes a recovery by itself, however many sessions others bring of other things."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.contrast.recoveries.attempts import Chain, Done, Retry
from tasks.contrast.recoveries.counted import within_caps
from tasks.contrast.recoveries.judge import Strictness, judge
from tasks.contrast.recoveries.trials import Told, build_trials

BROUGHT = st.dictionaries(
    st.integers(0, 80).map(str), st.tuples(st.sampled_from([None, "one", "two", "three"]), st.booleans()), max_size=60
)


def told(number: int, error: str, principal: str | None, *, did: bool, worked: bool) -> Told:
    retry = Retry(worked, "r", (Done("fix", None, "d"),) if did else ())
    chain = Chain("make", error, error, "f", (retry,))
    return Told(f"e{number}", f"g{number}", f"a{number % 3}", principal, "run1", (chain,))


def planted(start: int, count: int, error: str, *, always: bool = False) -> list[Told]:
    """Sessions of one token after which its remedy always works."""
    return [
        told(n, error, "token", did=always or n % 2 == 0, worked=always or n % 2 == 0)
        for n in range(start, start + count)
    ]


def confirmed(sessions: Sequence[Told]) -> list[str]:
    trials = build_trials(sessions, salt="salt")
    return [one.verdict for one in judge(trials, Strictness(0.03, 0.1, "salt")).found if one.verdict == "confirmed"]


def operators(count: int, error: str) -> list[Told]:
    return [told(n, error, None, did=False, worked=n % 3 == 0) for n in range(count)]


@pytest.mark.parametrize("error", ["error: another thing", "error: the same thing"])
def test_one_token_alone_makes_no_recovery_whatever_others_bring(error: str) -> None:
    sessions = operators(240, "error: the same thing")
    token = planted(1000, 110, error, always=error == "error: the same thing")
    assert confirmed([*sessions, *token]) == []
    assert build_trials([*sessions, *token], salt="salt").dropped_by_cap >= 30
    assert confirmed([*sessions, *(replace(one, principal=None) for one in token)]) == ["confirmed"]


def test_a_token_that_brings_a_third_of_a_recovery_counts_whole() -> None:
    mine = planted(0, 40, "error: it broke")
    others = [replace(one, principal=None) for one in planted(100, 80, "error: it broke")]
    trials = build_trials([*mine, *others], salt="salt")
    assert trials.dropped_by_cap == 0
    assert trials.sample.columns.mask.all()


def test_which_groups_count_does_not_depend_on_how_they_ended() -> None:
    others = [replace(one, principal=None) for one in planted(100, 40, "error: it broke")]
    mine = planted(0, 60, "error: it broke")
    flipped = [
        replace(one, chains=tuple(replace(c, retries=tuple(replace(r, worked=not r.worked) for r in c.retries))
                                  for c in one.chains))
        for one in mine
    ]  # fmt: skip
    one, two = (build_trials([*sessions, *others], salt="salt") for sessions in (mine, flipped))
    assert one.dropped_by_cap == two.dropped_by_cap > 0
    assert (one.sample.columns.mask == two.sample.columns.mask).all()


@given(BROUGHT)
def test_no_principal_has_more_than_a_third_of_those_that_did_it_or_of_all(
    drawn: dict[str, tuple[str | None, bool]],
) -> None:
    brought = {group: principal for group, (principal, _) in drawn.items()}
    doing = {group for group, (_, did) in drawn.items() if did}
    kept = within_caps(brought, doing, "salt")
    assert {group for group, principal in brought.items() if principal is None} <= kept
    for some in (kept, kept & doing):
        counts = Counter(brought[group] for group in some)
        assert all(3 * count <= len(some) for principal, count in counts.items() if principal is not None)
