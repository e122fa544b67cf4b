"""Revocation: the barrier at once, the repair afterwards, and what comes back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlmodel import col, select

from storage import audit
from storage.ids import uuid7
from storage.queries import rules as rule_queries
from storage.queries.lineage import reads_of_episodes
from storage.queries.taint import tainted_among, tainted_episode_ids
from storage.tables import (
    AuditEntry,
    CacheGrant,
    CandidateRevision,
    ClientSession,
    OutboxEvent,
    RuleVersion,
    Run,
    RunStep,
)
from support.reviewing import Desk, Found, Ran, avoid, finding, those_with, tried
from tasks.contrast.predicate import Predicate
from tasks.promote.errors import NotAllowed, ReasonMissing, RuleGone, SelfApproval, WrongState
from tasks.promote.step import restore
from tasks.revoke.step import preview
from tasks.verify.revoked_step import load_revoked


def states(desk: Desk) -> dict[str, str]:
    """State of the newest version of each rule, by the call it speaks of."""
    every = ("active", "superseded", "quarantined", "revoked", "expired")
    with desk.database.read() as session:
        rows = rule_queries.versions_in(session, desk.namespace, every)
    return {row.content["predicate"]["call"]: row.state for row in reversed(rows)}


def read_and_promote(desk: Desk, call: str, rule: tuple[str, int] | None, *, alone: int = 0) -> tuple[str, int]:
    """A rule whose evidence was made by sessions that had read ``rule``; ``alone`` tasks ran without it."""
    runs = tried(call, tasks=2)
    ids = desk.record(*[replace(ran, session=f"{call}-{n}") for n, ran in enumerate(runs)])
    if rule is not None:
        for n in range(len(runs)):
            desk.expose(f"{call}-{n}", *rule)
    apart = tried(call, tasks=alone)
    free = desk.record(*apart) if apart else ()
    return desk.promoted(Found(avoid(call), those_with(ids + free, call, [*runs, *apart])))


def test_descendants_are_quarantined_at_once_and_the_unrelated_stays(desk: Desk) -> None:
    m1 = read_and_promote(desk, "m1", None)
    m2 = read_and_promote(desk, "m2", m1)
    m3 = read_and_promote(desk, "m3", m2)
    read_and_promote(desk, "m4", None)
    result = desk.revoke(m1[0])
    assert states(desk) == {"m1": "revoked", "m2": "quarantined", "m3": "quarantined", "m4": "active"}
    assert (result.revoked, result.quarantined) == ([m1], sorted([m2, m3]))
    with desk.database.read() as session:
        event = session.get_one(OutboxEvent, (desk.namespace, result.epoch))
        assert [(c["event"], c["rule"]) for c in event.changes] == [
            ("revoked", m1[0]),
            *(("quarantined", rule) for rule, _ in sorted([m2, m3])),
        ]
    repaired = desk.repair(str(result.repair_run_id))
    assert repaired["restored"] == []
    assert {row["rule"] for row in repaired["to_review"]} == {m2[0], m3[0]}
    assert states(desk)["m4"] == "active"


def test_what_stands_on_its_own_evidence_is_restored_and_no_longer_descends(desk: Desk) -> None:
    m1 = read_and_promote(desk, "m1", None)
    m2 = read_and_promote(desk, "m2", m1, alone=8)
    read_and_promote(desk, "m3", m2)
    result = desk.revoke(m1[0])
    repaired = desk.repair(str(result.repair_run_id))
    assert states(desk) == {"m1": "revoked", "m2": "active", "m3": "quarantined"}
    assert [row["rule"] for row in repaired["restored"]] == [m2[0]]
    with desk.database.read() as session:
        assert rule_queries.ancestors_of(session, desk.namespace, [m2]) == set()
        newest = session.exec(select(OutboxEvent).order_by(col(OutboxEvent.epoch).desc())).first()
        assert audit.verify(session).ok
    assert newest is not None
    assert [(change["event"], change["rule"]) for change in newest.changes] == [("restored", m2[0])]


def test_a_repair_done_twice_changes_nothing_more(desk: Desk) -> None:
    m1 = read_and_promote(desk, "m1", None)
    read_and_promote(desk, "m2", m1, alone=8)
    result = desk.revoke(m1[0])
    desk.repair(str(result.repair_run_id))
    with desk.database.write() as session:
        session.get_one(Run, result.repair_run_id).state = "running"
        session.exec(select(RunStep).where(RunStep.run_id == result.repair_run_id)).one().state = "pending"
    before = states(desk)
    again = desk.repair(str(result.repair_run_id))
    assert (again["restored"], again["voided"]) == ([], [])
    assert states(desk) == before


def test_candidates_that_lean_on_it_are_voided(desk: Desk) -> None:
    m1 = read_and_promote(desk, "m1", None)
    ids = desk.record(*[Ran(f"t{n}", "failure", ("m2",), session=f"later-{n}") for n in range(4)])
    desk.expose("later-1", *m1)
    desk.night(Found(avoid("m2"), ids), finding(desk, "m5"))
    result = desk.revoke(m1[0])
    repaired = desk.repair(str(result.repair_run_id))
    assert len(repaired["voided"]) == 1
    assert [revision.content["predicate"]["call"] for _, revision in desk.candidates()] == ["m5"]
    assert [revision.content["predicate"]["call"] for _, revision in desk.candidates("void")] == ["m2"]


def test_a_voided_candidate_comes_back_on_clean_evidence(desk: Desk) -> None:
    m1 = read_and_promote(desk, "m1", None)
    ids = desk.record(*[Ran(f"t{n}", "failure", ("m2",), session=f"later-{n}") for n in range(4)])
    desk.expose("later-1", *m1)
    desk.night(Found(avoid("m2"), ids))
    desk.repair(str(desk.revoke(m1[0]).repair_run_id))
    clean = tuple(one for n, one in enumerate(ids) if n != 1)
    desk.later().night(Found(avoid("m2"), clean))
    assert desk.approve(desk.only()).state == "promoted"


def test_revoking_again_is_a_success_with_the_same_epoch(desk: Desk) -> None:
    rule_id, _ = desk.promoted(finding(desk))
    first, again = desk.revoke(rule_id), desk.revoke(rule_id, "bo")
    assert (first.changed, again.changed) == (True, False)
    assert again.epoch == first.epoch
    assert again.repair_run_id == first.repair_run_id
    with desk.database.read() as session:
        assert len(session.exec(select(AuditEntry).where(AuditEntry.action == "rule.revoked")).all()) == 1


def test_revoking_a_rule_withdraws_its_older_versions_too(desk: Desk) -> None:
    found = finding(desk)
    rule_id, _ = desk.promoted(found)
    desk.later().night(replace(found, exceptions=("t1",)))
    desk.approve(desk.only())
    assert desk.revoke(rule_id).revoked == [(rule_id, 1), (rule_id, 2)]


def test_refusals_of_a_revocation_say_why(desk: Desk) -> None:
    rule_id, _ = desk.promoted(finding(desk))
    desk.person("dee", "agent")
    with pytest.raises(RuleGone, match="no rule nowhere in acme/shop"):
        desk.revoke("nowhere")
    with pytest.raises(ReasonMissing):
        desk.revoke(rule_id, reason=" ")
    with pytest.raises(NotAllowed):
        desk.revoke(rule_id, "dee")
    assert states(desk) == {"cancel_order": "active"}


def test_the_preview_names_what_a_revocation_would_reach(desk: Desk) -> None:
    m1 = read_and_promote(desk, "m1", None)
    m2 = read_and_promote(desk, "m2", m1)
    ids = desk.record(*[Ran(f"t{n}", "failure", ("m6",), session=f"late-{n}") for n in range(3)])
    desk.expose("late-0", *m2)
    desk.night(Found(avoid("m6"), ids))
    with desk.database.read() as session:
        seen = preview(session, desk.namespace, m1[0])
    assert (seen.versions, seen.descendants) == ([m1], [m2])
    assert "late-0" in seen.sessions
    assert seen.candidates == [desk.only().id]
    assert ids[0] in seen.episodes
    assert ids[1] not in seen.episodes


def test_what_was_revoked_is_not_drafted_again_as_new(desk: Desk) -> None:
    found = finding(desk)
    rule_id, _ = desk.promoted(found)
    desk.revoke(rule_id, reason="breaks the nightly build")
    held = desk.later().night(found)["verify"]["held_back"]
    assert [row["check"] for row in held] == ["revoked-before"]
    assert "breaks the nightly build" in held[0]["why"]
    assert desk.candidates() == []


ORDER = Predicate("order", ("look", "cancel_order"), "avoid")


@pytest.mark.parametrize("also", [(), (avoid("cancel_order"),)], ids=["the same calls", "another wording"])
def test_what_was_revoked_does_not_come_back_in_other_words(desk: Desk, also: tuple[Predicate, ...]) -> None:
    first = ORDER if not also else avoid("cancel_order")
    found = finding(desk, predicate=first)
    rule_id, version = desk.promoted(found)
    desk.revoke(rule_id, reason="breaks the nightly build")
    again = Predicate("missing-check", ("look", "cancel_order"), "avoid")
    held = desk.later().night(replace(found, predicate=again, also=also))["verify"]["held_back"]
    assert [row["check"] for row in held] == ["revoked-before"]
    assert f"akin, in other words: revoked before, on {desk.now.date()} ({rule_id} version {version})" in held[0]["why"]
    assert desk.candidates() == []


def test_what_only_shares_a_call_with_a_revoked_rule_is_staged_with_a_warning(desk: Desk) -> None:
    found = finding(desk)
    rule_id, _ = desk.promoted(found)
    desk.revoke(rule_id, reason="breaks the nightly build")
    result = desk.later().night(replace(found, predicate=Predicate("missing-check", ("look", "cancel_order"), "avoid")))
    assert result["verify"]["held_back"] == []
    ((candidate, revision),) = desk.candidates()
    (told,) = [check for check in revision.packet["checks"] if check["name"] == "revoked-before"]
    assert (told["verdict"], rule_id in told["detail"]) == ("warn", True)
    assert not candidate.revoked_before


def test_a_rule_that_is_active_again_counts_as_not_revoked(desk: Desk) -> None:
    found = finding(desk)
    rule_id, _ = desk.promoted(found)
    desk.revoke(rule_id)
    later = desk.later()
    fresh = finding(later)
    later.night(replace(fresh, episodes=found.episodes + fresh.episodes))
    assert later.approve(desk.only()).version == 2
    with desk.database.read() as session:
        assert load_revoked(session, desk.namespace) == ()
    desk.revoke(rule_id)
    with desk.database.read() as session:
        assert {one.key for one in load_revoked(session, desk.namespace)} == {(rule_id, 1), (rule_id, 2)}


def test_grown_evidence_brings_it_back_marked_with_the_reason(desk: Desk) -> None:
    found = finding(desk)
    rule_id, _ = desk.promoted(found)
    desk.revoke(rule_id, reason="breaks the nightly build")
    later = desk.later()
    fresh = finding(later)
    later.night(replace(fresh, episodes=found.episodes + fresh.episodes))
    candidate = desk.only()
    assert candidate.revoked_before
    ((_, revision),) = desk.candidates()
    assert revision.packet["revoked_before"]["reason"] == "breaks the nightly build"
    result = later.approve(candidate)
    assert (result.rule_id, result.version) == (rule_id, 2)


def test_echoes_of_a_rule_are_no_support_for_it(desk: Desk) -> None:
    rule_id, version = desk.promoted(finding(desk))
    later = desk.later()
    echoes = [Ran("t0", "failure", ("cancel_order",), reads=((rule_id, version),)) for _ in range(40)]
    ids = later.record(*echoes)
    result = later.night(Found(avoid("cancel_order"), ids, exceptions=("t0",)))
    assert "independence" in {row["check"] for row in result["verify"]["held_back"]}
    assert desk.candidates() == []


def test_taint_is_asked_anew_so_late_episodes_and_late_exposures_are_caught(desk: Desk) -> None:
    rule_id, version = desk.promoted(finding(desk))
    (before,) = desk.record(Ran("t0", "failure", ("x",), session="late"))
    desk.revoke(rule_id)
    with desk.database.read() as session:
        assert tainted_episode_ids(session, desk.namespace) == set()
    desk.expose("late", rule_id, version)
    (after,) = desk.record(Ran("t1", "failure", ("x",), session="late"))
    (claims,) = desk.record(Ran("t1", "failure", ("x",), reads=((rule_id, version), ("no-such-rule", 1))))
    with desk.database.read() as session:
        assert tainted_episode_ids(session, desk.namespace) == {before, after, claims}
        assert tainted_among(session, desk.namespace, [before, claims]) == {before, claims}


@pytest.mark.parametrize(
    ("ended", "reported", "exposed"),
    [(False, [], True), (True, [], False), (True, "read", True)],
    ids=["open session", "reported none", "reported it"],
)
def test_a_grant_covers_sessions_of_its_client_unless_they_reported_otherwise(
    desk: Desk, ended: bool, reported: object, exposed: bool
) -> None:
    rule_id, version = desk.promoted(finding(desk))
    (episode,) = desk.record(Ran("t0", "failure", ("x",), session="cached"))
    (stranger,) = desk.record(Ran("t0", "failure", ("x",), session="elsewhere"))
    hour = timedelta(hours=1)
    with desk.database.write() as session:
        session.add(
            CacheGrant(
                namespace=desk.namespace, id=uuid7(), client_instance="c1", token_id="t", rule_id=rule_id,
                version=version, epoch=1, since=desk.now, until=desk.now + hour,
            )
        )  # fmt: skip
        session.add(
            ClientSession(
                namespace=desk.namespace, session_id="cached", client_instance="c1", token_id="t",
                started_at=desk.now, ended_at=desk.now + hour if ended else None,
                reported=[{"rule": rule_id, "version": version}] if reported else [],
            )
        )  # fmt: skip
        session.add(
            ClientSession(
                namespace=desk.namespace, session_id="elsewhere", client_instance="c2", token_id="t",
                started_at=desk.now,
            )
        )  # fmt: skip
    with desk.database.read() as session:
        reads = reads_of_episodes(session, desk.namespace, [episode, stranger])
    assert reads == ({episode: {(rule_id, version)}} if exposed else {})


def test_a_person_restores_what_a_repair_left_for_review(desk: Desk) -> None:
    m1 = read_and_promote(desk, "m1", None)
    m2 = read_and_promote(desk, "m2", m1)
    desk.repair(str(desk.revoke(m1[0]).repair_run_id))
    act = {"reviewer": desk.people["bo"], "reason": "read it all again", "now": desk.now, "secret": desk.secret}
    first = restore(desk.database, desk.namespace, *m2, **act)  # type: ignore[arg-type]
    again = restore(desk.database, desk.namespace, *m2, **act)  # type: ignore[arg-type]
    assert (first.changed, again.changed, again.epoch) == (True, False, first.epoch)
    assert states(desk)["m2"] == "active"
    with pytest.raises(WrongState, match="is revoked"):
        restore(desk.database, desk.namespace, *m1, **act)  # type: ignore[arg-type]


def test_nobody_restores_what_they_wrote(desk: Desk) -> None:
    m1 = read_and_promote(desk, "m1", None)
    m2 = read_and_promote(desk, "m2", m1)
    desk.repair(str(desk.revoke(m1[0]).repair_run_id))
    with desk.database.write() as session:
        version = session.get_one(RuleVersion, (desk.namespace, *m2))
        revision = session.get_one(CandidateRevision, (desk.namespace, version.candidate_id, version.candidate_number))
        revision.author = desk.people["bo"].user_id
    act = {"reason": "it is mine", "now": desk.now, "secret": desk.secret}
    with pytest.raises(SelfApproval, match="another reviewer"):
        restore(desk.database, desk.namespace, *m2, reviewer=desk.people["bo"], **act)  # type: ignore[arg-type]
    assert states(desk)["m2"] == "quarantined"
    assert restore(desk.database, desk.namespace, *m2, reviewer=desk.people["ana"], **act).changed  # type: ignore[arg-type]


def test_a_rule_does_not_lean_on_the_runs_that_speak_against_it(desk: Desk) -> None:
    read = read_and_promote(desk, "m1", None)
    runs = tried("pay", tasks=8)
    ids = desk.record(*runs)
    (against,) = desk.record(Ran("t0", "success", ("pay",), session="reader"))
    desk.expose("reader", *read)
    rule = desk.promoted(Found(avoid("pay"), (*those_with(ids, "pay", runs), against)))
    with desk.database.read() as session:
        assert rule_queries.ancestors_of(session, desk.namespace, [rule]) == set()
    desk.revoke(read[0])
    assert states(desk) == {"m1": "revoked", "pay": "active"}


def test_a_rule_leans_on_what_its_uncited_runs_had_read(desk: Desk) -> None:
    read = read_and_promote(desk, "m1", None)
    runs = tried("pay", tasks=8)
    found = Found(avoid("pay"), those_with(desk.record(*runs), "pay", runs), read=(read,))
    rule = desk.promoted(found)
    with desk.database.read() as session:
        assert rule_queries.ancestors_of(session, desk.namespace, [rule]) == {read}
    assert desk.revoke(read[0]).quarantined == [rule]


def test_a_candidate_leans_on_what_its_uncited_runs_had_read(desk: Desk) -> None:
    read = read_and_promote(desk, "m1", None)
    runs = tried("pay", tasks=8)
    desk.night(Found(avoid("pay"), those_with(desk.record(*runs), "pay", runs), read=(read,)))
    waiting = desk.only()
    with desk.database.read() as session:
        assert preview(session, desk.namespace, read[0]).candidates == [waiting.id]
    desk.repair(str(desk.revoke(read[0]).repair_run_id))
    assert desk.candidates() == []
