"""The queue: what it shows, counts and sorts; who reads what; decisions on several at once."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from sqlmodel import select
from starlette.testclient import TestClient

from review_ui import counts
from storage import reservations
from storage.engine import Database
from storage.tables import Candidate, Decision, Reservation
from support import factories
from support.html_check import faults_of
from support.review_pages import SPACE, Browse, Clock, fields

OTHER = "acme/travel"
REASON = "read them"


@pytest.fixture(autouse=True)
def _pages(app: FastAPI) -> None:
    """Every test here looks at the pages."""


def make(database: Database, name: str, clock: Clock, space: str = SPACE, **given: Any) -> tuple[str, str]:
    content = factories.content_for(space, when_to_use=f"Case {name}")
    return factories.make_candidate(database, space, name, clock(), **{"content": content, **given})


def set_columns(database: Database, name: str, **values: Any) -> None:
    with database.write() as session:
        session.execute(sa.update(Candidate).where(Candidate.id == name).values(**values))


def shown(page: str) -> list[str]:
    """Names of the candidates on a page, in order."""
    return re.findall(r'class="row-title">Case ([\w-]+)<', page)


def options(page: str, name: str) -> list[str]:
    """Words of one filter's choices."""
    select_ = re.search(rf'<select name="{name}".*?</select>', page, re.DOTALL)
    assert select_ is not None
    return [html.unescape(words) for words in re.findall(r"<option[^>]*>([^<]*)</option>", select_.group())]


def picks(page: str) -> list[str]:
    return [html.unescape(value) for value in re.findall(r'name="pick" value="([^"]*)"', page)]


def state_of(database: Database, name: str) -> str:
    with database.read() as session:
        return session.exec(select(Candidate.state).where(Candidate.id == name)).one()


def take_next(browser: TestClient, address: str = "/queue") -> str:
    answer = browser.post("/queue/next", data=fields(browser.get(address).text, "/queue/next"))
    assert answer.status_code == 303
    return str(answer.headers["location"])


def decide(browser: TestClient, verdict: str, chosen: list[str], reason: str = REASON) -> Any:
    form = fields(browser.get("/queue").text, "/queue/bulk") | {"reason": reason, "verdict": verdict}
    return browser.post("/queue/bulk", data=form | {"pick": chosen})


# What it shows


def test_the_most_worthwhile_come_first_fifty_at_a_time(browse: Browse, database: Database, clock: Clock) -> None:
    for place in range(60):
        make(database, f"{place:02}", clock, rank=float(place), tier="high" if place < 3 else "standard")
    rosa = browse()
    first, second = rosa.get("/queue").text, rosa.get("/queue?page=2").text
    assert shown(first) == [f"{place:02}" for place in range(59, 9, -1)]
    assert shown(second) == [f"{place:02}" for place in range(9, -1, -1)]
    assert "60 candidates" in first
    assert 'href="/queue?page=2"' in first
    assert 'href="/queue"' in second
    assert shown(rosa.get("/queue?page=77").text) == shown(second), "there is no page after the last"
    high = rosa.get("/queue?tier=high").text
    assert shown(high) == ["02", "01", "00"]
    assert "3 candidates" in high
    assert faults_of(first) == []


def test_each_order_is_what_it_says(browse: Browse, database: Database, clock: Clock) -> None:
    made = {"a": (3.0, 1, 0, 5, 40), "b": (2.0, 0, 2, 1, 0), "c": (1.0, 0, 0, 9, 7)}
    for name, (rank, failing, warning, days, reach) in made.items():
        make(database, name, clock, rank=rank)
        set_columns(
            database, name, failing=failing, warning=warning, reach=reach, created_at=clock() - timedelta(days=days)
        )
    rosa = browse()
    found = {
        order: shown(rosa.get(f"/queue?sort={order}").text)
        for order in ("worth", "oldest", "newest", "reach", "doubts")
    }
    assert found == {
        "worth": ["a", "b", "c"], "oldest": ["c", "a", "b"], "newest": ["b", "a", "c"], "reach": ["a", "c", "b"],
        "doubts": ["c", "b", "a"],
    }  # fmt: skip


