from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tasks.contrast.cap import allowances


@given(st.dictionaries(st.integers(0, 5), st.integers(0, 60), max_size=6), st.integers(0, 80))
def test_no_principal_brings_more_than_a_third_and_none_gains(counts: dict[int, int], free: int) -> None:
    allowed = allowances(counts, free)
    total = free + sum(allowed.values())
    assert all(3 * many <= total for many in allowed.values())
    assert all(allowed[one] <= counts[one] for one in counts)


@given(st.integers(1, 60), st.integers(0, 80))
def test_one_token_beside_operators_keeps_what_a_third_allows(mine: int, free: int) -> None:
    assert allowances({0: mine}, free) == {0: min(mine, free // 2)}
