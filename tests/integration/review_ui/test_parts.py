"""The forms that split a candidate and merge a duplicate: with and without a script, and only for who may decide."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from review_ui.views.parts import picked
from storage.engine import Database
from storage.queries import candidates as candidate_queries
from storage.tables import Candidate
from support.hostile import HOSTILE
from support.html_check import faults_of
from support.review_pages import Browse, Clock, fields
from support.reviewing import Desk, Found, avoid, those_with, tried
from tasks.contrast.predicate import Predicate

CALL = "cancel_order"
UNCHECKED = Predicate("missing-check", ("look", CALL), "avoid")
REASON = {"reason": "it holds there only"}


@pytest.fixture
def desk(app: object, database: Database, clock: Clock, secret: bytes) -> Desk:
    return Desk(database, clock(), secret).open("ana")


def staged(desk: Desk, component: str = "orders-api", versions: tuple[str, str] = ("3.2", "3.3")) -> Candidate:
    """A candidate whose runs were made on two versions, and another that says nearly the same."""
    runs = [ran for version in versions for ran in tried(CALL, 4, environment=((component, version),))]
    shown = those_with(desk.record(*runs), CALL, runs)
    desk.night(
        Found(avoid(CALL), shown[:9]), Found(UNCHECKED, shown[7:]), Found(Predicate("loop", ("look",), "avoid"), shown)
    )
    return of_kind(desk, "call-present")


def of_kind(desk: Desk, kind: str) -> Candidate:
    rows = desk.candidates("staged", "approved", "void", "rejected")
    (found,) = [row for row, text in rows if text.content["predicate"]["kind"] == kind and not within(text)]
    return found


def within(text: Any) -> bool:
    return bool(text.content["predicate"].get("within"))


def link_of(row: Candidate) -> str:
    return f"/candidates/{row.namespace}/{row.id}"


def radios(page: str, name: str) -> list[str]:
    return [part.split('"')[0] for part in page.split(f'type="radio" name="{name}" value="')[1:]]


def form_of(browser: TestClient, row: Candidate, act: str, name: str) -> dict[str, str]:
    """The form as it is filled in by whoever takes the first choice."""
    link = f"{link_of(row)}/{act}"
    page = browser.get(link).text
    return fields(page, link) | {name: radios(page, name)[0]} | REASON


def test_the_forms_are_on_the_page_of_whoever_may_decide_and_of_nobody_else(desk: Desk, browse: Browse) -> None:
    link = link_of(staged(desk))
    mine, theirs = browse().get(link).text, browse("audra", "auditor").get(link).text
    for part in ('id="split"', 'id="merge"', f'href="{link}/split"', f'hx-get="{link}/split"'):
        assert part in mine
        assert part not in theirs
    assert faults_of(mine) == []


def test_what_it_can_be_split_by_is_weighed_when_it_is_asked_for_and_works_without_a_script(
    desk: Desk, browse: Browse
) -> None:
    whole, rosa = staged(desk), browse()
    assert radios(rosa.get(link_of(whole)).text, "by") == []
    page = rosa.get(f"{link_of(whole)}/split").text
    assert faults_of(page) == []
    assert len(radios(page, "by")) == 1
    assert "orders-api, version 3.2 or earlier" in page
    assert "16 independent groups of 16 runs: 8 for it, 0 against it" in page
    answer = rosa.post(f"{link_of(whole)}/split", data=form_of(rosa, whole, "split", "by"))
    assert (answer.status_code, answer.headers["location"]) == (303, f"{link_of(whole)}?said=split")
    assert "its parts are in the queue" in rosa.get(answer.headers["location"]).text
    with desk.database.read() as session:
        parts = candidate_queries.candidates_in(session, desk.namespace)
    assert len([row for row in parts if "orders-api" in row.title]) == 2
    for part in of_kind(desk, "call-present").taken_by:
        page = rosa.get(f"/candidates/{desk.namespace}/{part}").text
        assert faults_of(page) == []


def test_a_duplicate_is_offered_with_why_and_merged(desk: Desk, browse: Browse) -> None:
    into, other, rosa = staged(desk), of_kind(desk, "missing-check"), browse()
    assert f'href="{link_of(into)}/merge"' in rosa.get(link_of(into)).text  # to look for them is to read all that waits
    page = rosa.get(f"{link_of(into)}/merge").text
    assert radios(page, "other") == [f"{other.id}:{other.content_hash}"]
    assert f'href="{link_of(other)}"' in page
    form = fields(page, f"{link_of(into)}/merge") | {"other": radios(page, "other")[0]} | REASON
    answer = rosa.post(f"{link_of(into)}/merge", data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{link_of(into)}?said=merged")
    assert "its evidence counts here" in rosa.get(answer.headers["location"]).text
    assert of_kind(desk, "missing-check").taken_by == [into.id]
    assert faults_of(rosa.get(link_of(other)).text) == []


def test_any_candidate_may_be_named_and_is_shown_before_it_is_merged(desk: Desk, browse: Browse) -> None:
    into, named, rosa = staged(desk), of_kind(desk, "loop"), browse()
    assert f"{named.id}:{named.content_hash}" not in radios(rosa.get(f"{link_of(into)}/merge").text, "other")
    page = rosa.get(f"{link_of(into)}/merge", params={"other": named.id}).text
    assert radios(page, "other")[0] == f"{named.id}:{named.content_hash}"
    assert 'aria-describedby="duplicate-1" checked' in page
    nobody = rosa.get(f"{link_of(into)}/merge", params={"other": "nowhere"}).text
    assert "No candidate nowhere waits" in nobody
    assert faults_of(page) == faults_of(nobody) == []


ACTS = (("split", "by"), ("merge", "other"))


def test_a_form_without_the_sessions_token_or_from_who_only_reads_is_refused(desk: Desk, browse: Browse) -> None:
    whole, rosa, audra = staged(desk), browse(), browse("audra", "auditor")
    csrf = fields(audra.get("/queue").text, "/logout")["csrf"]
    for act, name in ACTS:
        link = f"{link_of(whole)}/{act}"
        form = form_of(rosa, whole, act, name)
        assert rosa.post(link, data=form | {"csrf": "x"}).status_code == 403
        assert audra.get(link).status_code == 403
        assert audra.post(link, data=form | {"csrf": csrf}).status_code == 403
    assert of_kind(desk, "call-present").state == "staged"


def test_a_reviewer_of_another_namespace_cannot_see_that_it_is_there(desk: Desk, browse: Browse) -> None:
    whole, rosa, other = staged(desk), browse(), browse("otto", namespaces=("acme/support",))
    csrf = fields(other.get("/queue").text, "/logout")["csrf"]
    for act, name in ACTS:
        link = f"{link_of(whole)}/{act}"
        assert other.get(link).status_code == 404
        assert other.post(link, data=form_of(rosa, whole, act, name) | {"csrf": csrf}).status_code == 404
    assert of_kind(desk, "call-present").state == "staged"


def test_a_form_that_does_not_fit_is_answered_with_why(desk: Desk, browse: Browse) -> None:
    whole, rosa = staged(desk), browse()
    gone = {"split": "nothing it can be split by", "merge": f"{of_kind(desk, 'missing-check').id}:{'0' * 64}"}
    for act, name in ACTS:
        form = form_of(rosa, whole, act, name)
        for given, status in (
            ({"content_hash": "0" * 64}, 409), ({"reason": " "}, 422), ({name: ""}, 400), ({name: gone[act]}, 409),
        ):  # fmt: skip
            answer = rosa.post(f"{link_of(whole)}/{act}", data=form | given)
            assert answer.status_code == status, (act, given)
            assert faults_of(answer.text) == []
    assert of_kind(desk, "call-present").state == "staged"


def test_what_is_decided_has_no_such_form(desk: Desk, browse: Browse) -> None:
    whole, rosa = staged(desk), browse()
    desk.reject(whole, "ana")
    for act, _ in ACTS:
        assert rosa.get(f"{link_of(whole)}/{act}").status_code == 400


def test_names_of_components_and_versions_break_out_of_nothing(desk: Desk, browse: Browse) -> None:
    whole, rosa = staged(desk, HOSTILE, (f"{HOSTILE}1", f"{HOSTILE}2")), browse()
    page = rosa.get(f"{link_of(whole)}/split").text
    assert faults_of(page) == []
    assert len(radios(page, "by")) == 1
    answer = rosa.post(f"{link_of(whole)}/split", data=form_of(rosa, whole, "split", "by"))
    assert answer.status_code == 303
    for path in (
        link_of(whole),
        *(f"/candidates/{desk.namespace}/{one}" for one in of_kind(desk, "call-present").taken_by),
    ):
        assert faults_of(rosa.get(path).text) == [], path


@pytest.mark.parametrize(
    ("value", "found"), [("a:b", ("a", "b")), ("a:b:c", ("a:b", "c")), ("a", ("", "a")), ("", ("", ""))]
)
def test_a_pick_is_an_id_and_a_hash(value: str, found: tuple[str, str]) -> None:
    assert picked(value) == found