def test_every_choice_says_how_many_it_would_show_under_the_others(
    browse: Browse, database: Database, clock: Clock
) -> None:
    factories.make_namespace(database, OTHER, clock())
    for name, space, tier, failing, days in (
        ("a", SPACE, "low", 0, 0), ("b", SPACE, "low", 1, 3), ("c", SPACE, "high", 0, 20), ("d", OTHER, "low", 0, 90),
    ):  # fmt: skip
        make(database, name, clock, space, tier=tier, kind="exemplar" if name == "d" else "rule")
        set_columns(database, name, failing=failing, created_at=clock() - timedelta(days=days))
    make(database, "gone", clock, state="rejected")
    factories.make_conflict(database, SPACE, "candidate:a", "candidate:b", clock(), "they differ")
    rosa = browse()
    page = rosa.get("/queue").text
    assert options(page, "tier") == ["all", "low (3)", "high (1)"]
    assert options(page, "namespace") == ["all", f"{SPACE} (3)", f"{OTHER} (1)"]
    assert sorted(options(page, "kind")) == ["all", "exemplar (1)", "rule (3)"]
    assert options(page, "checks") == ["all", "some fail (1)", "all pass (3)"]
    assert options(page, "conflicts") == ["all", "with an open conflict (2)", "without one (2)"]
    assert options(page, "age") == [
        "all", "the last day (1)", "the last week (2)", "the last 30 days (3)", "more than 30 days (1)",
    ]  # fmt: skip
    assert options(page, "state") == ["waiting for a decision (4)", "rejected (1)"]
    low = rosa.get("/queue?tier=low&checks=clean").text
    assert options(low, "tier") == ["all", "low (2)", "high (1)"], "its own choice does not narrow it"
    assert options(low, "namespace") == ["all", f"{SPACE} (1)", f"{OTHER} (1)"]
    assert shown(rosa.get("/queue?conflicts=yes").text) == shown(rosa.get("/queue?conflicts=yes&tier=low").text)
    assert sorted(shown(rosa.get("/queue?conflicts=yes").text)) == ["a", "b"]
    assert sorted(shown(rosa.get("/queue?conflicts=no").text)) == ["c", "d"]
    assert shown(rosa.get("/queue?age=older").text) == ["d"]
    assert shown(rosa.get("/queue?checks=failing").text) == ["b"]


def test_counts_of_a_hidden_namespace_are_not_told(browse: Browse, database: Database, clock: Clock) -> None:
    factories.make_namespace(database, OTHER, clock())
    make(database, "mine", clock)
    make(database, "hidden", clock, OTHER, tier="high")
    page = browse("rosa", namespaces=(SPACE,)).get("/queue").text
    assert shown(page) == ["mine"]
    assert "1 candidate:" in page
    assert options(page, "tier") == ["all", "standard (1)"]
    assert OTHER not in page


def test_a_value_that_there_is_not_leaves_its_filter_open(browse: Browse, database: Database, clock: Clock) -> None:
    make(database, "a", clock)
    assert shown(browse().get("/queue?tier=x&sort=y&state=z&checks=q&age=0&conflicts=maybe").text) == ["a"]


def test_a_row_says_what_a_reviewer_chooses_by(browse: Browse, database: Database, clock: Clock) -> None:
    make(database, "a", clock, tier="high", revoked_before=True)
    set_columns(
        database, "a", failing=1, warning=2, reach=34, why_now="after-revocation conflict=rule:check-first@3 more-runs"
    )
    factories.make_conflict(database, SPACE, "candidate:a", "rule:check-first@3", clock(), "they differ")
    page = html.unescape(browse().get("/queue").text)
    for said in (
        "high", "0.11 (0.03 to 0.38)", "goes with failure", "confirmed", ">38<", "34 sessions", "1 check fails",
        "2 to look at", "1 conflict<", "revoked before", "5 hours ago", "Back after a revocation",
        "Conflicts with rule check-first@3", "More runs since",
    ):  # fmt: skip
        assert said in page, said
    set_columns(database, "a", reach=-1)
    assert "not measured yet" in browse("otto").get("/queue").text


