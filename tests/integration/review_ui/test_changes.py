"""The forms that change a candidate besides deciding it: what was shown, by whoever may, and nothing typed is lost."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from sqlmodel import select
from starlette.testclient import TestClient

from storage.engine import Database
from storage.queries import candidates as candidate_queries
from storage.tables import AuditEntry, Candidate, CandidateRevision, RuleVersion, User
from support.html_check import faults_of
from support.review_pages import Browse, Clock, fields, filled, without_masks
from support.reviewing import Desk, finding

SPACE = "acme/shop"


@pytest.fixture
def desk(app: FastAPI, database: Database, clock: Clock, secret: bytes) -> Desk:
    """A desk beside the pages: a night has staged a candidate on a harmless call."""
    made = Desk(database, clock(), secret).open("ana", "bo")
    made.night(finding(made, "archive_note", environment=(("api", "3.2"),)))
    return made


@pytest.fixture
def link(desk: Desk) -> str:
    return f"/candidates/{SPACE}/{desk.only().id}"


def form_at(browser: TestClient, link: str, act: str, **changes: Any) -> dict[str, Any]:
    return filled(browser.get(link).text, f"{link}/{act}") | {"reason": "it reads better"} | changes


def current(desk: Desk) -> tuple[Candidate, CandidateRevision]:
    ((candidate, revision),) = desk.candidates()
    return candidate, revision


def test_an_edit_is_saved_and_another_reviewer_approves_it(browse: Browse, desk: Desk, link: str) -> None:
    rosa, otto = browse("rosa"), browse("otto")
    answer = rosa.post(f"{link}/edit", data=form_at(rosa, link, "edit", guidance="Look first.\n\nThen say so.\n"))
    assert (answer.status_code, answer.headers["location"]) == (303, f"{link}?said=edited")
    page = rosa.get(answer.headers["location"]).text
    assert "another reviewer has to approve your words" in page
    assert faults_of(page) == []
    candidate, revision = current(desk)
    assert revision.content["guidance"] == ["Look first.", "Then say so."]
    assert revision.packet["edited"]["name"] == "rosa"
    assert f'{link}/approve"' not in page, "what cannot be done is not offered"
    assert "another reviewer has to approve it. You may reject it." in page
    own = fields(page, f"{link}/reject") | {"reason": "mine"}
    assert rosa.post(f"{link}/approve", data=own).status_code == 403
    others = otto.get(link).text
    assert f'{link}/approve"' in others
    shown = fields(others, f"{link}/reject") | {"reason": "reads well"}
    assert otto.post(f"{link}/approve", data=shown).headers["location"] == f"{link}?said=promoted"
    with desk.database.read() as session:
        assert session.exec(select(RuleVersion.content_hash)).one() == candidate.content_hash


def test_the_form_holds_the_text_and_scope_as_they_are(browse: Browse, desk: Desk, link: str) -> None:
    rosa = browse()
    content = current(desk)[1].content
    form = form_at(rosa, link, "edit")
    assert form["when_to_use"] == content["when_to_use"]
    assert form["guidance"].split("\n") == content["guidance"]
    assert (form["component"], form["version"]) == (["api", "", ""], ["3.2", "", ""])
    assert form["recheck_at"] == content["scope"]["recheck_at"]
    unchanged = rosa.post(f"{link}/edit", data=form)
    assert unchanged.status_code == 422
    assert "nothing changed" in unchanged.text


def test_a_scope_is_edited_by_rows(browse: Browse, desk: Desk, link: str) -> None:
    rosa = browse()
    rows = {"component": ["", "shop-api", ""], "version": ["", ">=3.1, <=3.4", ""], "agents": "support-bot\r\n\r\n"}
    assert rosa.post(f"{link}/edit", data=form_at(rosa, link, "edit", **rows)).status_code == 303
    scope = current(desk)[1].content["scope"]
    assert (scope["environment"], scope["agents"]) == ({"shop-api": ">=3.1,<=3.4"}, ["support-bot"])


@pytest.mark.parametrize(
    ("changes", "status", "told"),
    [
        ({"reason": " "}, 422, "a reason is required"),
        ({"guidance": " \n "}, 422, "no step left"),
        ({"recheck_at": "2099-01-01"}, 422, "more than a year away"),
        ({"component": ["api", "api"], "version": ["3", "4"]}, 422, "named twice"),
        ({"component": ["", ""], "version": ["3", ""]}, 422, "of no component"),
    ],
)
def test_what_cannot_be_saved_comes_back_with_all_that_was_typed(
    browse: Browse, desk: Desk, link: str, changes: dict[str, Any], status: int, told: str
) -> None:
    rosa = browse()
    typed = form_at(rosa, link, "edit", when_to_use="When <b>I</b> say so") | changes
    answer = rosa.post(f"{link}/edit", data=typed)
    assert answer.status_code == status
    assert told in answer.text
    assert faults_of(answer.text) == []
    back = filled(answer.text, f"{link}/edit")
    assert back["when_to_use"] == "When <b>I</b> say so"
    assert back["content_hash"] == typed["content_hash"]
    assert current(desk)[0].number == 1


def test_an_edit_of_what_is_no_longer_there_loses_with_409_and_keeps_what_was_typed(
    browse: Browse, desk: Desk, link: str
) -> None:
    rosa, otto = browse("rosa"), browse("otto")
    late = form_at(otto, link, "edit", guidance="Otto was slower.")
    rosa.post(f"{link}/edit", data=form_at(rosa, link, "edit", guidance="Rosa was first."))
    answer = otto.post(f"{link}/edit", data=late)
    assert answer.status_code == 409
    assert "no longer what you were shown" in answer.text
    assert "Otto was slower." in answer.text
    assert f'action="{link}/edit"' not in answer.text, "a hash that was never read is not handed out"
    assert current(desk)[1].content["guidance"] == ["Rosa was first."]


def test_the_nights_text_can_be_taken_back_from_the_page(browse: Browse, desk: Desk, link: str) -> None:
    rosa, otto = browse("rosa"), browse("otto")
    night = current(desk)[0].content_hash
    assert f"{link}/take-back" not in rosa.get(link).text
    rosa.post(f"{link}/edit", data=form_at(rosa, link, "edit", guidance="Look first."))
    answer = otto.post(f"{link}/take-back", data=form_at(otto, link, "take-back"))
    assert answer.headers["location"] == f"{link}?said=taken-back"
    assert current(desk)[0].content_hash == night
    again = otto.post(f"{link}/take-back", data=form_at(otto, link, "edit"))
    assert again.status_code == 409


def test_evidence_is_asked_for_shown_as_it_comes_and_taken_back(browse: Browse, desk: Desk, link: str) -> None:
    rosa, otto = browse("rosa"), browse("otto")
    asked = form_at(rosa, link, "ask", runs="5", component="api", version="3.3", words="after the change")
    answer = rosa.post(f"{link}/ask", data=asked)
    assert answer.headers["location"] == f"{link}?said=asked"
    page = otto.get(link).text
    assert faults_of(page) == []
    assert "5 more judged runs (api 3.3)" in page
    assert "0 of 5 came in so far." in page
    assert "Asked for by rosa" in page
    assert "after the change" in page
    assert f'action="{link}/edit"' not in page
    assert f"{link}/approve" not in page
    approve = fields(page, f"{link}/reject") | {"reason": "never mind"}
    refused = otto.post(f"{link}/approve", data=approve)
    assert refused.status_code == 409
    assert "waits for evidence" in refused.text
    back = otto.post(f"{link}/resume", data=form_at(otto, link, "resume"))
    assert back.headers["location"] == f"{link}?said=resumed"
    assert current(desk)[0].parked_at is None
    assert f'action="{link}/edit"' in otto.get(link).text


def test_a_request_that_cannot_be_counted_comes_back_with_all_that_was_typed(
    browse: Browse, desk: Desk, link: str
) -> None:
    rosa = browse()
    for changes, told in (
        ({"runs": "many"}, "no number of runs"),
        ({"runs": "99999999999"}, "waited for"),
        ({"version": "3.3"}, "of what? Name the component"),
        ({"until": "yesterday"}, "no date to wait until"),
        ({"outcome": "perhaps"}, "no outcome to ask for"),
    ):
        typed = form_at(rosa, link, "ask", task="orders/1", words="<i>look</i>") | changes
        answer = rosa.post(f"{link}/ask", data=typed)
        assert answer.status_code == 422
        assert told in answer.text
        assert faults_of(answer.text) == []
        back = filled(answer.text, f"{link}/ask")
        assert (back["task"], back["words"]) == ("orders/1", "<i>look</i>")
    assert current(desk)[0].parked_at is None


def test_who_only_reads_sees_no_form_and_is_refused(browse: Browse, desk: Desk, link: str) -> None:
    rosa, aud = browse("rosa"), browse("aud", "auditor")
    form = form_at(rosa, link, "edit", guidance="Look first.")
    assert 'id="edit"' not in aud.get(link).text
    own = {"csrf": fields(aud.get(link).text, "/logout").get("csrf", "")}
    for act in ("edit", "ask", "take-back", "resume"):
        assert aud.post(f"{link}/{act}", data=form | own).status_code == 403
    assert current(desk)[0].number == 1


def test_another_namespace_is_no_different_from_nowhere(browse: Browse, desk: Desk, link: str) -> None:
    rosa, far = browse("rosa"), browse("far", namespaces=("acme/other",))
    form = form_at(rosa, link, "edit", guidance="Look first.")
    own = {"csrf": fields(far.get("/queue").text, "/logout")["csrf"]}
    for act in ("edit", "ask", "take-back", "resume"):
        here, nowhere = (far.post(f"{one}/{act}", data=form | own) for one in (link, f"/candidates/{SPACE}/nothing"))
        assert here.status_code == nowhere.status_code == 404
        assert without_masks(here.text) == without_masks(nowhere.text)


@pytest.mark.parametrize("act", ["edit", "ask", "take-back", "resume"])
def test_a_form_of_another_session_is_refused(browse: Browse, desk: Desk, link: str, act: str) -> None:
    rosa, otto = browse("rosa"), browse("otto")
    form = form_at(rosa, link, "edit", guidance="Look first.", runs="5", until="2027-01-01")
    assert otto.post(f"{link}/{act}", data=form).status_code == 403
    assert otto.post(f"{link}/{act}", data={**form, "csrf": ""}).status_code == 403
    assert current(desk)[0].number == 1


def test_hidden_characters_are_left_out_of_the_form_and_the_form_says_so(browse: Browse, desk: Desk, link: str) -> None:
    rosa = browse()
    with desk.database.write() as session:
        row = session.exec(select(CandidateRevision)).one()
        row.content = {**row.content, "guidance": ["Look\u202e here\u200b first."]}
    page = rosa.get(link).text
    assert "2 hidden places of the text are left out of this form" in page
    assert filled(page, f"{link}/edit")["guidance"] == "Look here first."


def test_a_text_that_no_form_carries_is_edited_on_the_command_line(browse: Browse, desk: Desk, link: str) -> None:
    rosa = browse()
    with desk.database.write() as session:
        row = session.exec(select(CandidateRevision)).one()
        row.content = {**row.content, "guidance": ["x" * 60_000]}
    page = rosa.get(link).text
    assert f"slowwave edit {desk.only().id} --namespace {SPACE}" in page
    assert f'action="{link}/edit"' not in page


def test_a_new_version_of_a_rule_is_proposed_from_its_page(browse: Browse, desk: Desk, link: str) -> None:
    rosa, otto = browse("rosa"), browse("otto")
    done = desk.approve(desk.only())
    rule = f"/rules/{SPACE}/{done.rule_id}"
    propose = f"{rule}/versions/1/propose"
    page = rosa.get(propose)
    assert page.status_code == 200
    assert faults_of(page.text) == []
    form = filled(page.text, propose) | {"guidance": "Look first.", "reason": "shorter"}
    answer = rosa.post(propose, data=form)
    assert answer.headers["location"] == f"{rule}?said=proposed"
    assert rosa.get(answer.headers["location"]).status_code == 200
    candidate, revision = current(desk)
    assert (candidate.replaces_version, revision.packet["edited"]["name"]) == (1, "rosa")
    late = otto.post(propose, data=filled(otto.get(propose).text, propose) | {"guidance": "Look.", "reason": "mine"})
    assert late.status_code == 409
    assert "waits for review already" in late.text
    shown = fields(otto.get(link).text, f"{link}/reject") | {"reason": "better"}
    otto.post(f"{link}/approve", data=shown)
    with desk.database.read() as session:
        states = {row.version: row.state for row in session.exec(select(RuleVersion))}
    assert states == {1: "superseded", 2: "active"}


def test_a_proposal_is_for_those_who_may_decide_there(browse: Browse, desk: Desk) -> None:
    done = desk.approve(desk.only())
    propose = f"/rules/{SPACE}/{done.rule_id}/versions/1/propose"
    assert browse("aud", "auditor").get(propose).status_code == 403
    far = browse("far", namespaces=("acme/other",))
    assert far.get(propose).status_code == far.get(propose.replace("/1/", "/9/")).status_code == 404
    rosa = browse("rosa")
    form = filled(rosa.get(propose).text, propose) | {"reason": "x"}
    own = {"csrf": fields(far.get("/queue").text, "/logout")["csrf"]}
    assert far.post(propose, data=form | own).status_code == 404
    assert rosa.post(propose, data=form | {"csrf": ""}).status_code == 403
    assert rosa.post(propose, data=form).status_code == 422
    assert "nothing changed" in rosa.post(propose, data=form).text


def test_every_act_is_in_the_audit_log_under_the_one_who_did_it(browse: Browse, desk: Desk, link: str) -> None:
    rosa = browse("rosa")
    rosa.post(f"{link}/edit", data=form_at(rosa, link, "edit", guidance="Look first."))
    rosa.post(f"{link}/ask", data=form_at(rosa, link, "ask"))
    rosa.post(f"{link}/resume", data=form_at(rosa, link, "resume"))
    rosa.post(f"{link}/take-back", data=form_at(rosa, link, "take-back"))
    with desk.database.read() as session:
        person = session.exec(select(User.id).where(User.name == "rosa")).one()
        rows = session.exec(select(AuditEntry).where(AuditEntry.actor == f"user:{person}")).all()
        assert candidate_queries.authors_of(session, SPACE, desk.only().id) >= {person}
    acts = [row.action for row in sorted(rows, key=lambda one: one.seq) if row.action.startswith("candidate.")]
    assert acts == ["candidate.edited", "candidate.asked", "candidate.asked-no-more", "candidate.taken-back"]
