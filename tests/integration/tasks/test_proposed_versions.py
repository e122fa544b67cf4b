"""A new version of an active rule is proposed by one reviewer and decided by another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from storage.queries import evidence as evidence_queries
from storage.queries import rules as rule_queries
from storage.tables import RuleVersion
from support.changing import act, again, current, propose_as, take_back_as
from support.reviewing import Desk, Found, Ran, avoid, do, finding, those_with, tried
from tasks.contrast.predicate import Predicate
from tasks.promote.errors import (
    AlreadyDecided,
    HashMismatch,
    NothingChanged,
    Quarantined,
    SelfApproval,
    WrongState,
)
from tasks.stage.merge_step import merge

WORDS = ["Look at the order first.", "Then say what is allowed."]


def checks(desk: Desk, candidate_id: str) -> dict[str, str]:
    return {row["name"]: row["verdict"] for row in current(desk, candidate_id)[1].packet["checks"]}


def active_text(desk: Desk, rule: tuple[str, int]) -> dict[str, Any]:
    with desk.database.read() as session:
        row = rule_queries.version(session, desk.namespace, *rule)
    assert row is not None
    return dict(row.content) | {"hash": row.content_hash}


def test_a_proposed_version_supersedes_the_active_one_once_another_reviewer_approves_it(desk: Desk) -> None:
    rule = desk.promoted(finding(desk, "archive_note"))
    done = propose_as(desk, rule, active_text(desk, rule), guidance=WORDS)
    candidate, revision = current(desk, done.candidate_id)
    assert (candidate.state, candidate.replaces_rule_id, candidate.replaces_version) == ("staged", *rule)
    assert (revision.packet["edited"]["name"], checks(desk, candidate.id)["recall"]) == ("ana", "warn")
    with desk.database.read() as session:
        assert [row.version for row in rule_queries.versions_in(session, desk.namespace)] == [1]
        assert evidence_queries.evidence_of(session, desk.namespace, candidate.id, candidate.number)
    with pytest.raises(SelfApproval):
        desk.approve(candidate, "ana")
    result = desk.approve(candidate, "bo")
    assert (result.rule_id, result.version) == (rule[0], 2)
    with desk.database.read() as session:
        states = {row.version: row.state for row in rule_queries.versions_of(session, desk.namespace, rule[0])}
    assert states == {1: "superseded", 2: "active"}


def test_a_proposed_version_survives_the_nights_that_find_the_same(desk: Desk) -> None:
    found = finding(desk, "archive_note")
    rule = desk.promoted(found)
    done = propose_as(desk, rule, active_text(desk, rule), guidance=WORDS)
    more = desk.record(Ran("t1", "failure", ("look", "archive_note")))
    later = again(desk, found, episodes=found.episodes + more)
    candidate, revision = current(later, done.candidate_id)
    assert (candidate.state, candidate.content_hash, candidate.number) == ("staged", done.content_hash, 3)
    assert checks(later, candidate.id)["recall"] == "warn"
    assert revision.packet["edited"]["name"] == "ana"


def test_a_rejected_proposal_leaves_the_rule_as_it_is(desk: Desk) -> None:
    rule = desk.promoted(finding(desk, "archive_note"))
    text = active_text(desk, rule)
    done = propose_as(desk, rule, text, guidance=WORDS)
    desk.reject(current(desk, done.candidate_id)[0], "bo")
    with pytest.raises(AlreadyDecided, match="rejected before"):
        propose_as(desk, rule, text, guidance=WORDS)
    assert propose_as(desk, rule, text, guidance=["Look again."]).state == "staged"
    with desk.database.read() as session:
        assert [row.version for row in rule_queries.versions_in(session, desk.namespace)] == [1]


def test_only_what_is_active_and_shown_is_superseded_and_one_proposal_waits_at_a_time(desk: Desk) -> None:
    rule = desk.promoted(finding(desk, "archive_note"))
    text = active_text(desk, rule)
    with pytest.raises(HashMismatch):
        propose_as(desk, rule, text | {"hash": "0" * 64}, guidance=WORDS)
    with pytest.raises(NothingChanged):
        propose_as(desk, rule, text)
    first = propose_as(desk, rule, text, guidance=WORDS)
    assert propose_as(desk, rule, text, guidance=WORDS) == replace(first, changed=False, voided=0)
    with pytest.raises(WrongState, match="waits for review already"):
        propose_as(desk, rule, text, "bo", guidance=["Look again."])
    desk.revoke(rule[0])
    with pytest.raises(WrongState, match="is revoked"):
        propose_as(desk, rule, text, "bo", guidance=["Look again."])


def test_editing_a_proposal_back_to_what_is_served_is_refused(desk: Desk) -> None:
    rule = desk.promoted(finding(desk, "archive_note"))
    text = active_text(desk, rule)
    done = propose_as(desk, rule, text, guidance=WORDS)
    with pytest.raises(WrongState, match="word for word what agents are served"):
        take_back_as(desk, current(desk, done.candidate_id)[0])


def test_a_proposal_does_not_bring_back_a_rule_that_was_revoked_while_it_waited(desk: Desk) -> None:
    rule = desk.promoted(finding(desk, "archive_note"))
    done = propose_as(desk, rule, active_text(desk, rule), guidance=WORDS)
    desk.revoke(rule[0])
    with pytest.raises(Quarantined, match="was revoked since"):
        desk.approve(current(desk, done.candidate_id)[0], "bo")


def test_approvals_that_made_the_version_in_force_do_not_count_for_a_proposal_brought_back_to_its_text(
    desk: Desk,
) -> None:
    ids = desk.record(*[Ran(f"t{n}", "success", ("refund_order",)) for n in range(4)])
    desk.night(Found(do("refund_order"), ids, low=2.0, high=20.0))
    first = desk.only()
    assert desk.approve(first, "ana").state == "approved"
    made = desk.approve(current(desk, first.id)[0], "bo")
    rule = (str(made.rule_id), int(made.version or 0))
    propose_as(desk, rule, active_text(desk, rule), "cy", guidance=WORDS)
    with desk.database.write() as session:  # another rule was put in its place meanwhile
        session.get_one(RuleVersion, (desk.namespace, *rule)).state = "superseded"
    desk.person("dee")
    take_back_as(desk, current(desk, first.id)[0], "cy")
    result = desk.approve(current(desk, first.id)[0], "dee")
    assert (result.state, result.have, result.needed) == ("approved", 1, 2)


def test_a_proposal_that_takes_up_a_merged_one_stands_for_itself(desk: Desk) -> None:
    runs = tried("cancel_order", 8)
    shown = those_with(desk.record(*runs), "cancel_order", runs)
    rule = desk.promoted(Found(avoid("cancel_order"), shown[:10]))
    desk.later().night(Found(Predicate("missing-check", ("look", "cancel_order"), "avoid"), shown[6:]))
    (into,) = [row for row, _ in desk.candidates("staged")]
    lost = current(desk, propose_as(desk, rule, active_text(desk, rule), guidance=WORDS).candidate_id)[0]
    hashes = {"content_hash": into.content_hash, "other_hash": lost.content_hash}
    merge(desk.database, desk.namespace, into.id, lost.id, **hashes, **act(desk, "bo"))
    assert current(desk, lost.id)[0].taken_by == [into.id]
    propose_as(desk, rule, active_text(desk, rule), "cy", guidance=["Look again."])
    assert (current(desk, lost.id)[0].state, current(desk, lost.id)[0].taken_by) == ("staged", [])
