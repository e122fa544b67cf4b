"""What may follow what."""

from __future__ import annotations

from itertools import product

import pytest

from storage.lifecycle import CANDIDATE_MOVES, SERVED, VERSION_MOVES, StateRefused, move_candidate, move_version
from storage.tables.review import CANDIDATE_STATES
from storage.tables.rules import VERSION_STATES


def test_the_table_names_every_state_that_the_database_allows() -> None:
    assert set(CANDIDATE_MOVES) == set(CANDIDATE_STATES)
    assert set(VERSION_MOVES) == set(VERSION_STATES)


@pytest.mark.parametrize(("now", "to"), list(product(CANDIDATE_STATES, repeat=2)))
def test_a_candidate_goes_where_the_table_says_and_nowhere_else(now: str, to: str) -> None:
    if to in CANDIDATE_MOVES[now]:
        assert move_candidate(now, to) == to
    else:
        with pytest.raises(StateRefused, match=f"a candidate that is {now} cannot become {to}"):
            move_candidate(now, to)


@pytest.mark.parametrize(("now", "to"), list(product(VERSION_STATES, repeat=2)))
def test_a_version_goes_where_the_table_says_and_nowhere_else(now: str, to: str) -> None:
    if to in VERSION_MOVES[now]:
        assert move_version(now, to) == to
    else:
        with pytest.raises(StateRefused, match=f"a rule version that is {now} cannot become {to}"):
            move_version(now, to)


def test_revoked_is_the_end() -> None:
    assert VERSION_MOVES["revoked"] == frozenset()


def test_everything_that_is_served_can_be_revoked() -> None:
    assert all("revoked" in VERSION_MOVES[state] for state in SERVED)


def test_only_active_versions_are_served() -> None:
    assert frozenset({"active"}) == SERVED


def test_an_unknown_state_leads_nowhere() -> None:
    with pytest.raises(StateRefused):
        move_version("lost", "active")