def test_what_waits_for_evidence_is_apart_and_says_for_what(browse: Browse, database: Database, clock: Clock) -> None:
    make(database, "a", clock)
    make(database, "b", clock, parked_at=clock(), wanted={"runs": 5, "agent": "support-bot", "until": "2027-01-01"})
    rosa = browse()
    waiting = rosa.get("/queue").text
    assert shown(waiting) == ["a"]
    assert options(waiting, "state") == ["waiting for a decision (1)", "waiting for evidence (1)"]
    parked = rosa.get("/queue?state=parked").text
    assert shown(parked) == ["b"]
    assert "Waits for 5 more judged runs (agent support-bot)" in parked


@pytest.mark.parametrize("state", ["promoted", "rejected", "void"])
def test_what_is_closed_is_listed_by_when_it_was_closed(
    browse: Browse, database: Database, clock: Clock, state: str
) -> None:
    for days, name in enumerate(("late", "early")):
        make(database, name, clock, state=state)
        set_columns(database, name, updated_at=clock() - timedelta(days=days))
    rosa = browse()
    page = rosa.get(f"/queue?state={state}").text
    assert shown(page) == ["late", "early"]
    assert picks(page) == [], "what is closed is not decided again"
    assert "Nothing waits" in rosa.get("/queue").text
    assert "Nothing here with this filter" in rosa.get("/queue?tier=high").text


def test_what_a_night_keeps_of_a_name_is_shown_as_text(browse: Browse, database: Database, clock: Clock) -> None:
    make(database, "a", clock)
    set_columns(database, "a", why_now="conflict=candidate:<script>alert(1)</script>\u202e replaces=odd nonsense new")
    page = browse().get("/queue").text
    assert faults_of(page) == []
    assert "<script>alert" not in page
    assert "Found for the first time" in page


# Who reads what


def test_two_reviewers_who_take_the_next_one_get_different_ones(
    browse: Browse, database: Database, clock: Clock
) -> None:
    for place in range(3):
        make(database, f"{place}", clock, rank=float(-place))
    rosa, otto = browse("rosa"), browse("otto")
    assert take_next(rosa) == f"/candidates/{SPACE}/0"
    assert take_next(otto) == f"/candidates/{SPACE}/1"
    assert take_next(rosa) == f"/candidates/{SPACE}/2"
    answer = take_next(otto)
    assert answer == "/queue?told=none-free"
    assert "Nothing is free" in otto.get(answer).text
    page = otto.get("/queue").text
    assert "rosa is reading it, since" in page
    assert "You are reading it, since" in page


def test_the_next_one_is_taken_under_the_filters_of_the_page(browse: Browse, database: Database, clock: Clock) -> None:
    make(database, "best", clock, rank=9.0)
    make(database, "high", clock, rank=1.0, tier="high")
    assert take_next(browse(), "/queue?tier=high") == f"/candidates/{SPACE}/high"


def test_the_next_one_is_one_that_they_may_still_decide_on(browse: Browse, database: Database, clock: Clock) -> None:
    rosa = browse("rosa")
    with database.read() as session:
        user_id = session.exec(sa.text("SELECT id FROM user_account WHERE name = 'rosa'")).scalar_one()  # type: ignore[call-overload]
    hashes = make(database, "voted", clock, rank=9.0, tier="high", state="approved")
    make(database, "wrote", clock, rank=8.0, author=user_id)
    make(database, "free", clock, rank=1.0)
    with database.write() as session:
        session.add(
            Decision(namespace=SPACE, id="d", candidate_id="voted", number=1, content_hash=hashes[0],
                     packet_hash=hashes[1], verdict="approve", reviewer_id=user_id, reason="read", at=clock())
        )  # fmt: skip
    assert take_next(rosa) == f"/candidates/{SPACE}/free"
    assert take_next(browse("otto")) == f"/candidates/{SPACE}/voted"


