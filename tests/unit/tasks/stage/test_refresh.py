"""What a newer draft does to a candidate and its approvals."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.lifecycle import CANDIDATE_MOVES
from tasks.stage.refresh import Known, plan, void_reason
from tasks.stage.snapshot import Snapshot, snapshot

OLD = Snapshot("h1", frozenset({"a", "b"}), frozenset({"c"}), 1, low=0.1, high=0.5)


def test_more_support_voids_nothing() -> None:
    assert void_reason(OLD, replace(OLD, support=frozenset({"a", "b", "d"}), low=0.2)) is None
    assert void_reason(OLD, replace(OLD, support=frozenset({"a"}))) is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"content_hash": "h2"}, "the content changed"),
        ({"counter": frozenset({"c", "d"})}, "1 new independent group speaks against it"),
        ({"counter": frozenset({"d"})}, "1 new independent group speaks against it"),
        ({"counter_count": 3}, "2 new independent groups speak against it"),
        ({"tainted": frozenset({"e1"})}, "revoked"),
        ({"stale": frozenset({"e1"})}, "newer revision"),
        ({"high": 1.0}, "includes no effect"),
        ({"high": None}, "includes no effect"),
    ],
)
def test_each_reason_to_void_is_named(changes: dict[str, object], why: str) -> None:
    assert why in str(void_reason(OLD, replace(OLD, **changes)))  # type: ignore[arg-type]


def test_an_interval_that_always_included_no_effect_voids_nothing_new() -> None:
    wide = replace(OLD, low=0.5, high=2.0)
    assert void_reason(wide, replace(wide, high=3.0)) is None


def test_a_snapshot_reads_the_packet_as_stored() -> None:
    packet = {
        "evidence": {"counter": 4, "groups": {"support": ["a"], "counter": ["c"]}},
        "effect": {"low": 2.0, "high": None},
    }
    found = snapshot("h", packet)
    assert (found.support, found.counter, found.counter_count, found.includes_no_effect) == ({"a"}, {"c"}, 4, False)


NEW = replace(OLD, content_hash="h2")


@pytest.mark.parametrize(
    ("state", "new", "packet", "options", "kind", "after"),
    [
        ("staged", OLD, "p1", {}, "unchanged", "staged"),
        ("approved", OLD, "p2", {}, "refresh", "approved"),
        ("approved", replace(OLD, counter_count=2), "p2", {}, "refresh", "staged"),
        ("approved", NEW, "p2", {}, "refresh", "staged"),
        ("rejected", OLD, "p2", {}, "closed", "rejected"),
        ("rejected", NEW, "p2", {}, "reopen", "staged"),
        ("rejected", NEW, "p2", {"rejected": True}, "closed", "rejected"),
        ("staged", NEW, "p2", {"rejected": True}, "refresh", "rejected"),
        ("promoted", OLD, "p2", {}, "closed", "promoted"),
        ("promoted", OLD, "p2", {"revoked": True}, "reopen", "staged"),
        ("promoted", NEW, "p2", {}, "reopen", "staged"),
        ("void", OLD, "p1", {}, "unchanged", "void"),
        ("void", OLD, "p2", {}, "reopen", "staged"),
    ],
)
def test_the_plan_for_each_state(
    state: str, new: Snapshot, packet: str, options: dict[str, bool], kind: str, after: str
) -> None:
    found = plan(Known(state, OLD, "p1"), new, packet, **options)
    assert (found.kind, found.state) == (kind, after)


def test_a_new_claim_is_staged() -> None:
    assert plan(None, OLD, "p1").state == "staged"


SNAPSHOTS = st.builds(
    Snapshot,
    content_hash=st.sampled_from(["h1", "h2"]),
    counter=st.frozensets(st.sampled_from("abc")),
    counter_count=st.integers(0, 3),
    low=st.sampled_from([None, 0.2, 1.5]),
    high=st.sampled_from([None, 0.8, 3.0]),
)


@given(
    st.sampled_from(sorted(CANDIDATE_MOVES)),
    SNAPSHOTS,
    SNAPSHOTS,
    st.sampled_from(["p1", "p2"]),
    st.booleans(),
    st.booleans(),
)
def test_no_plan_makes_a_move_that_the_lifecycle_forbids_and_none_promotes(
    state: str, old: Snapshot, new: Snapshot, packet: str, rejected: bool, revoked: bool
) -> None:
    found = plan(Known(state, old, "p1"), new, packet, rejected=rejected, revoked=revoked)
    assert found.state == state or found.state in CANDIDATE_MOVES[state]
    assert found.state != "promoted" or state == "promoted"
    if state == "approved" and found.state == "approved":
        assert found.voids is None
        assert new.content_hash == old.content_hash


@pytest.mark.parametrize("packet", ["p1", "p2"])
@pytest.mark.parametrize("content", ["h1", "h2"])
def test_what_was_split_or_merged_stays_closed_while_that_stands_and_comes_back_once_it_does_not(
    packet: str, content: str
) -> None:
    new, known = replace(OLD, content_hash=content), Known("void", OLD, "p1")
    held = plan(known, new, packet, taken=True)
    assert (held.kind, held.state, held.writes) == ("closed", "void", False)
    back = plan(known, new, packet, taken=False)
    assert (back.kind, back.state) == ("reopen", "staged")
