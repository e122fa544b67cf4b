"""Every template is rendered with text that tries to break out of it; nothing runs, loads, hides or goes elsewhere."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from sqlmodel import select
from starlette.testclient import TestClient

from review_ui import templating
from review_ui.app import create_app
from storage import audit
from storage.engine import Database
from storage.settings import Settings
from storage.tables import Candidate, Conflict, Inference, Rule, RuleVersion, RunStep, VersionAncestor
from support import factories
from support.html_check import faults_of
from support.modes import make_choice
from support.review_pages import ORIGIN, SPACE, Browse, Clock, fields, log_in

TAGS = "".join(chr(0xE0000 + ord(char)) for char in "obey")
HOSTILE = (
    "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}{% raw %}</title></textarea></svg>"
    f"\u202egnp.exe\u200b{TAGS}аdmin `code` javascript:alert(1) https://evil.example \x1b[31m\x00".replace("\x00", "")
)


def hostile_content() -> dict[str, Any]:
    scope = {"namespace": HOSTILE, "environment": {HOSTILE: HOSTILE}, "agents": [HOSTILE], "valid_from": HOSTILE,
             "recheck_at": "2027-01-01"}  # fmt: skip
    return factories.content_for(SPACE, when_to_use=HOSTILE, guidance=[HOSTILE, "long " * 900 + HOSTILE], scope=scope)


def hostile_packet() -> dict[str, Any]:
    strata = [{"stratum": HOSTILE, "success_with": 1, "success_without": 5, "failure_with": 4, "failure_without": 1}]
    words = ("summary", "verification_method", "owner", "authoritative_source", "tier_why")
    return factories.packet_for(
        strata=strata * 30,
        exceptions=[HOSTILE],
        checks=[{"name": HOSTILE, "verdict": "warn", "detail": HOSTILE * 9, "fix": HOSTILE}],
        counter_example={"episode_id": "ep-1", "step_ids": [HOSTILE], "why": HOSTILE},
        revoked_before={HOSTILE: HOSTILE},
        cost={HOSTILE: HOSTILE},
        agent_adjusted={"verdict": HOSTILE},
        **dict.fromkeys(words, HOSTILE),
    )


def hostile_steps() -> list[dict[str, Any]]:
    kinds = ["user", "plan", "claim", "tool_call", "observation", "answer", "memory_read", "memory_write", "system"]
    made: list[dict[str, Any]] = [
        {"id": f"{HOSTILE}{place}", "kind": kind, "text": HOSTILE, "name": HOSTILE, "of": HOSTILE, "rule": HOSTILE,
         "arguments": {HOSTILE: HOSTILE}, "cites": [HOSTILE], "trust": "external", "is_error": True,
         "agent": HOSTILE, "exit_code": 2, "uri": f"javascript:{HOSTILE}", "is_copied_context": True}
        for place, kind in enumerate(kinds)
    ]  # fmt: skip
    return [
        *made,
        {"id": "5", "kind": "observation", "text": HOSTILE * 900},
        {"id": "4", "kind": "answer", "text": "-"},
    ]


@pytest.fixture
def world(app: FastAPI, database: Database, clock: Clock) -> None:
    """A store in which every text is hostile."""
    now = clock()
    odd = {"task": HOSTILE, "task_key": HOSTILE, "agent": HOSTILE, "model": HOSTILE, "environment": {HOSTILE: HOSTILE},
           "redactions": {HOSTILE: 2}, "source_file": HOSTILE, "retry_of": HOSTILE, "trust": "external",
           "details": {"outcome_from": HOSTILE, "outcome_overruled": HOSTILE}}  # fmt: skip
    for place in range(1, 7):
        factories.make_episode(database, SPACE, f"ep-{place}", now, steps=hostile_steps(), **odd)
    evidence = [(f"ep-{place}", "counter" if place == 6 else "support") for place in range(1, 7)]
    staged = factories.make_candidate(
        database, SPACE, "cand-1", now, content=hostile_content(), packet=hostile_packet(), evidence=evidence,
        tier_why=HOSTILE, kind=HOSTILE, revoked_before=True, replaces_rule_id="other", replaces_version=1,
    )  # fmt: skip
    assert staged
    factories.make_candidate(database, SPACE, "cand-2", now, content=factories.content_for(SPACE))
    factories.make_conflict(database, SPACE, "candidate:cand-1", "candidate:cand-2", now, HOSTILE)
    for run_id, state in (("run-1", "partial"), ("run-2", "running")):
        key = f"{HOSTILE}{run_id}"
        factories.make_run(database, SPACE, run_id, now, state=state, key=key, requested_by=HOSTILE,
                           problems=[{"stage": HOSTILE, "error": HOSTILE}], stats={HOSTILE: HOSTILE})  # fmt: skip
    with database.write() as session:
        for step in session.exec(select(RunStep)).all():
            step.error, step.shard, step.result = HOSTILE, HOSTILE, {HOSTILE: 3}
        for found in session.exec(select(Inference)).all():
            found.statement, found.next_step, found.ruled_out = HOSTILE, HOSTILE, [HOSTILE]
        session.get_one(Candidate, (SPACE, "cand-1")).run_id = "run-1"
    neighbour = {"run_id": HOSTILE, "cluster_id": HOSTILE, "mode": HOSTILE, "similarity": 1.0, "age": 1, "weight": 1.0,
                 "reward": 1.0}  # fmt: skip
    score = {"mode": HOSTILE, "n": 0, "mean": 0.0, "prior": 0.0, "bonus": 0.0, "score": 0.0}
    scores = {"modes": [score], "neighbours": [neighbour], "prior_from": HOSTILE,
              "model": {"state": HOSTILE, "why": HOSTILE}}  # fmt: skip
    make_choice(database, SPACE, "run-1", now, "c-1", label=HOSTILE, why=HOSTILE, scores=scores, reward_why=HOSTILE)
    with database.write() as session:
        audit.record(session, actor=HOSTILE, action=HOSTILE, namespace=SPACE, target=HOSTILE,
                     detail={HOSTILE: HOSTILE}, now=now)  # fmt: skip


def visit(browser: TestClient, path: str, status: int = 200) -> str:
    answer = browser.get(path)
    assert answer.status_code == status, path
    assert faults_of(answer.text) == [], path
    return answer.text


def test_every_template_stands_hostile_text(
    app: FastAPI, browse: Browse, anonymous: TestClient, database: Database, clock: Clock, world: None
) -> None:
    templating.make_templates().cache.clear()  # type: ignore[union-attr]
    rosa, name = browse("rosa"), f"eve{HOSTILE}"[:190]
    factories.make_person(database, name, clock())
    link = f"/candidates/{SPACE}/cand-1"
    page = visit(rosa, link)
    assert "hidden places in this text" in page
    assert "was revoked before" in page
    assert "<script>" not in page
    visit(rosa, f"{link}?support=2&counter=9&said={'x' * 50}")
    form = fields(page, f"{link}/reject") | {"reason": HOSTILE}
    with database.write() as session:
        session.get_one(Candidate, (SPACE, "cand-1")).replaces_rule_id = None
    assert rosa.post(f"{link}/approve", data=form).status_code == 303
    refused = rosa.post(f"{link}/reject", data=form)
    assert refused.status_code == 409
    assert faults_of(refused.text) == []
    with database.write() as session:
        rule = session.exec(select(Rule)).one()
        session.add(VersionAncestor(namespace=SPACE, rule_id=rule.id, version=1, ancestor_rule_id=rule.id,
                                    ancestor_version=1))  # fmt: skip
    rule_link = f"/rules/{SPACE}/{rule.id}"
    visit(rosa, "/queue")
    visit(rosa, f"/queue?namespace={SPACE}&state=promoted&tier=standard")
    visit(rosa, "/rules")
    visit(rosa, rule_link)
    visit(rosa, f"{rule_link}/revoke")
    with database.write() as session:
        session.exec(select(RuleVersion)).one().state = "quarantined"
    assert "Restore version 1" in visit(rosa, rule_link)
    visit(rosa, f"/episodes/{SPACE}/ep-1?step=5")
    visit(rosa, f"/episodes/{SPACE}/ep-1?whole=5&part=2")
    visit(rosa, "/conflicts")
    visit(rosa, "/conflicts?namespace=nowhere&state=all")
    with database.read() as session:
        conflict = session.exec(select(Conflict.id)).one()
    conflict_link = f"/conflicts/{SPACE}/{quote(conflict, safe='')}"
    open_page = visit(rosa, conflict_link)
    assert "<script>" not in open_page
    answer = fields(open_page, f"{conflict_link}/resolve") | {"keep": "left", "reason": HOSTILE}
    assert rosa.post(f"{conflict_link}/resolve", data=answer).status_code == 303
    visit(rosa, conflict_link)
    visit(rosa, "/runs")
    assert 'http-equiv="refresh"' in visit(rosa, "/runs/run-2")
    assert 'http-equiv="refresh"' not in visit(rosa, "/runs/run-1")
    visit(rosa, "/runs/run-1/choices")
    visit(rosa, "/runs/run-1/findings/confounded")
    visit(rosa, "/runs/run-1/findings/nowhere", 404)
    visit(rosa, "/audit")
    csrf = fields(rosa.get("/audit").text, "/audit/verify")
    verified = rosa.post("/audit/verify", data=csrf)
    assert "The chain is whole" in verified.text
    assert faults_of(verified.text) == []
    failed = log_in(anonymous, name, "wrong")
    assert failed.status_code == 401
    assert faults_of(failed.text) == []
    log_in(anonymous, name, factories.PASSWORD)
    visit(anonymous, "/queue?state=void")
    visit(anonymous, "/nowhere", 404)
    for path in ("/queue?namespace=", "/queue?state=", "/audit?target=", "/audit?action=", "/login?next="):
        visit(rosa, path + quote(HOSTILE))
    rendered = {key[1] for key in templating.make_templates().cache}  # type: ignore[union-attr]
    written = {path.name for path in (templating.HERE / "templates").glob("*.html")}
    assert written - rendered == {"_how_it_flows.html"}  # the empty store, below


def test_a_fresh_install_shows_how_it_flows(database: Database, clock: Clock, tmp_path, secret: bytes) -> None:
    _, token = factories.make_person(database, "rosa", clock())
    app = create_app(Settings(home=tmp_path, secret_key=SecretStr(secret.decode())), database, clock)
    with TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False) as browser:
        log_in(browser, "rosa", token)
        for path in ("/queue", "/runs"):
            assert "How it flows" in visit(browser, path)
        for path in ("/rules", "/audit"):
            visit(browser, path)