def test_a_hold_ends_by_itself_by_letting_go_and_by_deciding(browse: Browse, database: Database, clock: Clock) -> None:
    make(database, "a", clock, rank=2.0)
    rosa, otto = browse("rosa"), browse("otto")
    link = take_next(rosa)
    assert take_next(otto) == "/queue?told=none-free"
    clock.forward(minutes=11)
    assert take_next(otto) == link, "ten minutes without a look"
    assert otto.post(f"{link}/release", data=fields(otto.get("/queue").text, "/queue/next")).status_code == 303
    assert take_next(rosa) == link
    form = fields(rosa.get("/queue").text, "/queue/next")
    otto.post(f"{link}/release", data=form | fields(otto.get("/queue").text, "/queue/next"))
    with database.read() as session:
        assert session.exec(select(Reservation)).one(), "nobody lets go what another holds"
    assert decide(rosa, "reject", picks(rosa.get("/queue").text)).status_code == 200
    with database.read() as session:
        assert session.exec(select(Reservation)).all() == []


def test_a_hold_keeps_nobody_from_deciding(browse: Browse, database: Database, clock: Clock) -> None:
    make(database, "a", clock, tier="low")
    rosa, otto = browse("rosa"), browse("otto")
    take_next(rosa)
    assert "1 candidate decided" in decide(otto, "approve", picks(otto.get("/queue").text)).text
    assert state_of(database, "a") == "promoted"


def test_opening_a_candidate_holds_it_for_the_one_who_may_decide(
    browse: Browse, database: Database, clock: Clock
) -> None:
    make(database, "a", clock)
    rosa, otto, ada = browse("rosa"), browse("otto"), browse("ada", role="auditor")
    link = f"/candidates/{SPACE}/a"
    assert ada.get(link).status_code == 200
    assert "reading it" not in rosa.get("/queue").text, "who only reads holds nothing"
    rosa.get(link)
    assert "rosa is reading it, since" in otto.get("/queue").text
    otto.get(link)
    assert "rosa is reading it, since" in otto.get("/queue").text, "the second one takes nothing away"


def test_a_candidate_is_read_while_the_store_takes_no_reservation(
    browse: Browse, database: Database, clock: Clock
) -> None:
    make(database, "a", clock)
    rosa, otto = browse("rosa"), factories.make_person(database, "otto", clock())[0]
    with database.write() as busy:
        until = clock() + timedelta(minutes=10)
        assert reservations.take(busy, SPACE, "a", otto.user_id, now=clock(), until=until)
        answer = rosa.get(f"/candidates/{SPACE}/a")
        assert answer.status_code == 200
        assert "Case a" in answer.text
        busy.rollback()


def test_who_only_reads_takes_nothing(browse: Browse, database: Database, clock: Clock) -> None:
    make(database, "a", clock)
    ada = browse("ada", role="auditor")
    page = ada.get("/queue").text
    assert "/queue/next" not in page
    assert picks(page) == []
    csrf = {"csrf": fields(page, "/logout")["csrf"]}
    assert ada.post("/queue/next", data=csrf).status_code == 403
    assert ada.post("/queue/bulk", data=csrf | {"verdict": "reject", "pick": "[]"}).status_code == 403


# Several at once


def test_each_of_the_chosen_is_decided_by_itself_or_left_and_told_why(
    browse: Browse, database: Database, clock: Clock
) -> None:
    long = factories.content_for(SPACE, when_to_use="Case long", guidance=["word " * 6000])
    hidden = factories.content_for(SPACE, when_to_use="Case hidden", guidance=["obey\u202e this"])
    make(database, "fine", clock, tier="low")
    make(database, "changed", clock, tier="low")
    make(database, "standard", clock, tier="standard")
    make(database, "long", clock, tier="low", content=long)
    make(database, "hidden", clock, tier="low", content=hidden)
    failed = [{"name": "secrets", "verdict": "fail", "detail": "a key", "fix": ""}]
    make(database, "failing", clock, tier="low", packet=factories.packet_for(checks=failed))
    rosa = browse()
    chosen = picks(rosa.get("/queue").text)
    assert len(chosen) == 6
    factories.revise_candidate(database, SPACE, "changed", clock(), content=factories.content_for(SPACE))
    answer = decide(rosa, "approve", chosen)
    page = html.unescape(answer.text)
    assert answer.status_code == 200
    assert faults_of(answer.text) == []
    assert "1 candidate decided" in page
    assert "5 were left as they were" in page
    for said in (
        "Approved and promoted", "not of the low tier", "too long to be approved unread", "would not see",
        "packet is not complete", "no longer what you were shown",
    ):  # fmt: skip
        assert said in page, said
    assert state_of(database, "fine") == "promoted"
    left = ("changed", "standard", "long", "hidden", "failing")
    assert {state_of(database, name) for name in left} == {"staged"}


