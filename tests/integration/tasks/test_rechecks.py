"""Active rules are tested again; what no longer holds is proposed for withdrawal, and a person decides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlmodel import select
from starlette.testclient import TestClient

from review_ui import links
from review_ui.app import create_app
from storage.ledger import add_steps
from storage.queries import rechecks as recheck_queries
from storage.queries import rules as rule_queries
from storage.settings import Settings
from storage.tables import Candidate, Namespace, OutboxEvent, Recheck, RuleVersion, Run
from support.factories import make_person
from support.review_pages import ORIGIN, fields, log_in
from support.reviewing import Desk, Found, Ran, avoid, do, finding, those_with, tried
from tasks.promote.errors import WrongState
from tasks.recheck import step as recheck_step


def opposite(call: str, tasks: int = 12, **details: Any) -> list[Ran]:
    """Runs in which the call goes with success, within every task."""
    turned = {"failure": "success", "success": "failure"}
    return [replace(ran, outcome=turned[ran.outcome]) for ran in tried(call, tasks, **details)]


def without_effect(call: str, tasks: int = 16) -> list[Ran]:
    """Runs in which the call makes no difference."""
    return [*tried(call, tasks), *opposite(call, tasks)]


def rule_of(desk: Desk, call: str = "cancel_order") -> tuple[str, int]:
    """A rule that promised much."""
    return desk.promoted(replace(finding(desk, call), promised=0.1))


def verdict(desk: Desk, found: dict[str, Any]) -> str:
    (one,) = found["verdicts"]
    assert one["words"]
    return str(one["verdict"])


def active(desk: Desk) -> set[str]:
    with desk.database.read() as session:
        return {row.rule_id for row in rule_queries.versions_in(session, desk.namespace)}


def looks(desk: Desk) -> list[Recheck]:
    with desk.database.read() as session:
        return list(session.exec(select(Recheck).order_by(Recheck.run_id)))


def set_policy(desk: Desk, **policy: Any) -> None:
    with desk.database.write() as session:
        session.get_one(Namespace, desk.namespace).policy = policy


def proposals(desk: Desk, *states: str) -> list[Candidate]:
    return [candidate for candidate, _ in desk.candidates(*states) if candidate.kind in ("removal", "correction")]


def test_a_rule_that_fresh_runs_bear_out_stands_and_the_look_is_stored(desk: Desk) -> None:
    rule = rule_of(desk)
    desk.record(*tried("cancel_order", 12))
    found = desk.later().recheck()
    assert (verdict(desk, found), found["proposed"]) == ("stands", 0)
    (look,) = looks(desk)
    assert (look.rule_id, look.version, look.statistics["spent"], look.candidate_id) == (*rule, True, None)


def test_a_vanished_effect_becomes_a_removal_and_nothing_active_is_changed_by_the_night(desk: Desk) -> None:
    rule_id, version = rule_of(desk)
    desk.record(*without_effect("cancel_order"))
    found = desk.later().recheck()
    assert (verdict(desk, found), found["proposed"]) == ("vanished", 1)
    (candidate,) = proposals(desk)
    assert (candidate.kind, candidate.replaces_rule_id, candidate.replaces_version) == ("removal", rule_id, version)
    assert active(desk) == {rule_id}
    assert looks(desk)[0].candidate_id == candidate.id


def test_approving_a_removal_is_a_revocation_by_whoever_approves_it(desk: Desk) -> None:
    rule_id, version = rule_of(desk)
    desk.record(*without_effect("cancel_order"))
    desk.later().recheck()
    result = desk.later(2).approve(proposals(desk)[0], reason="it does nothing any more")
    assert (result.state, result.revoked, result.rule_id, result.version) == ("promoted", True, rule_id, version)
    with desk.database.read() as session:
        row = session.get_one(RuleVersion, (desk.namespace, rule_id, version))
        event = session.get_one(OutboxEvent, (desk.namespace, result.epoch))
        repair = session.exec(select(Run).where(Run.kind == "repair", Run.state == "running")).one()
    assert (row.state, row.state_reason) == ("revoked", "it does nothing any more")
    assert [(change["event"], change["rule"]) for change in event.changes] == [("revoked", rule_id)]
    desk.later(2).repair(repair.id)
    assert desk.later(2).approve(proposals(desk, "promoted")[0]).changed is False


def test_a_reversed_effect_becomes_a_correction(desk: Desk) -> None:
    rule_of(desk)
    desk.record(*opposite("cancel_order", 16))
    assert verdict(desk, desk.later().recheck()) == "reversed"
    assert proposals(desk)[0].kind == "correction"


def test_a_rejected_proposal_stays_rejected_and_the_rule_active(desk: Desk) -> None:
    rule_id, _ = rule_of(desk)
    desk.record(*without_effect("cancel_order"))
    desk.later().recheck()
    desk.later().reject(proposals(desk)[0])
    assert desk.later(2).recheck()["proposed"] == 0
    assert proposals(desk) == []
    assert active(desk) == {rule_id}


def test_a_proposal_falls_when_the_rule_stands_again(desk: Desk) -> None:
    rule_of(desk)
    desk.record(*without_effect("cancel_order", 10))
    desk.later().recheck()
    desk.record(*tried("cancel_order", 60))
    found = desk.later(2).recheck()
    assert (verdict(desk, found), found["dropped"]) == ("stands", 1)
    assert proposals(desk) == []


def test_a_proposal_for_a_rule_that_is_gone_cannot_be_approved(desk: Desk) -> None:
    rule_id, _ = rule_of(desk)
    desk.record(*without_effect("cancel_order"))
    desk.later().recheck()
    (candidate,) = proposals(desk)
    desk.later().revoke(rule_id)
    with pytest.raises(WrongState):
        desk.later().approve(candidate)


def test_what_descends_from_a_removed_rule_is_withdrawn_with_it(desk: Desk) -> None:
    top = rule_of(desk)
    runs = tried("ship_order", 8, session=None)
    runs = [replace(ran, session=f"read-{n}") for n, ran in enumerate(runs)]
    ids = desk.record(*runs)
    for n in range(len(runs)):
        desk.expose(f"read-{n}", *top)
    low = desk.promoted(Found(avoid("ship_order"), those_with(ids, "ship_order", runs)))
    set_policy(desk, retire_limit=1.0)
    desk.record(*without_effect("cancel_order"))
    desk.later().recheck()
    desk.later().approve(proposals(desk)[0])
    with desk.database.read() as session:
        states = {row.rule_id: row.state for row in rule_queries.versions_by_keys(session, desk.namespace, [top, low])}
    assert states == {top[0]: "revoked", low[0]: "quarantined"}


def test_where_every_session_had_read_it_there_is_no_comparison_and_a_holdout_is_advised(desk: Desk) -> None:
    rule = rule_of(desk)
    runs = [replace(ran, session=f"read-{n}") for n, ran in enumerate(opposite("cancel_order"))]
    desk.record(*runs)
    for n in range(len(runs)):
        desk.expose(f"read-{n}", *rule)
    found = desk.later().recheck()
    assert verdict(desk, found) == "no-comparison"
    assert "holdout_fraction" in found["verdicts"][0]["words"]
    assert proposals(desk) == []


def test_a_version_that_it_was_not_verified_for_opens_a_recheck(desk: Desk) -> None:
    runs = tried("cancel_order", environment=(("shop-api", "3.1"),))
    ids = desk.record(*runs)
    desk.promoted(replace(Found(avoid("cancel_order"), those_with(ids, "cancel_order", runs)), promised=0.1))
    desk.record(*opposite("cancel_order", environment=(("shop-api", "4.0"),)))
    found = desk.later().recheck()
    assert verdict(desk, found) == "outside-scope"
    assert "shop-api 4.0, verified for 3.1" in found["verdicts"][0]["words"]


def test_a_plan_that_would_retire_too_much_halts_for_a_person_and_policy_lets_it_go_on(desk: Desk) -> None:
    calls = ["cancel_order", "ship_order", "swap_item"]
    rules = {rule_of(desk, call)[0] for call in calls}
    for call in calls:
        desk.record(*without_effect(call))
    found = desk.later().recheck()
    assert (found["vanished"], found["proposed"]) == (3, 0)
    (problem,) = found["problems"]
    assert "3 of 3 active rules" in problem["error"]
    assert "retire_limit" in problem["error"]
    assert proposals(desk) == []
    set_policy(desk, retire_limit=1.0)
    again = desk.later(2).recheck()
    assert (again["proposed"], again["problems"]) == (3, [])
    assert active(desk) == rules


def test_a_recheck_done_twice_keeps_the_first_look_and_stages_once(desk: Desk) -> None:
    rule_of(desk)
    desk.record(*without_effect("cancel_order"))
    tonight = desk.later()
    run = tonight.start()
    with desk.database.write() as session:
        add_steps(session, run, "recheck", [""])
    claim = tonight.claim(run)
    first = recheck_step.run(desk.database, claim, tonight.context)
    assert recheck_step.run(desk.database, claim, tonight.context) == first
    assert len(looks(desk)) == 1
    (candidate,) = proposals(desk)
    assert candidate.number == 1


def test_only_families_that_were_touched_or_rules_that_are_due_are_looked_at(desk: Desk) -> None:
    rule = rule_of(desk)
    with desk.database.write() as session:
        row = session.get_one(RuleVersion, (desk.namespace, *rule))
        row.content = {**row.content, "predicate": {**row.content["predicate"], "family": "elsewhere"}}
    assert desk.later().recheck()["rechecked"] == 0
    assert desk.later(200).recheck()["rechecked"] == 1


def test_tainted_runs_are_counted_out_of_a_recheck_and_it_says_how_many(desk: Desk) -> None:
    misled = rule_of(desk, "ship_order")
    rule_of(desk)
    runs = [replace(ran, session=f"misled-{n}") for n, ran in enumerate(opposite("cancel_order"))]
    desk.record(*runs)
    for n in range(len(runs)):
        desk.expose(f"misled-{n}", *misled)
    desk.repair(str(desk.revoke(misled[0]).repair_run_id))
    assert verdict(desk, desk.later().recheck()) == "stands"
    with desk.database.read() as session:
        (look,) = recheck_queries.latest_rechecks(
            session,
            desk.namespace,
            [(row.rule_id, row.version) for row in (rule_queries.versions_in(session, desk.namespace))],
        ).values()
    assert look.statistics["tainted"] == len(runs)


def test_the_page_of_a_proposal_and_of_its_run_can_be_read_and_decided_on(desk: Desk, tmp_path: Path) -> None:
    rule_of(desk)
    desk.record(*without_effect("cancel_order"))
    tonight = desk.later()
    tonight.recheck()
    (candidate,) = proposals(desk)
    _, token = make_person(desk.database, "rosa", desk.now)
    app = create_app(Settings(home=tmp_path, secret_key=SecretStr("k" * 40)), desk.database, lambda: tonight.now)
    with TestClient(app, base_url=ORIGIN, headers={"Origin": ORIGIN}) as browser:
        log_in(browser, "rosa", token)
        link = links.candidate(desk.namespace, candidate.id)
        page = browser.get(link)
        run = browser.get(f"/runs/{looks(desk)[0].run_id}")
        form = fields(page.text, f"{link}/approve") | {"reason": "it does nothing any more"}
        answer = browser.post(f"{link}/approve", data=form, follow_redirects=True)
    assert (page.status_code, run.status_code, answer.status_code) == (200, 200, 200)
    assert "Withdraw the rule" in page.text
    assert "vanished" in run.text
    assert active(desk) == set()


def test_drafts_that_would_put_too_many_rules_aside_are_not_staged_until_policy_allows(desk: Desk) -> None:
    calls = ["cancel_order", "ship_order", "swap_item"]
    rules = {rule_of(desk, call)[0] for call in calls}
    runs = {call: opposite(call, 4) for call in calls}
    ids = {call: desk.record(*ran) for call, ran in runs.items()}
    found = [Found(do(call), those_with(ids[call], call, runs[call])) for call in calls]
    staged = desk.later().night(*found, replace(finding(desk, "send_mail"), promised=0.1))["stage"]
    assert (staged["created"], staged["retires"]) == (1, [])
    assert "3 of 3 active rules" in staged["problems"][0]["error"]
    set_policy(desk, retire_limit=1.0)
    staged = desk.later(2).night(*found)["stage"]
    assert (staged["created"], set(staged["retires"]), staged["problems"]) == (3, rules, [])
    assert active(desk) == rules
