"""The bandit of modes, by hand: who is a neighbour, what a mode scores, where it starts, how ties end."""

from __future__ import annotations

import math
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.draft.modes import DECAY, EXPLORATION, MODES, NEIGHBOURS, Mode, Past, choose, cold_start, neighbours
from tasks.draft.profile import Profile, likeness, read_profile

NIGHT = date(2026, 11, 30)
ORDERS = Profile(frozenset({"order", "cancel"}), frozenset({"get_order"}), 12, 8)
words = st.frozensets(st.sampled_from(["order", "cancel", "trip", "fare", "票", "予約"]), max_size=4)
profiles = st.builds(Profile, words, words, st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))


def past(
    mode: Mode, reward: float, *, age: int = 0, profile: Profile = ORDERS, cluster: str = "c", family: str = "f"
) -> Past:
    return Past(f"run-{age:04}", cluster, family, NIGHT - timedelta(days=age), mode, profile, reward)


pasts = st.lists(
    st.builds(
        lambda mode, reward, age, profile, cluster, family: past(
            mode, reward, age=age, profile=profile, cluster=cluster, family=family
        ),
        st.sampled_from(MODES), st.floats(-1, 1), st.integers(0, 900), profiles,
        st.sampled_from(["a", "b", "c"]), st.sampled_from(["f", "g"]),
    ),
    max_size=25,
)  # fmt: skip


def test_a_score_is_the_weighted_mean_reward_and_a_bonus_for_being_little_tried() -> None:
    seen = [past("strategic", 1.0, age=0), past("strategic", -0.5, age=100), past("corrective", 0.2, age=3)]
    choice = choose(ORDERS, "new", "elsewhere", NIGHT, seen)
    strategic, corrective, none = (choice.score_of(mode) for mode in ("strategic", "corrective", "none"))
    old = 0.998**100
    assert strategic.n == 2
    assert strategic.mean == pytest.approx((1.0 - 0.5 * old) / (1 + old))
    assert strategic.bonus == pytest.approx(0.5 * math.sqrt(math.log(3) / 2))
    assert corrective.score == pytest.approx(0.2 + 0.5 * math.sqrt(math.log(3) / 1))
    assert (none.n, none.mean) == (0, 0.0)
    assert none.bonus == corrective.bonus, "untried counts as tried once"
    assert choice.mode == max(choice.scores, key=lambda score: score.score).mode == "corrective"


def test_a_neighbours_weight_is_its_likeness_fading_by_the_night() -> None:
    half = Profile(frozenset({"order", "trip"}), ORDERS.tools, 12, 8)
    (near,) = neighbours(ORDERS, NIGHT, [past("none", 0.5, age=10, profile=half)])
    assert near.similarity == pytest.approx(0.4 * 0.5 + 0.3 + 0.2 + 0.1)
    assert near.weight == pytest.approx(near.similarity * DECAY**10)


def test_at_most_ten_neighbours_count_and_the_younger_of_two_alike() -> None:
    seen = [past("strategic", 1.0, age=age) for age in range(30)]
    found = neighbours(ORDERS, NIGHT, seen)
    assert [one.age for one in found] == list(range(NEIGHBOURS))


def test_what_shares_nothing_is_no_neighbour() -> None:
    stranger = Profile(frozenset({"trip"}), frozenset({"get_fare"}), 0, 0)
    assert neighbours(ORDERS, NIGHT, [past("strategic", 1.0, profile=stranger)]) == ()


def test_a_later_night_is_no_older_than_tonight() -> None:
    (near,) = neighbours(ORDERS, NIGHT, [past("none", 0.0, age=-5)])
    assert (near.age, near.weight) == (0, pytest.approx(near.similarity))


@pytest.mark.parametrize(
    ("won", "lost", "mode"),
    [(9, 0, "imitation"), (9, 4, "strategic"), (4, 9, "corrective"), (0, 9, "corrective"), (0, 0, "none")],
)
def test_a_cluster_without_a_past_starts_by_what_it_has(won: int, lost: int, mode: str) -> None:
    choice = choose(Profile(successes=won, failures=lost, other=1), "c", "f", NIGHT, [])
    assert choice.mode == mode
    assert all(score.bonus == 0 for score in choice.scores)


def test_a_mode_nobody_tried_starts_from_other_clusters_of_the_family() -> None:
    far = Profile(frozenset({"trip"}), frozenset({"get_fare"}))
    seen = [
        past("imitation", 0.8, profile=far, cluster="other"),
        past("imitation", 0.4, profile=far, cluster="another"),
        past("imitation", -1.0, profile=far, family="another family"),
        past("imitation", -1.0, profile=far, cluster="me"),
    ]
    start, why = cold_start(ORDERS, "me", "f", seen)
    assert start["imitation"] == pytest.approx(0.6)
    assert start["strategic"] == 0.3
    assert "2 other clusters of its family" in why
    assert choose(ORDERS, "me", "f", NIGHT, seen).mode == "imitation"


@given(profiles, pasts)
def test_the_same_past_in_any_order_gives_the_same_choice(profile: Profile, seen: list[Past]) -> None:
    one, two = (choose(profile, "c", "f", NIGHT, order) for order in (seen, seen[::-1]))
    assert one.mode == two.mode
    assert [score.n for score in one.scores] == [score.n for score in two.scores]
    assert sorted(n.weight for n in one.neighbours) == sorted(n.weight for n in two.neighbours)


@given(profiles, pasts)
def test_no_score_is_beyond_what_rewards_and_exploration_allow(profile: Profile, seen: list[Past]) -> None:
    choice = choose(profile, "c", "f", NIGHT, seen)
    most = EXPLORATION * math.sqrt(math.log(NEIGHBOURS))
    assert [score.mode for score in choice.scores] == list(MODES)
    assert sum(score.n for score in choice.scores) == len(choice.neighbours) <= NEIGHBOURS
    for score in choice.scores:
        assert -1 - 1e-9 <= score.mean <= 1 + 1e-9
        assert 0 <= score.bonus <= most
        assert score.score == score.mean + score.bonus
        assert score.score <= choice.score_of(choice.mode).score + 1e-9
    assert choice.words()


@given(profiles, profiles)
def test_likeness_is_symmetric_from_0_to_1_and_1_with_itself(one: Profile, two: Profile) -> None:
    assert likeness(one, two) == pytest.approx(likeness(two, one))
    assert 0 <= likeness(one, two) <= 1
    assert likeness(one, one) == pytest.approx(1)
    assert read_profile(one.as_dict()) == one
