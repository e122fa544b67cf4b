"""Which run stands for a cluster, and what of it an exemplar holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tasks.draft.exemplars import LONGEST_TASK, Shown, Source, content, exemplar_id, medoid, packet, shown, words_of
from tasks.promote.packet import missing_parts

RUNS = [
    Shown("e1", "g1", ("find", "read", "pay"), 9),
    Shown("e2", "g2", ("find", "read", "read", "pay"), 7),
    Shown("e3", "g3", ("find", "read", "pay"), 7),
    Shown("e4", "g4", ("wait", "wait"), 2),
    Shown("e5", "g5", (), 1),
]
SOURCE = Source("acme/shop", "orders", "Cancel it " * 80, "verifier", {"api": "3.2"}, "ops", "2027-02-28", 5)
runs = st.lists(
    st.builds(Shown, st.uuids().map(str), st.just("g"), st.lists(st.sampled_from("abc")).map(tuple), st.integers(1, 9)),
    max_size=8,
)


def test_the_run_most_like_the_others_stands_for_them_and_of_two_the_shorter() -> None:
    chosen = medoid(RUNS)
    assert chosen is not None
    assert chosen.episode_id == "e3"


def test_runs_that_did_nothing_are_no_example() -> None:
    assert medoid(RUNS[4:]) is None
    assert medoid([]) is None


@given(runs)
def test_the_choice_does_not_hang_on_the_order(found: list[Shown]) -> None:
    assert medoid(found) == medoid(found[::-1])


def test_a_users_own_calls_are_not_the_agents() -> None:
    body = {"steps": [{"id": "1", "kind": "user", "text": "hi"}, {"id": "2", "kind": "tool_call", "name": "reset",
            "requestor": "user"}, {"id": "3", "kind": "tool_call", "name": "look"}]}  # fmt: skip
    assert shown("e", "g", body) == Shown("e", "g", ("look",), 3, ("3",))


def test_an_exemplar_points_to_its_episode_and_its_packet_is_whole() -> None:
    made, told = content(RUNS[0], SOURCE), packet(RUNS[0], SOURCE)
    assert made["exemplar"]["episode_id"] == "e1"
    assert len(made["exemplar"]["task"]) == LONGEST_TASK
    assert "guidance" not in made
    assert missing_parts(made, told) == []
    assert told["tier"] == "low"


def test_an_exemplar_is_its_episodes_whatever_the_cluster() -> None:
    assert exemplar_id("a", "e1") == exemplar_id("a", "e1")
    assert len({exemplar_id("a", "e1"), exemplar_id("a", "e2"), exemplar_id("b", "e1")}) == 3


def test_calls_are_told_in_order_with_repeats_counted() -> None:
    assert words_of(("find", "read", "read", "pay")) == "`find`, then `read` × 2, then `pay`"
    assert words_of(()) == "no call"
