"""The mode of a cluster: chosen once, stored with its numbers, judged later, and never above a confirmed finding."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import select

from storage.ledger import add_steps
from storage.tables import Draft, Episode, Inference, Recheck, RuleVersion
from support.modes import all_choices, choices, night_of, open_night, put_in_cluster, set_policy
from support.reviewing import Desk, Found, Ran, avoid, finding, those_with, tried
from tasks.draft import choose_step
from tasks.draft import step as draft_step
from tasks.promote.errors import PacketIncomplete


def found(desk: Desk, call: str = "cancel_order", **details: Any) -> Found:
    """A finding whose runs are in the cluster of orders."""
    one = finding(desk, call, **details)
    put_in_cluster(desk, one.episodes)
    return one


def test_a_choice_is_stored_with_the_numbers_that_made_it(desk: Desk) -> None:
    one = found(desk)
    run, results = night_of(desk, one.episodes, one)
    choice = choices(desk, run)["orders"]
    assert (choice.mode, choice.action, choice.regime) == ("corrective", "consolidate", "auto")
    assert choice.profile == {"terms": ["cancel", "order"], "tools": ["look"], "successes": 0, "failures": 16,
                              "other": 0}  # fmt: skip
    assert [score["mode"] for score in choice.scores["modes"]] == ["none", "imitation", "strategic", "corrective"]
    assert choice.scores["prior_from"] == "failures only (16)"
    assert "1 confirmed finding that no rule states yet" in choice.why
    assert results["draft"]["consolidate"] == results["draft"]["mode_corrective"] == 1
    with desk.database.read() as session:
        assert session.exec(select(Draft)).one().cluster_id == "orders"
    assert desk.only().cluster_id == "orders"


def test_a_step_done_again_reads_what_was_chosen(desk: Desk) -> None:
    one = found(desk)
    run = open_night(desk, one.episodes, one)
    with desk.database.write() as session:
        add_steps(session, run, "draft", [""])
    claim = desk.claim(run)
    draft_step.run(desk.database, claim, desk.context)
    before = choices(desk, run)["orders"].model_dump()
    put_in_cluster(desk, desk.record(*tried("refund")), "trips")
    set_policy(desk, regime="force")
    draft_step.run(desk.database, claim, replace(desk.context, now=desk.now + timedelta(hours=3)))
    assert choices(desk, run)["orders"].model_dump() == before
    with desk.database.read() as session:
        assert len(session.exec(select(Draft)).all()) == 1


def test_a_reward_arrives_with_the_decision_and_a_revocation_turns_it(desk: Desk) -> None:
    one = found(desk)
    run, _ = night_of(desk, one.episodes, one)
    candidate = desk.only()
    desk = desk.later()
    assert choose_again(desk) == (None, "1 waiting: not known yet")
    desk = desk.later()
    desk.approve(candidate)
    assert choose_again(desk) == (1.0, "1 approved")
    with desk.database.read() as session:
        rule = session.exec(select(RuleVersion)).one()
    desk = desk.later()
    desk.revoke(rule.rule_id)
    assert choose_again(desk) == (-1.0, "1 revoked")
    assert choices(desk, run)["orders"].mode == "corrective", "what was chosen stays what was chosen"


def choose_again(desk: Desk) -> tuple[float | None, str | None]:
    """A further night without findings; returns what the first choice is worth by then."""
    run = open_night(desk, ())
    with desk.database.write() as session:
        add_steps(session, run, "draft", [""])
    choose_step.run(desk.database, desk.claim(run), desk.context)
    with desk.database.write() as session:
        session.merge(run).state = "completed"
    first = all_choices(desk)[0]
    return first.reward, first.reward_why


def test_a_rejected_mode_is_worth_less_and_another_is_tried(desk: Desk) -> None:
    one = found(desk)
    night_of(desk, one.episodes, one)
    desk.reject(desk.only())
    desk = desk.later()
    more = desk.record(*[Ran("t1", "failure", ("look", "cancel_order")) for _ in range(4)])
    put_in_cluster(desk, more)
    run, _ = night_of(desk, more)
    choice = choices(desk, run)["orders"]
    (near,) = choice.scores["neighbours"]
    assert (near["mode"], near["age"], near["reward"]) == ("corrective", 1, -1.0)
    best = max(choice.scores["modes"], key=lambda score: score["score"])
    assert best["mode"] != "corrective"
    assert (choice.mode, choice.action) == ("none", "keep"), "no model writes here, and nothing new was confirmed"


def test_a_confirmed_finding_is_drafted_whatever_the_mode(desk: Desk) -> None:
    runs = [*tried("cancel_order")]
    ids = desk.record(*runs)
    put_in_cluster(desk, ids)
    with desk.database.write() as session:
        for episode in session.exec(select(Episode)):
            episode.outcome_source = "self-reported"
    one = Found(avoid("cancel_order"), those_with(ids, "cancel_order", runs))
    run, results = night_of(desk, ids, one)
    assert choices(desk, run)["orders"].mode == "none", "no outcome that counts is known of the cluster"
    assert results["draft"]["drafts"] == 1
    assert desk.only().kind == "rule"


def test_an_episodic_night_drafts_nothing_and_leaves_the_queue_alone(desk: Desk) -> None:
    one = found(desk)
    night_of(desk, one.episodes, one)
    waiting = desk.only()
    desk = desk.later()
    set_policy(desk, regime="episodic")
    more = desk.record(*tried("cancel_order"))
    put_in_cluster(desk, more)
    run, results = night_of(desk, more, replace(one, episodes=(*one.episodes, *more)))
    assert (results["draft"]["findings"], results["draft"]["drafts"]) == (1, 0)
    assert results["stage"]["voided"] == 0
    assert desk.only().number == waiting.number
    assert (choices(desk, run)["orders"].action, choices(desk, run)["orders"].mode) == ("keep", "none")


def test_an_episodic_night_still_withdraws_what_is_not_confirmed_any_more(desk: Desk) -> None:
    one = found(desk)
    night_of(desk, one.episodes, one)
    desk = desk.later()
    set_policy(desk, regime="episodic")
    _, results = night_of(desk, ())
    assert results["stage"]["voided"] == 1


def test_what_was_drafted_by_force_is_marked_and_not_approved_until_a_policy_or_auto_says_so(desk: Desk) -> None:
    set_policy(desk, regime="force")
    one = found(desk)
    run, results = night_of(desk, one.episodes, one)
    assert results["draft"]["regime"] == choices(desk, run)["orders"].regime == "force"
    ((candidate, revision),) = desk.candidates()
    assert revision.packet["forced"]["approvable"] is False
    with pytest.raises(PacketIncomplete, match="force"):
        desk.approve(candidate)

    desk = desk.later()
    set_policy(desk, regime="force", approve_forced=True)
    night_of(desk, (), one)
    ((candidate, revision),) = desk.candidates()
    assert revision.packet["forced"]["approvable"] is True

    desk = desk.later()
    set_policy(desk)
    night_of(desk, (), one)
    ((candidate, revision),) = desk.candidates()
    assert "forced" not in revision.packet
    assert desk.approve(candidate).state == "promoted"


def test_what_its_rules_say_already_is_kept(desk: Desk) -> None:
    one = found(desk)
    night_of(desk, one.episodes, one)
    desk.approve(desk.only())
    desk = desk.later()
    more = desk.record(Ran("t1", "failure", ("look", "cancel_order")))
    put_in_cluster(desk, more)
    run, _ = night_of(desk, more, one)
    choice = choices(desk, run)["orders"]
    assert (choice.action, choice.why.partition(";")[0]) == ("keep", "what was confirmed is what its rules say already")


def test_a_rule_that_no_longer_holds_is_proposed_for_removal_and_stays_active(desk: Desk) -> None:
    one = found(desk)
    first, _ = night_of(desk, one.episodes, one)
    promoted = desk.approve(desk.only())
    with desk.database.write() as session:
        session.add(
            Recheck(namespace=desk.namespace, run_id=first.id, rule_id=str(promoted.rule_id), version=1,
                    verdict="reversed", words="odds ratio 3 now", at=desk.now)
        )  # fmt: skip
    desk = desk.later()
    more = desk.record(*tried("look_up"))
    put_in_cluster(desk, more)
    run, _ = night_of(desk, more)
    choice = choices(desk, run)["orders"]
    assert choice.action == "remove"
    assert f"{promoted.rule_id} version 1 reversed: odds ratio 3 now" in choice.why
    with desk.database.read() as session:
        assert session.exec(select(RuleVersion)).one().state == "active"


def test_tainted_runs_do_not_shape_a_choice(desk: Desk) -> None:
    one = found(desk)
    night_of(desk, one.episodes, one)
    promoted = desk.approve(desk.only())
    desk = desk.later()
    more = desk.record(Ran("t1", "success", ("look",), reads=((str(promoted.rule_id), 1),)), Ran("t1", "success"))
    put_in_cluster(desk, more)
    desk.revoke(str(promoted.rule_id))
    run, _ = night_of(desk, more)
    assert choices(desk, run)["orders"].profile["successes"] == 1


def test_a_hypothesis_has_a_next_step_and_is_never_drafted_or_staged(desk: Desk) -> None:
    one = replace(found(desk), exceptions=("t3",))
    _, results = night_of(desk, one.episodes, one)
    assert results["draft"]["hypotheses"] == 1
    with desk.database.read() as session:
        rows = session.exec(select(Inference).where(Inference.verdict == "hypothesis")).all()
        drafted = {draft.inference_id for draft in session.exec(select(Draft))}
    (row,) = rows
    assert "condition that is not recorded" in row.statement
    assert row.next_step
    assert any(said.startswith("not who ran") for said in row.ruled_out)
    assert row.id not in drafted
    assert desk.only().kind == "rule"
    draft_again(desk)
    with desk.database.read() as session:
        assert len(session.exec(select(Inference).where(Inference.verdict == "hypothesis")).all()) == 1


def draft_again(desk: Desk) -> None:
    """A later night that concludes nothing."""
    night_of(desk.later(), ())


def test_an_unconfirmed_finding_is_not_drafted_even_by_force(desk: Desk) -> None:
    set_policy(desk, regime="force")
    one = replace(found(desk), verdict="unconfirmed")
    run, results = night_of(desk, one.episodes, one)
    assert choices(desk, run)["orders"].action == "consolidate"
    assert results["draft"]["drafts"] == 0
    assert desk.candidates() == []
