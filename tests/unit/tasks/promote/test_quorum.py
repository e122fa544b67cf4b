"""The rules of deciding, without a store."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.lifecycle import CANDIDATE_MOVES, VERSION_MOVES, StateRefused, move_candidate, move_version
from tasks.promote.errors import AlreadyDecided, CandidateGone, DecisionRefused, NotAllowed, ReasonMissing, SelfApproval
from tasks.promote.people import Reviewer
from tasks.promote.quorum import QUORUM, Standing, check_person, check_reason, is_repeat, state_after

ANA = Reviewer("u1", "ana", "reviewer", ("acme",))


@pytest.mark.parametrize("namespace", ["acme", "acme/shop", "acme/shop/eu"])
def test_a_reviewer_decides_in_their_namespaces_and_below(namespace: str) -> None:
    check_person(ANA, namespace)


@pytest.mark.parametrize("namespace", ["acme1", "ac", "other/acme"])
def test_a_segment_is_a_whole_word(namespace: str) -> None:
    with pytest.raises(NotAllowed):
        check_person(ANA, namespace)


def test_a_reason_is_trimmed_and_neither_empty_nor_endless() -> None:
    assert check_reason("  seen ") == "seen"
    for bad in ("", "\t\n", "x" * 5000):
        with pytest.raises(ReasonMissing):
            check_reason(bad)


def test_a_void_candidate_takes_no_decision() -> None:
    with pytest.raises(CandidateGone):
        is_repeat("approve", Standing("void", "standard", {}), "u1")


@pytest.mark.parametrize(("verdict", "state"), [("approve", "rejected"), ("reject", "promoted")])
def test_the_opposite_of_what_closed_it_is_refused(verdict: str, state: str) -> None:
    with pytest.raises(AlreadyDecided):
        is_repeat(verdict, Standing(state, "standard", {}), "u1")  # type: ignore[arg-type]


def test_an_author_may_reject_but_not_approve() -> None:
    standing = Standing("staged", "standard", {}, frozenset({"u1"}))
    assert not is_repeat("reject", standing, "u1")
    with pytest.raises(SelfApproval):
        is_repeat("approve", standing, "u1")


VOTES = st.lists(st.tuples(st.sampled_from(["approve", "reject"]), st.sampled_from(["u1", "u2", "u3"])), max_size=8)


@given(st.sampled_from(sorted(QUORUM)), VOTES, st.frozensets(st.sampled_from(["u1", "u2"]), max_size=1))
def test_any_sequence_of_votes_keeps_the_rules(
    tier: str, votes: list[tuple[str, str]], authors: frozenset[str]
) -> None:
    state, live = "staged", {}
    for verdict, who in votes:
        standing = Standing(state, tier, live, authors)
        try:
            repeat = is_repeat(verdict, standing, who)  # type: ignore[arg-type]
        except DecisionRefused:
            continue
        if repeat:
            continue
        after = state_after(verdict, standing, who)  # type: ignore[arg-type]
        assert after == state or after in CANDIDATE_MOVES[state]
        state, live = after, {**live, who: verdict}
    approvers = {who for who, verdict in live.items() if verdict == "approve"}
    assert not approvers & authors
    if state == "promoted":
        assert len(approvers) == QUORUM[tier]
        assert "reject" not in live.values()
    if state == "approved":
        assert 0 < len(approvers) < QUORUM[tier]


@given(st.lists(st.sampled_from(sorted(VERSION_MOVES)), max_size=12))
def test_a_revoked_version_never_becomes_anything_else(path: list[str]) -> None:
    now, revoked = "active", False
    for to in path:
        try:
            now = move_version(now, to)
        except StateRefused:
            continue
        revoked = revoked or now == "revoked"
        assert not revoked or now == "revoked"


@given(st.lists(st.sampled_from(sorted(CANDIDATE_MOVES)), max_size=12))
def test_what_was_closed_is_promoted_only_after_it_was_staged_again(path: list[str]) -> None:
    now, closed = "staged", False
    for to in path:
        try:
            now = move_candidate(now, to)
        except StateRefused:
            continue
        closed = now in ("rejected", "void") or (closed and now != "staged")
        assert not (closed and now == "promoted")
