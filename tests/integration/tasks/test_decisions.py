"""Who may decide what, what a second decision does, and that a race has exactly one legal outcome."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import col, select

from storage import audit
from storage.ids import uuid7
from storage.outbox import NamespaceUnknown
from storage.queries import candidates as candidate_queries
from storage.queries import rules as rule_queries
from storage.queries.lineage import lineage_of_candidate
from storage.tables import ApiToken, AuditEntry, Candidate, CandidateRevision, Decision, Episode, OutboxEvent
from support.reviewing import Desk, Found, Ran, avoid, do, finding
from tasks.promote.errors import (
    AlreadyDecided,
    CandidateGone,
    DecisionRefused,
    HashMismatch,
    NotAllowed,
    PacketIncomplete,
    Quarantined,
    ReasonMissing,
    SelfApproval,
)
from tasks.promote.step import approve

ROUNDS = 6
"""Races a test runs; each starts from a fresh candidate."""


def risky(desk: Desk, call: str = "refund_order") -> Found:
    """A finding of the high tier: it takes two reviewers."""
    ids = desk.record(*[Ran(f"t{n}", "success", (call,)) for n in range(4)])
    return Found(do(call), ids, low=2.0, high=20.0)


def test_the_same_approval_again_is_a_success_without_a_second_effect(desk: Desk) -> None:
    desk.night(finding(desk))
    candidate = desk.only()
    first, again = desk.approve(candidate), desk.approve(candidate)
    assert (first.changed, again.changed) == (True, False)
    assert replace(again, changed=True) == first
    with desk.database.read() as session:
        assert len(session.exec(select(Decision)).all()) == 1
        assert len(session.exec(select(OutboxEvent)).all()) == 1


def test_a_high_tier_takes_two_different_reviewers(desk: Desk) -> None:
    desk.night(risky(desk))
    candidate = desk.only()
    assert desk.approve(candidate, "ana").state == "approved"
    assert desk.approve(candidate, "ana").have == 1
    assert desk.approve(candidate, "bo").state == "promoted"


def test_a_rejection_before_the_quorum_closes_the_candidate(desk: Desk) -> None:
    desk.night(risky(desk))
    candidate = desk.only()
    desk.approve(candidate, "ana")
    assert desk.reject(candidate, "bo").state == "rejected"
    with pytest.raises(AlreadyDecided, match="rejected already"):
        desk.approve(candidate, "cy")


def test_a_reviewer_may_change_their_mind_before_the_quorum(desk: Desk) -> None:
    desk.night(risky(desk))
    candidate = desk.only()
    desk.approve(candidate, "ana")
    assert desk.reject(candidate, "ana").state == "rejected"
    with desk.database.read() as session:
        votes = candidate_queries.decisions_of(session, desk.namespace, candidate.id, live=False)
    assert [(vote.verdict, vote.void_reason) for vote in votes] == [("approve", "changed their mind"), ("reject", None)]


def test_the_opposite_decision_after_the_quorum_is_refused(desk: Desk) -> None:
    desk.night(finding(desk))
    candidate = desk.only()
    desk.approve(candidate)
    with pytest.raises(AlreadyDecided, match="promoted already"):
        desk.reject(candidate, "bo")


def test_a_decision_needs_the_exact_content_that_was_shown(desk: Desk) -> None:
    desk.night(finding(desk))
    with pytest.raises(HashMismatch, match="other content now"):
        desk.approve(desk.only(), content_hash="0" * 64)


def test_a_packet_that_never_was_is_refused(desk: Desk) -> None:
    desk.night(finding(desk))
    with pytest.raises(HashMismatch, match="never had the packet"):
        desk.approve(desk.only(), packet_hash="0" * 64)


def test_an_approval_of_the_packet_before_counts_while_only_support_was_added(desk: Desk) -> None:
    found = risky(desk)
    desk.night(found)
    shown = desk.only()
    more = desk.record(Ran("t9", "success", ("refund_order",)))
    desk.later().night(replace(found, episodes=found.episodes + more))
    assert desk.only().number == 2
    assert desk.approve(shown, "ana").state == "approved"
    with desk.database.read() as session:
        assert session.exec(select(Decision)).one().packet_hash == shown.packet_hash


def test_an_approval_of_a_packet_is_refused_once_a_group_speaks_against_it(desk: Desk) -> None:
    found = risky(desk)
    desk.night(found)
    shown = desk.only()
    against = desk.record(Ran("t1", "failure", ("refund_order",)))
    desk.later().night(replace(found, episodes=found.episodes + against))
    with pytest.raises(HashMismatch, match="speaks against it"):
        desk.approve(shown, "ana")


def test_without_a_packet_hash_the_current_packet_is_recorded(desk: Desk) -> None:
    desk.night(finding(desk))
    candidate = desk.only()
    desk.approve(candidate, packet_hash=None)
    with desk.database.read() as session:
        assert session.exec(select(Decision)).one().packet_hash == candidate.packet_hash


@pytest.mark.parametrize("reason", ["", "  \n "])
def test_a_reason_is_required(desk: Desk, reason: str) -> None:
    desk.night(finding(desk))
    with pytest.raises(ReasonMissing):
        desk.approve(desk.only(), reason=reason)


@pytest.mark.parametrize(
    ("role", "namespaces"),
    [("agent", []), ("ingest", []), ("auditor", []), ("reviewer", ["other"]), ("reviewer", ["acme/sho"])],
)
def test_role_and_namespace_decide_who_may(desk: Desk, role: str, namespaces: list[str]) -> None:
    desk.night(finding(desk))
    desk.person("dee", role, namespaces)
    with pytest.raises(NotAllowed, match="may not decide in acme/shop"):
        desk.approve(desk.only(), "dee")


@pytest.mark.parametrize("namespaces", [["acme"], ["acme/shop"], []])
def test_a_grant_covers_what_lies_below_it(desk: Desk, namespaces: list[str]) -> None:
    desk.night(finding(desk))
    desk.person("dee", "admin", namespaces)
    assert desk.approve(desk.only(), "dee").state == "promoted"


@pytest.mark.parametrize("by_token", [False, True])
def test_nobody_approves_what_they_wrote_not_even_an_admin(desk: Desk, by_token: bool) -> None:
    desk.night(finding(desk))
    author = desk.person("dee", "admin")
    candidate = desk.only()
    with desk.database.write() as session:
        token = ApiToken(id="tok", token_hash="h", role="admin", user_id=author.user_id, created_at=desk.now)
        session.add(token)
        revision = session.exec(select(CandidateRevision)).one()
        revision.author = "tok" if by_token else author.user_id
    with pytest.raises(SelfApproval):
        desk.approve(candidate, "dee")
    assert desk.reject(candidate, "dee").state == "rejected"


def test_an_incomplete_packet_is_rejected_but_never_approved(desk: Desk) -> None:
    desk.night(finding(desk))
    candidate = desk.only()
    with desk.database.write() as session:
        revision = session.exec(select(CandidateRevision)).one()
        revision.packet = {**revision.packet, "counter_example": None}
    with pytest.raises(PacketIncomplete, match="counter_example is missing"):
        desk.approve(candidate)
    assert desk.reject(candidate).state == "rejected"


def test_a_packet_that_cites_a_revised_episode_is_not_approved(desk: Desk) -> None:
    found = finding(desk)
    desk.night(found)
    with desk.database.write() as session:
        session.get_one(Episode, (desk.namespace, found.episodes[0])).is_current = False
    with pytest.raises(PacketIncomplete, match="cites 1 episodes that were revised"):
        desk.approve(desk.only())


def test_what_is_not_there_is_said(desk: Desk) -> None:
    desk.night(finding(desk))
    candidate = desk.only()
    with pytest.raises(CandidateGone, match="no candidate nowhere"):
        approve(desk.database, desk.namespace, "nowhere", **_decision(desk, candidate))
    with pytest.raises(NamespaceUnknown, match="acme/typo"):
        approve(desk.database, "acme/typo", candidate.id, **_decision(desk, candidate))


def test_evidence_made_under_a_revoked_rule_blocks_approval_before_any_repair(desk: Desk) -> None:
    rule_id, version = desk.promoted(finding(desk))
    runs = [Ran(f"t{n}", "failure", ("void_order",), session=f"read-{n}") for n in range(4)]
    ids = desk.record(*runs)
    desk.expose("read-0", rule_id, version)
    desk.later().night(Found(avoid("void_order"), ids))
    candidate = desk.only()
    desk.revoke(rule_id)
    with pytest.raises(Quarantined, match=f"made under {rule_id} version 1"):
        desk.approve(candidate)


def test_the_audit_log_keeps_who_what_and_a_digest_of_why(desk: Desk) -> None:
    desk.night(finding(desk))
    candidate = desk.only()
    desk.approve(candidate, reason="a very personal reason")
    with desk.database.read() as session:
        entry = session.exec(select(AuditEntry).where(AuditEntry.action == "candidate.approve")).one()
    assert entry.actor == desk.people["ana"].actor
    assert entry.detail["content_hash"] == candidate.content_hash
    assert "personal" not in str(entry.detail)


def test_two_reviewers_at_once_make_one_version(desk: Desk) -> None:
    for candidate in staged(desk, *(finding(desk, f"cancel_{n}", tasks=2) for n in range(ROUNDS))):
        results = race(lambda c=candidate: desk.approve(c, "ana"), lambda c=candidate: desk.approve(c, "bo"))
        assert {result.state for result in results} == {"promoted"}
        assert sorted(result.changed for result in results) == [False, True]
    with desk.database.read() as session:
        assert len(rule_queries.versions_in(session, desk.namespace)) == ROUNDS
        assert len(session.exec(select(OutboxEvent)).all()) == ROUNDS
        assert audit.verify(session).ok


def test_a_double_click_counts_once(desk: Desk) -> None:
    for candidate in staged(desk, *(risky(desk, f"refund_{n}") for n in range(ROUNDS))):
        results = race(*[lambda c=candidate: desk.approve(c, "ana")] * 3)
        assert [result.have for result in results] == [1, 1, 1]
        assert desk.reject(candidate, "bo").state == "rejected"


def test_approve_against_reject_has_one_winner(desk: Desk) -> None:
    for candidate in staged(desk, *(finding(desk, f"cancel_{n}", tasks=2) for n in range(ROUNDS))):
        results = race(lambda c=candidate: desk.approve(c, "ana"), lambda c=candidate: desk.reject(c, "bo"))
        won = [result.state for result in results if not isinstance(result, Exception)]
        lost = [result for result in results if isinstance(result, Exception)]
        assert len(won) == 1
        assert [type(error) for error in lost] == [AlreadyDecided]
        with desk.database.read() as session:
            made = rule_queries.version_of_candidate(session, desk.namespace, candidate.id, candidate.content_hash)
        assert (made is not None) == (won == ["promoted"])


def test_approve_against_a_new_revision_never_promotes_what_was_not_shown(desk: Desk) -> None:
    found = [finding(desk, f"cancel_{n}", tasks=2) for n in range(ROUNDS)]
    shown = staged(desk, *found)
    later = desk.later()
    run = later.start(*(replace(one, exceptions=("t1",)) for one in found))
    for stage in ("draft", "conflict", "verify"):
        later.do(run, stage)
    race(lambda: later.do(run, "stage"), *(lambda c=candidate: _or_refusal(desk, c) for candidate in shown))
    hashes = {candidate.id: candidate.content_hash for candidate in shown}
    with desk.database.read() as session:
        made = rule_queries.versions_in(session, desk.namespace)
    assert all(row.content_hash == hashes[row.candidate_id] for row in made)
    assert {candidate.number for candidate, _ in desk.candidates()} <= {2}


def test_approve_against_revoke_leaves_nothing_served_on_what_was_revoked(desk: Desk) -> None:
    rules = [
        desk.approve(one).rule_id
        for one in staged(desk, *(finding(desk, f"cancel_{n}", tasks=2) for n in range(ROUNDS)))
    ]
    assert all(rules)
    leaning = []
    for n, rule_id in enumerate(rules):
        ids = desk.record(*[Ran(f"t{k}", "failure", (f"void_{n}",), session=f"read-{n}-{k}") for k in range(4)])
        desk.expose(f"read-{n}-0", str(rule_id), 1)
        leaning.append(Found(avoid(f"void_{n}"), ids))
    for candidate in staged(desk, *leaning):
        with desk.database.read() as session:
            (read,) = lineage_of_candidate(session, desk.namespace, candidate.id, candidate.number)
        results = race(lambda c=candidate: desk.approve(c, "ana"), lambda r=read[0]: desk.revoke(r, "bo"))
        assert all(isinstance(r, Quarantined) for r in results if isinstance(r, Exception))
    with desk.database.read() as session:
        assert rule_queries.versions_in(session, desk.namespace) == []
        epochs = [row.epoch for row in session.exec(select(OutboxEvent).order_by(col(OutboxEvent.epoch)))]
    assert epochs == list(range(1, len(epochs) + 1))


def staged(desk: Desk, *found: Found) -> list[Candidate]:
    """One night's candidates."""
    before = {candidate.id for candidate, _ in desk.candidates()}
    desk.night(*found)
    return [candidate for candidate, _ in desk.candidates() if candidate.id not in before]


def _or_refusal(desk: Desk, candidate: Candidate) -> object:
    try:
        return desk.approve(candidate)
    except DecisionRefused as refusal:
        return refusal


def race(*acts: Callable[[], Any]) -> list[Any]:
    """Start all acts at one moment; results in order, a refusal as the exception it raised."""
    gate = threading.Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        gate.wait()
        try:
            return act()
        except DecisionRefused as refusal:
            return refusal

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def _decision(desk: Desk, candidate: Any) -> dict[str, Any]:
    return {
        "content_hash": candidate.content_hash, "reviewer": desk.people["ana"], "reason": uuid7(), "now": desk.now,
        "secret": desk.secret,
    }  # fmt: skip
