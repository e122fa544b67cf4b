"""Conflicts of drafts with each other, with rules, and with their own counter-episodes, night after night."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlmodel import select

from storage.tables import Conflict, Inference, Rule, RuleVersion
from support.reviewing import FAMILY, Desk, Found, Ran, avoid, do, finding, those_with
from tasks.conflict.resolve.step import resolve
from tasks.contrast.predicate import Predicate, predicate_id


def conflicts(desk: Desk, state: str = "open") -> list[Conflict]:
    with desk.database.read() as session:
        return list(session.exec(select(Conflict).where(Conflict.state == state).order_by(Conflict.id)))


def keep(desk: Desk, conflict: Conflict, side: str, reason: str = "read both") -> None:
    resolve(
        desk.database, desk.namespace, conflict.id, keep=side, reviewer=desk.people["ana"], reason=reason, now=desk.now,
        secret=desk.secret,
    )  # fmt: skip


def opposed(desk: Desk) -> tuple[Found, Found]:
    """Two findings against the two orders of two calls: they cannot both be heeded."""
    one = finding(desk, "pay_order", Predicate("order", ("look", "pay_order"), "avoid"))
    return one, finding(desk, "ship_order", Predicate("order", ("pay_order", "look"), "avoid"))


def supporting(desk: Desk, call: str) -> Found:
    """A finding that a call goes with success."""
    return Found(do(call), desk.record(*(Ran(f"t{n}", "success", (call,)) for n in range(6))), low=2.0, high=20.0)


def packet_rows(desk: Desk) -> dict[str, list[dict[str, Any]]]:
    return {candidate.id: revision.packet["conflicts"] for candidate, revision in desk.candidates()}


def test_two_drafts_of_a_night_conflict_once_and_both_show_both_sides(desk: Desk) -> None:
    desk.night(*opposed(desk))
    (conflict,) = conflicts(desk)
    assert (conflict.kind, conflict.sides["form"]) == ("contradiction", "order-reversed")
    for side in ("left", "right"):
        assert conflict.sides[side]["support"] > 0
        assert conflict.sides[side]["episodes"]
        assert conflict.sides[side]["title"]
    assert all(len(rows) == 1 for rows in packet_rows(desk).values())


def test_more_support_for_the_other_side_alone_writes_no_new_revision(desk: Desk) -> None:
    one, two = opposed(desk)
    desk.night(one, two)
    before = {candidate.predicate_id: candidate.number for candidate, _ in desk.candidates()}
    later = desk.later()
    more = finding(later, "ship_order", two.predicate)
    later.night(one, replace(two, episodes=(*two.episodes, *more.episodes)))
    after = {candidate.predicate_id: candidate.number for candidate, _ in desk.candidates()}
    grown = [each for each in before if before[each] != after[each]]
    assert len(before) == 2
    assert len(grown) <= 1, "only the side that grew may be written anew"
    assert grown != [predicate_id(desk.namespace, FAMILY, one.predicate)]


def test_a_decision_is_in_the_packets_of_both_sides_from_the_next_night_on(desk: Desk) -> None:
    found = opposed(desk)
    desk.night(*found)
    (conflict,) = conflicts(desk)
    keep(desk, conflict, "left")
    desk.later().night(*found)
    assert conflicts(desk) == []
    told = {f"candidate:{one}": rows[0]["resolution"]["this"] for one, rows in packet_rows(desk).items()}
    assert told == {conflict.left_ref: "stands", conflict.right_ref: "was put aside"}
    assert {candidate.state for candidate, _ in desk.candidates()} == {"staged"}


def test_both_may_stand_if_a_person_says_so(desk: Desk) -> None:
    rule_id, _ = desk.promoted(finding(desk, "cancel_order"))
    rival = supporting(desk.later(), "cancel_order")
    desk.later().night(rival)
    (conflict,) = conflicts(desk)
    assert (conflict.kind, conflict.right_ref) == ("contradiction", f"rule:{rule_id}@1")
    keep(desk, conflict, "both")
    later = desk.later(2)
    later.night(rival)
    result = later.approve(later.only(), "bo")
    if result.state == "approved":
        result = later.approve(later.only(), "cy")
    with desk.database.read() as session:
        states = {row.state for row in session.exec(select(RuleVersion))}
        assert len(session.exec(select(Rule)).all()) == 2
    assert states == {"active"}


def test_an_overlap_never_puts_a_rule_aside(desk: Desk) -> None:
    desk.promoted(finding(desk, "look", do("look")))
    part = finding(desk.later(), "pay_order", Predicate("missing-check", ("look", "pay_order"), "avoid"))
    later = desk.later()
    later.night(part)
    (conflict,) = conflicts(desk)
    assert (conflict.kind, conflict.sides["form"]) == ("overlap", "part-of")
    later.approve(later.only(), "bo")
    with desk.database.read() as session:
        assert {row.state for row in session.exec(select(RuleVersion))} == {"active"}


def test_a_task_that_speaks_against_a_claim_is_shown_with_its_episodes(desk: Desk) -> None:
    runs = [*(Ran(f"t{n}", "failure", ("look", "cancel_order")) for n in range(6) for _ in range(2)),
            *(Ran("odd", "success", ("look", "cancel_order")) for _ in range(5)),
            *(Ran("odd", "failure", ("look",)) for _ in range(5))]  # fmt: skip
    ids = desk.record(*runs)
    found = Found(avoid("cancel_order"), those_with(ids, "cancel_order", runs))
    run = desk.start(found)
    with desk.database.write() as session:
        inference = session.exec(select(Inference).where(Inference.run_id == run.id)).one()
        odd = {"stratum": "odd", "success_with": 5, "success_without": 0, "failure_with": 0, "failure_without": 5}
        inference.statistics = {**inference.statistics, "strata": [*inference.statistics["strata"], odd]}
    for stage in ("draft", "conflict", "verify", "stage"):
        desk.do(run, stage)
    (conflict,) = conflicts(desk)
    assert (conflict.kind, conflict.sides["form"]) == ("contradiction", "counter-evidence")
    assert conflict.right_ref.startswith("runs:")
    shown = {each["episode"] for each in conflict.sides["right"]["episodes"]}
    assert shown
    assert shown <= {one for one, ran in zip(ids, runs, strict=True) if ran.task == "odd"}


def test_a_rejected_candidate_is_nobodys_other_side(desk: Desk) -> None:
    one, two = opposed(desk)
    desk.night(one)
    desk.reject(desk.only())
    desk.later().night(one, two)
    assert conflicts(desk) == []