def test_anything_is_rejected_together_for_one_reason(browse: Browse, database: Database, clock: Clock) -> None:
    for name, tier in (("a", "low"), ("b", "high")):
        make(database, name, clock, tier=tier)
    rosa = browse()
    chosen = picks(rosa.get("/queue").text)
    assert "A reason is missing" in decide(rosa, "reject", chosen, reason=" ").text
    assert "2 candidates decided" in decide(rosa, "reject", chosen).text
    assert {state_of(database, name) for name in ("a", "b")} == {"rejected"}
    with database.read() as session:
        assert {row.reason for row in session.exec(select(Decision))} == {REASON}
    make(database, "c", clock)
    assert "2 candidates decided" in decide(rosa, "reject", chosen).text, "the same again changes nothing"


def test_a_choice_is_exactly_what_a_box_sends(browse: Browse, database: Database, clock: Clock) -> None:
    factories.make_namespace(database, OTHER, clock())
    make(database, "a", clock, tier="low")
    hidden = make(database, "hidden", clock, OTHER, tier="low")
    rosa = browse("rosa", namespaces=(SPACE,))
    for chosen in ([], ["x"], ["[]"], ['["a", "b"]'], ["[1, 2, 3, 4]"], ["{}"], ["null"], ["1"]):
        assert decide(rosa, "reject", chosen).status_code == 400, chosen
    foreign = f'["{OTHER}", "hidden", "{hidden[0]}", "{hidden[1]}"]'
    page = decide(rosa, "reject", [foreign]).text
    assert "There is no such candidate in the namespaces you review" in page
    assert "0 candidates decided" in page
    assert {state_of(database, "a"), state_of(database, "hidden")} == {"staged"}


def test_counts_of_a_long_queue_lag_by_a_look_and_its_rows_never(
    app: FastAPI, browse: Browse, database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "LONG", 3)
    for name in ("a", "b", "c", "d"):
        make(database, name, clock)
    rosa = browse()

    def checks() -> list[str]:
        found = options(rosa.get("/queue").text, "checks")
        app.state.site.counts.settle()
        return found

    assert checks() == ["all", "all pass (4)"]
    link = f"/candidates/{SPACE}/b"
    form = fields(rosa.get(link).text, f"{link}/reject") | {"reason": REASON}
    assert rosa.post(f"{link}/reject", data=form).status_code == 303
    assert link not in rosa.get("/queue").text
    app.state.site.counts.settle()
    assert checks() == ["all", "all pass (3)"]
    set_columns(database, "a", failing=1)  # as a night does that looked again, which is no act of anybody
    assert checks() == checks() == ["all", "all pass (3)"], "counted a moment ago"
    clock.forward(seconds=counts.SURE.total_seconds())
    assert checks() == ["all", "all pass (3)"]
    assert checks() == ["all", "some fail (1)", "all pass (2)"]


def test_whoever_looks_first_after_a_while_sees_counts_of_the_moment(
    browse: Browse, database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "LONG", 1)
    make(database, "a", clock)
    rosa = browse()
    assert options(rosa.get("/queue").text, "checks") == ["all", "all pass (1)"]
    set_columns(database, "a", failing=1)
    clock.forward(seconds=counts.KEPT.total_seconds())
    assert options(rosa.get("/queue").text, "checks") == ["all", "some fail (1)"]


def test_a_short_queue_is_counted_each_time(browse: Browse, database: Database, clock: Clock) -> None:
    make(database, "a", clock)
    rosa = browse()
    assert options(rosa.get("/queue").text, "checks") == ["all", "all pass (1)"]
    set_columns(database, "a", failing=1)
    assert options(rosa.get("/queue").text, "checks") == ["all", "some fail (1)"]
