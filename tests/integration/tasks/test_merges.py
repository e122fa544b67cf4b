"""Two candidates that say one thing become one: no evidence is lost, none counts twice, and it lasts over nights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import col, select

from storage.ids import uuid7
from storage.queries import candidates as candidate_queries
from storage.queries.parts import still_taken
from storage.tables import AuditEntry, Candidate, CandidateRevision, Decision, Evidence
from support.reviewing import Desk, Found, Ran, avoid, do, those_with, tried
from tasks.contrast.predicate import Predicate
from tasks.promote.errors import CandidateGone, DecisionRefused, HashMismatch, NotAllowed, ReasonMissing, WrongState
from tasks.promote.people import Reviewer
from tasks.stage.merge_step import Merged, likely_duplicates, merge

CALL = "cancel_order"
UNCHECKED = Predicate("missing-check", ("look", CALL), "avoid")


@pytest.fixture
def pair(desk: Desk) -> tuple[Desk, list[Found]]:
    """Two findings on one act, which share some of the runs that show them."""
    runs = tried(CALL, 8)
    ids = desk.record(*runs)
    shown = those_with(ids, CALL, runs)
    found = [Found(avoid(CALL), shown[:10]), Found(UNCHECKED, shown[6:])]
    desk.night(*found)
    return desk, found


def both(desk: Desk) -> tuple[Candidate, Candidate]:
    """The one that is kept, and the other."""
    rows = {text.content["predicate"]["kind"]: row for row, text in desk.candidates("staged", "approved", "void")}
    return rows["call-present"], rows["missing-check"]


def united(desk: Desk, name: str = "ana", **given: Any) -> Merged:
    into, other = both(desk)
    asked: dict[str, Any] = {
        "content_hash": into.content_hash, "other_hash": other.content_hash, "reviewer": desk.people[name],
        "reason": "one act", "now": desk.now, "secret": desk.secret, "into_id": into.id, "other_id": other.id,
    }  # fmt: skip
    asked |= given
    return merge(desk.database, desk.namespace, asked.pop("into_id"), asked.pop("other_id"), **asked)


def links(desk: Desk, row: Candidate) -> set[tuple[str, str]]:
    with desk.database.read() as session:
        statement = select(Evidence).where(Evidence.candidate_id == row.id, Evidence.number == row.number)
        found = [(one.episode_id, one.stance) for one in session.exec(statement)]
    assert len(found) == len(set(found))
    return set(found)


def text(desk: Desk, row: Candidate) -> CandidateRevision:
    with desk.database.read() as session:
        return candidate_queries.current_revisions(session, desk.namespace, [row.id])[row.id]


def audited(desk: Desk, candidate_id: str) -> list[tuple[str, dict[str, Any]]]:
    with desk.database.read() as session:
        statement = select(AuditEntry).where(AuditEntry.target == f"candidate:{candidate_id}")
        return [(row.action, row.detail) for row in session.exec(statement.order_by(col(AuditEntry.seq)))]


def taken(desk: Desk, row: Candidate) -> bool:
    with desk.database.read() as session:
        return bool(still_taken(session, desk.namespace, [row.id]))


def test_no_evidence_is_lost_and_none_counts_twice(pair: tuple[Desk, list[Found]]) -> None:
    desk, _ = pair
    into, other = both(desk)
    before = links(desk, into), links(desk, other)
    assert before[0] & before[1]
    united(desk)
    kept, _ = both(desk)
    assert links(desk, kept) == before[0] | before[1]
    evidence = text(desk, kept).packet["evidence"]
    assert len(evidence["groups"]["support"]) == evidence["support"] == len(before[0] | before[1]) == 16
    assert "counted once" in evidence["counts"]


def test_the_text_and_its_figures_stay_and_the_other_is_named_with_its_wording(pair: tuple[Desk, list[Found]]) -> None:
    desk, _ = pair
    into, other = both(desk)
    before = text(desk, into)
    united(desk)
    kept, _ = both(desk)
    after = text(desk, kept)
    assert (kept.content_hash, kept.number, kept.state) == (into.content_hash, 2, "staged")
    assert (after.packet["effect"], after.author) == (before.packet["effect"], before.author)
    (named,) = after.packet["merged"]
    assert (named["id"], named["title"], named["content_hash"]) == (other.id, other.title, other.content_hash)
    assert named["predicate"] in after.packet["also_worded"]
    assert kept.packet_hash != into.packet_hash
    assert "merged" in kept.why_now


def test_the_other_is_void_with_its_decisions_and_both_are_in_the_audit_log(pair: tuple[Desk, list[Found]]) -> None:
    desk, _ = pair
    into, other = both(desk)
    with desk.database.write() as session:
        session.get_one(Candidate, (desk.namespace, other.id)).tier = "high"
    desk.approve(both(desk)[1], "bo")
    united(desk)
    _, lost = both(desk)
    assert (lost.state, lost.taken_by) == ("void", [into.id])
    with desk.database.read() as session:
        (decision,) = session.exec(select(Decision).where(Decision.candidate_id == other.id)).all()
    assert decision.void_reason == f"merged into {into.id}"
    assert audited(desk, into.id)[-1][0] == "candidate.merge"
    assert audited(desk, other.id)[-1] == ("candidate.void", audited(desk, other.id)[-1][1])
    assert audited(desk, other.id)[-1][1]["why"] == f"merged into {into.id}"


def test_words_that_were_rejected_before_stay_rejected_after_a_merge(pair: tuple[Desk, list[Found]]) -> None:
    desk, _ = pair
    _, other = both(desk)
    with desk.database.write() as session:
        session.add(
            Decision(
                namespace=desk.namespace, id=uuid7(), candidate_id=other.id, number=1, content_hash="earlier words",
                packet_hash=other.packet_hash, verdict="reject", reviewer_id=desk.people["bo"].user_id,
                reason="too wide", at=desk.now,
            )
        )  # fmt: skip
    united(desk)
    with desk.database.read() as session:
        refused = candidate_queries.rejected_hashes(session, desk.namespace, [other.id])
    assert refused == {(other.id, "earlier words")}


def test_an_approval_stands_unless_the_other_brings_a_group_against_it(desk: Desk) -> None:
    runs = tried(CALL, 8)
    against = Ran("t0", "success", ("look", CALL), session="lucky")
    ids = desk.record(*runs, against)
    shown = those_with(ids, CALL, [*runs, against])
    desk.night(Found(avoid(CALL), shown[:10]), Found(UNCHECKED, shown[6:]))
    into, _ = both(desk)
    with desk.database.write() as session:
        session.get_one(Candidate, (desk.namespace, into.id)).tier = "high"
    desk.approve(both(desk)[0], "bo")
    done = united(desk)
    assert (done.voids, done.state) == ("1 new independent group speaks against it", "staged")
    with desk.database.read() as session:
        assert candidate_queries.decisions_of(session, desk.namespace, into.id) == []


def test_an_approval_stands_where_the_other_only_adds_support(pair: tuple[Desk, list[Found]]) -> None:
    desk, _ = pair
    with desk.database.write() as session:
        session.get_one(Candidate, (desk.namespace, both(desk)[0].id)).tier = "high"
    desk.approve(both(desk)[0], "bo")
    done = united(desk)
    assert (done.voids, done.state) == (None, "approved")
    assert desk.approve(both(desk)[0], "cy").state == "promoted"


def test_the_same_merge_again_has_no_second_effect(pair: tuple[Desk, list[Found]]) -> None:
    desk, _ = pair
    united(desk)
    again = united(desk, "bo")
    assert (again.changed, again.number) == (False, 2)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"content_hash": "0" * 64}, HashMismatch),
        ({"other_hash": "0" * 64}, HashMismatch),
        ({"other_id": "nowhere"}, CandidateGone),
        ({"reason": " "}, ReasonMissing),
        ({"reviewer": Reviewer("u", "eve", "auditor")}, NotAllowed),
        ({"reviewer": Reviewer("u", "eve", "reviewer", ("acme/other",))}, NotAllowed),
    ],
)
def test_a_merge_that_is_refused_changes_nothing(
    pair: tuple[Desk, list[Found]], given: dict[str, Any], error: type[DecisionRefused]
) -> None:
    desk, _ = pair
    with pytest.raises(error):
        united(desk, **given)
    assert {row.state for row in both(desk)} == {"staged"}
    assert {row.number for row in both(desk)} == {1}


def test_a_candidate_is_not_merged_into_itself_nor_what_is_decided(pair: tuple[Desk, list[Found]]) -> None:
    desk, _ = pair
    into, other = both(desk)
    with pytest.raises(WrongState, match="itself"):
        united(desk, other_id=into.id, other_hash=into.content_hash)
    desk.reject(other)
    with pytest.raises(WrongState, match="rejected"):
        merge(
            desk.database, desk.namespace, into.id, other.id, content_hash=into.content_hash,
            other_hash=other.content_hash, reviewer=desk.people["ana"], reason="one", now=desk.now, secret=desk.secret,
        )  # fmt: skip


def opposed(desk: Desk) -> dict[tuple[str, str], tuple[Candidate, CandidateRevision]]:
    """Candidates that ask for and against one act, by kind and direction."""
    runs = tried(CALL, 8)
    turned = [replace(ran, outcome="success" if ran.outcome == "failure" else "failure") for ran in runs]
    ids = desk.record(*runs, *turned)
    shown = those_with(ids, CALL, [*runs, *turned])
    desk.night(Found(avoid(CALL), shown), Found(do(CALL), shown), Found(Predicate("loop", (CALL,), "avoid"), shown))
    found = {}
    for row, said in desk.candidates():
        found[said.content["predicate"]["kind"], said.content["predicate"]["direction"]] = row, said
    return found


def test_what_asks_for_the_opposite_is_a_conflict_and_no_duplicate(desk: Desk) -> None:
    found = opposed(desk)
    (one, _), (other, _) = found["call-present", "avoid"], found["call-present", "do"]
    with pytest.raises(WrongState, match="opposite"):
        merge(
            desk.database, desk.namespace, one.id, other.id, content_hash=one.content_hash,
            other_hash=other.content_hash, reviewer=desk.people["ana"], reason="one", now=desk.now, secret=desk.secret,
        )  # fmt: skip


# Nights


def test_a_night_keeps_the_merge_and_changes_nothing_where_nothing_changed(pair: tuple[Desk, list[Found]]) -> None:
    desk, found = pair
    united(desk)
    before = both(desk)
    result = desk.later().night(*found)["stage"]
    after = both(desk)
    assert [(row.state, row.number, row.packet_hash) for row in after] == [
        (row.state, row.number, row.packet_hash) for row in before
    ]
    assert (result["unchanged"], result["closed"]) == (1, 1)


def test_a_night_with_more_runs_carries_the_others_evidence_over(pair: tuple[Desk, list[Found]]) -> None:
    desk, found = pair
    united(desk)
    before = links(desk, both(desk)[0])
    runs = tried(CALL, 2)
    more = those_with(desk.record(*runs), CALL, runs)
    desk.later().night(replace(found[0], episodes=(*found[0].episodes, *more)), found[1])
    into, other = both(desk)
    assert (into.number, into.state, other.state) == (3, "staged", "void")
    assert links(desk, into) == before | {(one, "support") for one in more}
    assert [one["id"] for one in text(desk, into).packet["merged"]] == [other.id]


def test_the_other_comes_back_by_itself_once_the_kept_one_is_rejected(pair: tuple[Desk, list[Found]]) -> None:
    desk, found = pair
    united(desk)
    assert taken(desk, both(desk)[1])
    desk.reject(both(desk)[0], "bo")
    desk.later().night(*found)
    with desk.database.read() as session:
        rows = {row.id: row for row in candidate_queries.candidates_in(session, desk.namespace, ("staged", "rejected"))}
    assert sorted((row.state, row.taken_by) for row in rows.values()) == [("rejected", []), ("staged", [])]


def test_the_other_comes_back_when_the_kept_one_is_not_confirmed_any_more(pair: tuple[Desk, list[Found]]) -> None:
    desk, found = pair
    united(desk)
    desk.later().night(found[1])
    desk.later(2).night(found[1])
    into, other = both(desk)
    assert (into.state, other.state, other.taken_by) == ("void", "staged", [])


def test_the_other_stays_away_while_the_kept_one_is_a_rule_and_comes_back_when_that_is_revoked(
    pair: tuple[Desk, list[Found]],
) -> None:
    desk, found = pair
    united(desk)
    rule = desk.approve(both(desk)[0], "bo").rule_id
    assert rule is not None
    other = desk.candidates("void")[0][0]
    desk.later().night(*found)
    assert taken(desk, other)
    desk.later(2).revoke(rule)
    assert not taken(desk, other)


def test_what_was_merged_into_the_other_before_goes_along(desk: Desk) -> None:
    runs = tried(CALL, 9)
    shown = those_with(desk.record(*runs), CALL, runs)
    third = Predicate("order", (CALL, "look"), "avoid")
    found = [Found(avoid(CALL), shown[:6]), Found(UNCHECKED, shown[6:12]), Found(third, shown[12:])]
    desk.night(*found)
    rows = {text.content["predicate"]["kind"]: row for row, text in desk.candidates()}
    last = rows["order"]
    into, other = both(desk)
    united(desk, into_id=other.id, content_hash=other.content_hash, other_id=last.id, other_hash=last.content_hash)
    united(desk)
    into, other = both(desk)
    assert len(links(desk, into)) == 18
    assert [one["id"] for one in text(desk, into).packet["merged"]] == [other.id, last.id]
    desk.later().night(*found)
    assert both(desk)[0].packet_hash == into.packet_hash
    assert taken(desk, last)


# What is offered


def test_what_speaks_of_the_same_calls_is_offered_and_the_opposite_is_not(desk: Desk) -> None:
    rows = opposed(desk)
    with desk.database.read() as session:
        found = likely_duplicates(session, *rows["call-present", "avoid"])
    assert [(one.id, one.why) for one in found] == [(rows["loop", "avoid"][0].id, "same-calls")]
