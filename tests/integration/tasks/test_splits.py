"""A claim that holds for some runs only is split by scope: each part has evidence and a confirmation of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import col, select

from storage.queries import candidates as candidate_queries
from storage.queries.parts import looks_at, still_taken
from storage.tables import AuditEntry, Candidate, CandidateRevision, Evidence, Look
from support.reviewing import Desk, Found, Ran, avoid, do, those_with, tried
from tasks.promote.errors import (
    CandidateGone,
    DecisionRefused,
    HashMismatch,
    NotAllowed,
    PacketIncomplete,
    ReasonMissing,
    SelfApproval,
    WrongState,
)
from tasks.promote.people import Reviewer
from tasks.stage import split_step
from tasks.stage.split_step import Split, choices_of, split

CALL = "cancel_order"
OLD, NEW = (("orders-api", "3.2"),), (("orders-api", "3.3"),)
BY = "orders-api<=3.2"


def harmless(call: str, tasks: int = 8, **details: Any) -> list[Ran]:
    """Runs in which the call makes no difference."""
    runs = tried(call, tasks, **details)
    turned = {"failure": "success", "success": "failure"}
    return [*runs, *(replace(ran, outcome=turned[ran.outcome]) for ran in runs)]


def staged(desk: Desk, *runs: Ran) -> Candidate:
    """A candidate whose call does harm at one release and none at the next."""
    runs = runs or (*tried(CALL, 12, environment=OLD), *harmless(CALL, 4, environment=NEW))
    ids = desk.record(*runs)
    desk.night(Found(avoid(CALL), those_with(ids, CALL, runs)))
    return desk.only()


def cut(desk: Desk, whole: Candidate, name: str = "ana", **given: Any) -> Split:
    """Split it as a reviewer."""
    asked: dict[str, Any] = {
        "content_hash": whole.content_hash, "by": BY, "reviewer": desk.people[name], "now": desk.now,
        "reason": "3.3 refunds by itself", "secret": desk.secret, "settings": desk.settings,
    }  # fmt: skip
    return split(desk.database, desk.namespace, whole.id, **(asked | given))


def rows(desk: Desk, *ids: str) -> list[tuple[Candidate, CandidateRevision]]:
    with desk.database.read() as session:
        candidates = candidate_queries.candidates_by_ids(session, desk.namespace, ids)
        revisions = candidate_queries.current_revisions(session, desk.namespace, ids)
    return [(candidates[one], revisions[one]) for one in ids]


def one(desk: Desk, candidate_id: str) -> Candidate:
    return rows(desk, candidate_id)[0][0]


def audited(desk: Desk, candidate_id: str) -> list[tuple[str, dict[str, Any]]]:
    with desk.database.read() as session:
        statement = select(AuditEntry).where(AuditEntry.target == f"candidate:{candidate_id}")
        return [(row.action, row.detail) for row in session.exec(statement.order_by(col(AuditEntry.seq)))]


def cited(desk: Desk, candidate: Candidate) -> set[str]:
    with desk.database.read() as session:
        statement = select(Evidence.group_id).where(
            Evidence.candidate_id == candidate.id, Evidence.number == candidate.number
        )
        return set(session.exec(statement))


# What it can be split by


def test_a_choice_says_what_the_runs_of_each_side_show(desk: Desk) -> None:
    found = choices_of(desk.database, desk.namespace, staged(desk).id, desk.settings)
    (choice,) = found.choices
    old, new = choice.sides
    assert (choice.key, choice.words) == (BY, "orders-api 3.2 and earlier | orders-api 3.3 and later")
    assert (old.runs, old.groups, old.left.stands, new.runs, new.groups, new.left.stands) == (
        48,
        48,
        True,
        32,
        32,
        False,
    )
    assert (choice.neither, found.groups, found.why) == (0, 80, "")
    assert old.left.odds_ratio == 0
    assert new.left.odds_ratio == pytest.approx(1, abs=0.5)


def test_the_groups_of_the_sides_are_a_partition_of_what_counts(desk: Desk) -> None:
    unsaid = tried(CALL, 3)
    runs = (*tried(CALL, 12, environment=OLD), *harmless(CALL, 4, environment=NEW), *unsaid)
    found = choices_of(desk.database, desk.namespace, staged(desk, *runs).id, desk.settings)
    (choice,) = found.choices
    assert choice.neither == len(unsaid)
    assert sum(side.groups for side in choice.sides) + choice.neither == found.groups == len(runs)


@pytest.mark.parametrize("environment", [(), OLD])
def test_runs_of_one_kind_leave_no_choice_and_it_says_why(desk: Desk, environment: Any) -> None:
    whole = staged(desk, *tried(CALL, 12, environment=environment))
    found = choices_of(desk.database, desk.namespace, whole.id, desk.settings)
    assert found.choices == ()
    assert "no two sides" in found.why


def test_what_is_decided_has_no_choices(desk: Desk) -> None:
    whole = staged(desk)
    desk.reject(whole)
    assert "it is rejected" in choices_of(desk.database, desk.namespace, whole.id, desk.settings).why


def test_what_is_not_there_has_none_either(desk: Desk) -> None:
    with pytest.raises(CandidateGone):
        choices_of(desk.database, desk.namespace, "nowhere", desk.settings)


# Splitting


def test_each_part_has_the_text_of_the_whole_its_own_scope_and_its_own_evidence(desk: Desk) -> None:
    whole = staged(desk)
    ((_, before),) = rows(desk, whole.id)
    done = cut(desk, whole)
    (old, old_text), (new, new_text) = rows(desk, *done.parts)
    for part, text, version in ((old, old_text, "3.2"), (new, new_text, "3.3")):
        assert (part.state, part.kind, part.tier, part.why_now) == ("staged", "rule", whole.tier, "split")
        assert text.content["guidance"] == before.content["guidance"]
        assert text.content["scope"]["environment"] == {"orders-api": version}
        assert text.packet["part"]["of"] == whole.id
    assert old.predicate_id != new.predicate_id != whole.predicate_id
    assert (old_text.packet["effect"]["strata"], new_text.packet["effect"]["strata"]) == (12, 4)
    assert (old_text.packet["evidence"]["support"], new_text.packet["evidence"]["support"]) == (24, 8)
    assert new_text.packet["evidence"]["counter"] == 8
    assert cited(desk, old) & cited(desk, new) == set()


def test_the_whole_is_void_and_names_its_parts_and_its_approval_falls(desk: Desk) -> None:
    whole = staged(desk)
    with desk.database.write() as session:
        session.get_one(Candidate, (desk.namespace, whole.id)).tier = "high"
    desk.approve(whole, "bo")
    done = cut(desk, whole)
    whole = one(desk, whole.id)
    assert (whole.state, tuple(whole.taken_by)) == ("void", done.parts)
    with desk.database.read() as session:
        (decision,) = candidate_queries.decisions_of(session, desk.namespace, whole.id, live=False)
    assert decision.void_reason == f"split into {', '.join(done.parts)}: {done.words}"
    (action, detail) = audited(desk, whole.id)[-1]
    assert (action, detail["by"], detail["parts"]) == ("candidate.split", BY, list(done.parts))
    assert [audited(desk, part)[-1][1]["split_from"] for part in done.parts] == [whole.id] * 2


def test_a_part_that_was_not_confirmed_by_itself_cannot_be_approved(desk: Desk) -> None:
    done = cut(desk, staged(desk))
    (old, text), _ = rows(desk, *done.parts)
    assert (text.packet["held_out"]["confirmed"], text.packet["held_out"]["p_value"]) == (False, None)
    with pytest.raises(PacketIncomplete, match="held-out"):
        desk.approve(old, "bo")


def test_whoever_split_it_may_not_approve_a_part_nor_may_whoever_wrote_the_whole(desk: Desk) -> None:
    done = cut(desk, staged(desk))
    with pytest.raises(SelfApproval):
        desk.approve(one(desk, done.parts[0]), "ana")
    with desk.database.read() as session:
        authors = candidate_queries.authors_of(session, desk.namespace, done.parts[0])
    assert authors == {desk.people["ana"].user_id, "drafter:statistical/1"}


def test_a_part_knows_what_it_conflicts_with_and_neither_the_whole_nor_its_sibling_is_that(desk: Desk) -> None:
    runs = (*tried(CALL, 12, environment=OLD), *harmless(CALL, 4, environment=NEW))
    shown = those_with(desk.record(*runs), CALL, runs)
    desk.night(Found(avoid(CALL), shown), Found(do(CALL), shown))
    rows_ = {text.content["predicate"]["direction"]: row for row, text in desk.candidates()}
    done = cut(desk, rows_["avoid"])
    with desk.database.read() as session:
        refs = [f"candidate:{part}" for part in done.parts]
        noted = candidate_queries.conflicts_touching(session, desk.namespace, refs)
    others = {ref for row in noted for ref in (row.left_ref, row.right_ref)} - set(refs)
    assert others == {f"candidate:{rows_['do'].id}"}
    for _, text in rows(desk, *done.parts):
        assert {row["with"] for row in text.packet["conflicts"]} == others


def test_the_same_split_again_has_no_second_effect(desk: Desk) -> None:
    whole = staged(desk)
    first = cut(desk, whole)
    again = cut(desk, whole, "bo")
    assert (again.parts, again.changed) == (first.parts, False)
    assert [row.number for row, _ in rows(desk, *first.parts)] == [1, 1]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"content_hash": "0" * 64}, HashMismatch),
        ({"by": "orders-api<=9"}, WrongState),
        ({"reason": "  "}, ReasonMissing),
        ({"reviewer": Reviewer("u", "eve", "auditor")}, NotAllowed),
        ({"reviewer": Reviewer("u", "eve", "reviewer", ("acme/other",))}, NotAllowed),
    ],
)
def test_a_split_that_is_refused_changes_nothing(
    desk: Desk, given: dict[str, Any], error: type[DecisionRefused]
) -> None:
    whole = staged(desk)
    with pytest.raises(error):
        cut(desk, whole, **given)
    assert desk.only().id == whole.id


def test_a_decided_candidate_cannot_be_split(desk: Desk) -> None:
    whole = staged(desk)
    desk.reject(whole)
    with pytest.raises(WrongState, match="rejected"):
        cut(desk, whole)


def test_a_result_that_is_stale_when_it_is_written_is_dropped(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, weigh = staged(desk), split_step.ground_of

    def and_meanwhile(*given: Any, **named: Any) -> Any:
        found = weigh(*given, **named)
        desk.reject(whole, "bo")
        return found

    monkeypatch.setattr(split_step, "ground_of", and_meanwhile)
    with pytest.raises(WrongState, match="rejected"):
        cut(desk, whole)
    assert one(desk, whole.id).state == "rejected"
    assert desk.candidates() == []


def test_parts_of_a_rule_that_is_active_already_would_be_served_beside_it(desk: Desk) -> None:
    whole = staged(desk)
    desk.approve(whole)
    runs = tried(CALL, 12, environment=(("orders-api", "3.4"),))
    ids = desk.record(*runs)
    later = desk.later(100)
    later.night(Found(avoid(CALL), those_with(ids, CALL, runs), exceptions=("t1",)))
    with pytest.raises(WrongState, match="is active"):
        cut(later, desk.only())


# Nights


def test_the_whole_stays_closed_while_a_part_stands_and_comes_back_once_none_does(desk: Desk) -> None:
    whole = staged(desk)
    done = cut(desk, whole)
    runs = tried(CALL, 8, environment=OLD)
    found = Found(avoid(CALL), those_with(desk.record(*runs), CALL, runs))
    result = desk.later(1).night(found)["stage"]
    assert (result["closed"], one(desk, whole.id).state) == (1, "void")
    for part in done.parts:
        if one(desk, part).state == "staged":
            desk.later(1).reject(one(desk, part), "bo")
    desk.later(2).night(found)
    back = one(desk, whole.id)
    assert (back.state, back.taken_by) == ("staged", [])
    assert {one(desk, part).state for part in done.parts} == {"void", "rejected"}


def test_a_night_voids_the_part_whose_effect_is_gone_and_says_why(desk: Desk) -> None:
    done = cut(desk, staged(desk))
    result = desk.later().night()["stage"]
    old, new = (one(desk, part) for part in done.parts)
    assert (old.state, new.state) == ("staged", "void")
    assert result["parts"] == {"refreshed": 0, "voided": 1, "unchanged": 1}
    assert result["told"]["voided"] == [new.id]
    action, detail = audited(desk, new.id)[-1]
    assert action == "candidate.void"
    assert "does not show it in its scope" in detail["why"]


def test_groups_that_arrive_since_confirm_a_part_and_then_it_can_be_approved(desk: Desk) -> None:
    done = cut(desk, staged(desk))
    desk.record(*tried(CALL, 12, environment=OLD))
    desk.record(*tried("ship_order", 12, environment=NEW))
    night = desk.later()
    night.night()
    ((old, text),) = rows(desk, done.parts[0])
    assert (text.packet["held_out"]["confirmed"], text.packet["held_out"]["groups"]) == (True, 48)
    assert text.packet["evidence"]["support"] == 48
    with desk.database.read() as session:
        (look,) = looks_at(session, desk.namespace, old.predicate_id)
    assert (look.confirmed, len(look.groups)) == (True, 48)
    assert night.approve(old, "bo").state == "promoted"
    assert still(desk, text.packet["part"]["of"])


def still(desk: Desk, whole_id: str) -> bool:
    with desk.database.read() as session:
        return whole_id in still_taken(session, desk.namespace, [whole_id])


def test_the_same_groups_are_not_asked_twice(desk: Desk) -> None:
    cut(desk, staged(desk))
    desk.record(*tried(CALL, 12, environment=OLD))
    for day in (1, 2):
        desk.later(day).night()
    with desk.database.read() as session:
        assert len(session.exec(select(Look)).all()) == 1


def test_what_does_not_change_a_part_leaves_its_approvals_alone(desk: Desk) -> None:
    done = cut(desk, staged(desk))
    before = one(desk, done.parts[0])
    desk.later().night()
    after = one(desk, done.parts[0])
    assert (after.number, after.content_hash, after.packet_hash) == (
        before.number, before.content_hash, before.packet_hash
    )  # fmt: skip


@pytest.fixture
def served(desk: Desk) -> tuple[Desk, str, str]:
    """A part that became a rule: the desk, the rule, and the whole."""
    whole = staged(desk)
    done = cut(desk, whole)
    desk.record(*tried(CALL, 12, environment=OLD))
    night = desk.later()
    night.night()
    result = night.approve(one(desk, done.parts[0]), "bo")
    assert result.rule_id is not None
    return night, result.rule_id, whole.id


def test_a_promoted_part_is_rechecked_on_its_own_runs_alone(served: tuple[Desk, str, str]) -> None:
    desk, rule_id, _ = served
    desk.record(*tried(CALL, 12, environment=OLD), *harmless(CALL, 12, environment=NEW))
    (verdict,) = desk.later(2).recheck()["verdicts"]
    assert (verdict["rule"], verdict["verdict"]) == (rule_id, "stands")


def test_a_promoted_part_vanishes_by_its_own_runs(served: tuple[Desk, str, str]) -> None:
    desk, _, _ = served
    desk.record(*harmless(CALL, 40, environment=OLD))
    (verdict,) = desk.later(2).recheck()["verdicts"]
    assert verdict["verdict"] == "vanished"


def test_a_revoked_part_stands_no_more_so_that_the_whole_may_come_back(served: tuple[Desk, str, str]) -> None:
    desk, rule_id, whole_id = served
    desk.later(2).night()
    desk.later(3).revoke(rule_id)
    with desk.database.read() as session:
        whole = session.get_one(Candidate, (desk.namespace, whole_id))
        parts = candidate_queries.candidates_by_ids(session, desk.namespace, whole.taken_by)
        assert {row.state for row in parts.values()} == {"promoted", "void"}
        assert still_taken(session, desk.namespace, [whole_id]) == set()


def test_a_part_split_again_holds_the_place_of_the_first_whole_too(desk: Desk) -> None:
    runs = [
        replace(ran, environment=(*environment, ("shade", shade)))
        for environment in (OLD, NEW)
        for shade in ("blue", "green")
        for ran in tried(CALL, 8)
    ]
    whole = staged(desk, *runs)
    first = cut(desk, whole)
    second = cut(desk, one(desk, first.parts[0]), by="shade=")
    (_, text), _ = rows(desk, *second.parts)
    assert text.content["scope"]["environment"] == {"orders-api": "3.2", "shade": "blue"}
    desk.reject(one(desk, first.parts[1]), "bo")
    assert still(desk, whole.id)
    for part in second.parts:
        desk.reject(one(desk, part), "bo")
    assert not still(desk, whole.id)


def test_a_part_rejected_before_stays_rejected_when_the_whole_is_split_again(desk: Desk) -> None:
    whole = staged(desk)
    first = cut(desk, whole)
    desk.reject(one(desk, first.parts[0]), "bo")
    found = Found(avoid(CALL), tuple(sorted(text.inputs[0] for _, text in rows(desk, *first.parts))))
    desk.later().night(found)
    desk.later(2).night(found)
    again = cut(desk.later(2), one(desk, whole.id), "bo")
    assert (again.parts, again.refused) == (first.parts[1:], first.parts[:1])
    assert [row.state for row, _ in rows(desk, *first.parts)] == ["rejected", "staged"]
