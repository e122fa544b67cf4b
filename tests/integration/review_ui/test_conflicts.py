"""The pages of conflicts: who sees them, what is shown, and the decision."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlmodel import select
from starlette.testclient import TestClient

from storage.conflicts import note
from storage.engine import Database
from storage.queries.conflicts import MIXED_OUTCOME
from storage.tables import AuditEntry, Conflict
from support import factories
from support.html_check import faults_of
from support.review_pages import SPACE, Browse, Clock, fields
from tasks.conflict.claims import says
from tasks.conflict.resolve.errors import SideUnknown
from tasks.conflict.resolve.step import resolve

OTHER = "acme/travel"
REFS = ("episode:e1#s", "episode:e2#s")


def side(title: str, **given: Any) -> dict[str, Any]:
    return {
        "title": title,
        "says": title,
        "support": 2,
        "counter": 0,
        "episodes": [{"episode": "e1", "step": "s"}],
        **given,
    }


def found(old: str = "Orchid: “P”", kind: str = "supersession") -> dict[str, Any]:
    sides = {
        REFS[0]: side(old),
        REFS[1]: side("Orchid: from “P” to “Q”", trust=["external"], said_at="2026-03-05T10:00:00+00:00"),
    }
    return {"id": "c1", "kind": kind, "form": "changed", "detail": "of “Orchid” it is said “P”", "sides": sides,
            "stands": REFS[1]}  # fmt: skip


def keep(database: Database, clock: Clock, space: str = SPACE, **given: Any) -> str:
    with database.write() as session:
        note(session, space, REFS, found(**given), "run", clock())
    return f"/conflicts/{space}/c1"


@pytest.fixture
def link(app: object, database: Database, clock: Clock) -> str:
    """A conflict that is open."""
    return keep(database, clock)


def decide(browser: TestClient, link: str, side_kept: str = "right", **form: str) -> Any:
    filled = fields(browser.get(link).text, f"{link}/resolve") | {"keep": side_kept, "reason": "the move was done"}
    return browser.post(f"{link}/resolve", data=filled | form)


def stored(database: Database) -> Conflict:
    with database.read() as session:
        return session.exec(select(Conflict)).one()


def test_a_conflict_shows_both_sides_with_their_evidence(browse: Browse, link: str) -> None:
    rosa = browse()
    assert f'href="{link}"' in rosa.get("/conflicts").text
    page = rosa.get(link).text
    for shown in ("Orchid: “P”", "from “P” to “Q”", "2 independent", "external", "This side is the newer one.",
                  "5 Mar 2026, 10:00 UTC",
                  f"/episodes/{SPACE}/e1?step=s#cited"):  # fmt: skip
        assert shown in page


def test_a_decision_is_recorded_with_name_and_reason(browse: Browse, link: str, database: Database) -> None:
    rosa = browse()
    assert decide(rosa, link).status_code == 303
    page = rosa.get(f"{link}?said=resolved").text
    assert "The right side stands." in page
    assert "Decided by rosa" in page
    assert "the move was done" in page
    assert '<form method="post" action="/conflicts' not in page
    assert "No open conflict" in rosa.get("/conflicts").text
    assert f'href="{link}"' in rosa.get("/conflicts?state=resolved").text
    with database.read() as session:
        assert session.exec(select(AuditEntry).where(AuditEntry.action == "conflict.resolved")).one()


def test_the_same_again_is_a_success_and_the_opposite_is_refused(browse: Browse, link: str, database: Database) -> None:
    rosa, otto = browse("rosa"), browse("otto")
    form = fields(otto.get(link).text, f"{link}/resolve") | {"keep": "right", "reason": "seen"}
    assert decide(rosa, link).status_code == 303
    assert otto.post(f"{link}/resolve", data=form).status_code == 303
    refused = otto.post(f"{link}/resolve", data=form | {"keep": "left"})
    assert refused.status_code == 409
    assert "keeping right" in refused.text
    assert stored(database).resolution == "right"


@pytest.mark.parametrize(("form", "status"), [({"reason": " "}, 422), ({"keep": "newest"}, 422), ({"csrf": "x"}, 403)])
def test_a_form_that_is_not_whole_decides_nothing(
    browse: Browse, link: str, database: Database, form: dict[str, str], status: int
) -> None:
    assert decide(browse(), link, **form).status_code == status
    assert stored(database).state == "open"


def test_a_side_that_changed_since_it_was_shown_is_not_decided(
    browse: Browse, link: str, database: Database, clock: Clock
) -> None:
    rosa = browse()
    form = fields(rosa.get(link).text, f"{link}/resolve") | {"keep": "left", "reason": "seen"}
    keep(database, clock, old="Orchid: “P2”")
    assert rosa.post(f"{link}/resolve", data=form).status_code == 409
    assert stored(database).state == "open"


def test_one_that_opened_again_tells_why_and_what_was_decided(
    browse: Browse, link: str, database: Database, clock: Clock
) -> None:
    rosa = browse()
    decide(rosa, link)
    keep(database, clock, old="Orchid: “P2”")
    page = rosa.get(link).text
    assert "Open again:" in page
    assert "side says something else now" in page
    assert "The right side stands. the move was done" in page


@pytest.fixture
def mixed(app: object, database: Database, clock: Clock) -> str:
    """A task in which the same calls had both outcomes."""
    refs, title = ("runs:abc/failure", "runs:abc/success"), "task buy, the same calls in the same order"
    sides = {ref: side(f"{title}: {ended}") for ref, ended in zip(refs, ("failed", "succeeded"), strict=True)}
    row = {"id": "m1", "kind": "contradiction", "form": MIXED_OUTCOME, "detail": title, "sides": sides}
    with database.write() as session:
        note(session, SPACE, refs, row, "run", clock())
    return f"/conflicts/{SPACE}/m1"


def test_a_mixed_outcome_can_only_be_noted(browse: Browse, mixed: str, database: Database) -> None:
    rosa = browse()
    page = rosa.get(mixed).text
    assert faults_of(page) == []
    assert "What decides is not in the calls" in page
    assert re.findall(r'name="keep" value="([a-z]+)"', page) == ["both"]
    assert decide(rosa, mixed, "left").status_code == 422
    assert stored(database).state == "open"
    assert decide(rosa, mixed, "both").status_code == 303
    assert "Noted." in rosa.get(mixed).text


def test_mixed_outcomes_are_folded_after_every_other_conflict_with_their_number(
    browse: Browse, link: str, mixed: str
) -> None:
    rosa = browse()
    page = rosa.get("/conflicts").text
    assert faults_of(page) == []
    assert page.index(f'href="{link}"') < page.index("<summary>Mixed outcomes: 1</summary>") < page.index(mixed)
    assert "Mixed outcomes" not in rosa.get("/conflicts?kind=supersession").text
    assert "Mixed outcomes" not in rosa.get("/conflicts?state=resolved").text
    assert "Mixed outcomes" not in browse("otto", namespaces=(OTHER,)).get("/conflicts").text


def test_an_auditor_reads_and_does_not_decide(browse: Browse, link: str) -> None:
    page = browse("otto", role="auditor").get(link).text
    assert "does not decide" in page
    assert f"{link}/resolve" not in page


def test_a_reviewer_of_another_namespace_cannot_tell_that_it_exists(
    browse: Browse, link: str, database: Database, clock: Clock
) -> None:
    factories.make_namespace(database, OTHER, clock())
    otto = browse("otto", namespaces=(OTHER,))
    assert otto.get(link).status_code == 404
    assert "Orchid" not in otto.get(f"/conflicts?namespace={SPACE}").text
    csrf = fields(otto.get("/conflicts").text, "/logout")
    posted = otto.post(f"{link}/resolve", data=csrf | {"keep": "left", "reason": "mine", "shown": "x"})
    assert posted.status_code == 404
    assert stored(database).state == "open"


def test_a_candidate_shows_which_side_of_its_conflict_stands(
    browse: Browse, app: object, database: Database, clock: Clock
) -> None:
    for name in ("cand-1", "cand-2"):
        factories.make_candidate(database, SPACE, name, clock(), content=factories.content_for(SPACE, when_to_use=name))
    refs = ("candidate:cand-1", "candidate:cand-2")
    row = {"id": "c1", "kind": "contradiction", "form": "opposite-advice", "detail": "one asks, the other forbids",
           "sides": {ref: side(ref) for ref in refs}}  # fmt: skip
    with database.write() as session:
        note(session, SPACE, refs, row, "run", clock())
    rosa, link = browse(), f"/conflicts/{SPACE}/c1"
    assert link in rosa.get(f"/candidates/{SPACE}/cand-1").text
    decide(rosa, link, "left")
    assert "This side stands." in rosa.get(f"/candidates/{SPACE}/cand-1").text
    loser = rosa.get(f"/candidates/{SPACE}/cand-2").text
    assert "This side was put aside." in loser
    assert "the move was done" in loser


def test_a_side_says_what_its_candidate_says_now_and_that_it_changed_since(
    browse: Browse, app: object, database: Database, clock: Clock
) -> None:
    contents = {name: factories.content_for(SPACE, when_to_use=f"When {name}") for name in ("cand-1", "cand-2")}
    for name, content in contents.items():
        factories.make_candidate(database, SPACE, name, clock(), content=content)
    refs = ("candidate:cand-1", "candidate:cand-2")
    sides = {"candidate:cand-1": side("one", says=says(contents["cand-1"])), "candidate:cand-2": side("two")}
    row = {"id": "c1", "kind": "contradiction", "form": "opposite-advice", "detail": "opposite", "sides": sides}
    with database.write() as session:
        note(session, SPACE, refs, row, "run", clock())
    page = browse().get(f"/conflicts/{SPACE}/c1").text
    assert faults_of(page) == []
    left, right = page.split('id="side-right"', 1)
    assert "When cand-1" in left
    assert "read <code>status</code> first" in left
    assert "said something else" not in left
    assert "When cand-2" in right
    assert "said something else" in right


def test_episodes_are_named_by_their_task(browse: Browse, link: str, database: Database, clock: Clock) -> None:
    rosa = browse()
    assert "an episode that is no longer kept" in rosa.get(link).text
    factories.make_episode(database, SPACE, "e1", clock(), task="Move the orchid to Q")
    page = rosa.get(link).text
    assert f'href="/episodes/{SPACE}/e1?step=s#cited">Move the orchid to Q</a>' in page


def test_a_mixed_outcome_leads_to_what_rests_on_its_runs(
    browse: Browse, mixed: str, database: Database, clock: Clock
) -> None:
    rosa = browse()
    assert "No rule or candidate cites its runs." in rosa.get("/conflicts").text
    factories.make_episode(database, SPACE, "e1", clock())
    content = factories.content_for(SPACE, when_to_use="Before buying")
    factories.make_candidate(database, SPACE, "cand-1", clock(), content=content, evidence=[("e1", "support")])
    gone = factories.content_for(SPACE, when_to_use="Long rejected")
    factories.make_candidate(
        database, SPACE, "cand-2", clock(), content=gone, evidence=[("e1", "support")], state="rejected"
    )
    for path in ("/conflicts", mixed):
        page = rosa.get(path).text
        assert faults_of(page) == []
        assert f'href="/candidates/{SPACE}/cand-1">Before buying</a>' in page
        assert "Long rejected" not in page


@pytest.mark.parametrize("kept", ["left", "right", "neither"])
def test_a_mixed_outcome_is_refused_any_side_by_whichever_door(
    browse: Browse, mixed: str, database: Database, clock: Clock, secret: bytes, kept: str
) -> None:
    who, _ = factories.make_person(database, "mira", clock())
    with pytest.raises(SideUnknown, match="can only be noted"):
        resolve(database, SPACE, "m1", keep=kept, reviewer=who, reason="seen", now=clock(), secret=secret)
    refused = decide(browse(), mixed, kept)
    assert refused.status_code == 422
    assert "can only be noted" in refused.text
    assert stored(database).state == "open"
