"""An episode's page: the run step by step, what it read, what makes it tainted, what cites it, its revisions."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from fastapi import FastAPI
from sqlmodel import select
from starlette.testclient import TestClient

from review_ui.views.replay import FILTERS, ICONS, STEPS_A_PAGE
from storage.engine import Database
from storage.serving import Reader, declare_session, serve
from storage.tables import (
    AuditEntry,
    Cluster,
    ClusterEpisode,
    Episode,
    EpisodeBody,
    EpisodeKey,
    Family,
    Namespace,
    RunEpisode,
)
from support import factories
from support.html_check import faults_of
from support.review_pages import SPACE, Browse, Clock
from support.reviewing import Desk, Found, Ran, avoid, those_with, tried

LINK = f"/episodes/{SPACE}/ep-1"


@pytest.fixture
def rosa(browse: Browse) -> TestClient:
    """A reviewer's browser."""
    return browse("rosa")


def page_of(browser: TestClient, link: str = LINK) -> str:
    answer = browser.get(link)
    assert answer.status_code == 200, answer.text
    assert faults_of(answer.text) == []
    return answer.text


def plain(page: str) -> str:
    """The words of a page."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def part(page: str, start: str, end: str) -> str:
    """The part of a page between two marks."""
    assert start in page, start
    return page.partition(start)[2].partition(end)[0]


def step_of(page: str, identity: str) -> str:
    """The item of one step."""
    head = page.partition(f'<span class="step-id">{identity}</span>')[0]
    return head.rpartition('<li class="step')[2] + part(page, f'<span class="step-id">{identity}</span>', "</li>")


def kinds() -> list[dict[str, Any]]:
    """A step of every kind, with whose word it is."""
    return [
        {"id": "1", "kind": "user", "text": "please refund", "trust": "user", "at": "2026-11-29T01:02:03Z"},
        {"id": "2", "kind": "plan", "text": "look first"},
        {"id": "3", "kind": "memory_read", "rule": "look-first", "version": 2, "snapshot": "Look before you pay."},
        {"id": "4", "kind": "tool_call", "name": "get_order", "cites": ["3"],
         "arguments": {"order": "K-7", "fields": ["total", "state"], "note": "two\nlines"}},
        {"id": "5", "kind": "tool_call", "name": "get_customer", "arguments": {}},
        {"id": "6", "kind": "observation", "of": "4", "text": "shipped", "trust": "tool"},
        {"id": "7", "kind": "observation", "of": "5", "text": "no such one", "is_error": True, "trust": "external"},
        {"id": "8", "kind": "claim", "text": "it was shipped"},
        {"id": "9", "kind": "memory_write", "text": "note it"},
        {"id": "10", "kind": "system", "text": "time is up"},
        {"id": "11", "kind": "answer", "text": "refunded"},
    ]  # fmt: skip


def test_each_kind_of_step_has_a_word_a_shape_and_a_class_of_its_own(
    app: FastAPI, database: Database, clock: Clock, rosa: TestClient
) -> None:
    factories.make_episode(database, SPACE, "ep-1", clock(), steps=kinds())
    page = page_of(rosa)
    for step in kinds():
        item = step_of(page, step["id"])
        assert f"kind-{step['kind']}" in item
        assert ICONS[step["kind"]] in item
    assert len(set(ICONS.values())) == len(ICONS)
    assert "trust: the user&#39;s words" in step_of(page, "1")
    assert '<time datetime="2026-11-29T01:02:03Z"' in step_of(page, "1")
    assert "external text: evidence of facts, never an instruction" in step_of(page, "7")
    assert "external text: evidence of facts" not in step_of(page, "6")
    assert "look-first version 2" in plain(step_of(page, "3"))


def test_arguments_are_a_table_and_results_stand_beside_their_call(
    app: FastAPI, database: Database, clock: Clock, rosa: TestClient
) -> None:
    factories.make_episode(database, SPACE, "ep-1", clock(), steps=kinds())
    page = page_of(rosa)
    call = step_of(page, "4")
    assert "<dt>order</dt><dd>K-7</dd>" in call
    assert "&#34;total&#34;,\n" in call, "nested values are written as indented JSON"
    assert "two\nlines" in call
    pairs = re.findall(r'<li class="call-pair">(.*?)</ol></li>', page, re.DOTALL)
    ids = [re.findall(r'<span class="step-id">(\d+)</span>', pair) for pair in pairs]
    assert ids == [["4", "6"], ["5", "7"]]


def test_a_result_that_comes_after_something_else_keeps_its_place(
    app: FastAPI, database: Database, clock: Clock, rosa: TestClient
) -> None:
    steps = [
        {"id": "1", "kind": "tool_call", "name": "begin", "arguments": {}},
        {"id": "2", "kind": "plan", "text": "wait"},
        {"id": "3", "kind": "observation", "of": "1", "text": "begun"},
    ]
    factories.make_episode(database, SPACE, "ep-1", clock(), steps=steps)
    page = page_of(rosa)
    assert 'class="call-pair"' not in page
    assert re.findall(r'<span class="step-id">(\d)</span>', page) == ["1", "2", "3"]


def test_steps_are_filtered_by_kind_and_what_is_left_out_is_counted(
    app: FastAPI, database: Database, clock: Clock, rosa: TestClient
) -> None:
    factories.make_episode(database, SPACE, "ep-1", clock(), steps=kinds())
    shown = {}
    for name in (*FILTERS, "errors", "external"):
        page = page_of(rosa, f"{LINK}?only={name}")
        shown[name] = set(re.findall(r'<span class="step-id">(\d+)</span>', page))
        assert f'href="{LINK}?only={name}" aria-current="true"' in page
        hidden = sum(int(n) for n in re.findall(r'<li class="gap">(\d+) steps? not shown', page))
        assert hidden + len(shown[name]) == len(kinds()), name
    assert shown == {
        "user": {"1"}, "calls": {"4", "5", "6", "7"}, "words": {"2", "8", "11"}, "memory": {"3", "9"},
        "system": {"10"}, "errors": {"5", "7"}, "external": {"7"},
    }  # fmt: skip
    assert len(re.findall(r'class="step-id"', page_of(rosa, f"{LINK}?only=nonsense"))) == len(kinds())


def test_pages_of_a_filter_keep_the_filter(app: FastAPI, database: Database, clock: Clock, rosa: TestClient) -> None:
    steps = [{"id": f"{n}", "kind": "plan" if n % 2 else "claim", "text": f"word {n}"} for n in range(130)]
    steps.append({"id": "u", "kind": "user", "text": "hello"})
    factories.make_episode(database, SPACE, "ep-1", clock(), steps=steps)
    first = page_of(rosa, f"{LINK}?only=words")
    assert f"Steps 1 to {STEPS_A_PAGE} of 130" in first
    assert f'rel="next" href="{LINK}?only=words&amp;page=2"' in first
    last = page_of(rosa, f"{LINK}?only=words&page=3")
    assert "Steps 121 to 130 of 130" in last
    assert "1 step not shown" in last
    assert "not shown" not in page_of(rosa, f"{LINK}?page=2"), "the pages before are not left out"


def test_a_reader_jumps_to_cited_steps_and_errors(
    app: FastAPI, database: Database, clock: Clock, rosa: TestClient
) -> None:
    factories.make_episode(database, SPACE, "ep-1", clock(), steps=kinds())
    factories.make_candidate(database, SPACE, "cand-1", clock(), evidence=[("ep-1", "support")])  # cites step 5
    page = page_of(rosa)
    jumps = part(page, 'class="trace-nav"', "</nav>")
    assert f'href="{LINK}?step=5#cited"' in part(jumps, "Cited steps:", "</p>")
    assert f'href="{LINK}?step=7#cited"' in part(jumps, "Errors:", "</p>")
    quoted = step_of(page, "5")
    assert f"/candidates/{SPACE}/cand-1" in quoted
    assert "speaks for it" in quoted
    assert page_of(rosa, f"{LINK}?step=5").count('id="cited"') == 1
    assert page_of(rosa, f"{LINK}?only=user&step=7").count('id="cited"') == 1, "a step that a filter hides is shown"
    assert set(re.findall(r'<span class="step-id">(\d+)</span>', page_of(rosa, f"{LINK}?only=cited"))) == {"5"}


def test_long_text_folds_and_has_a_view_of_its_own(
    app: FastAPI, database: Database, clock: Clock, rosa: TestClient
) -> None:
    steps = [{"id": "1", "kind": "tool_call", "name": "send", "arguments": {"body": "z" * 20_000 + "END"}},
             {"id": "2", "kind": "observation", "of": "1", "text": "y" * 20_000 + "STOP"}]  # fmt: skip
    factories.make_episode(database, SPACE, "ep-1", clock(), steps=steps)
    page = page_of(rosa)
    assert "END" not in page
    assert "STOP" not in page
    assert f'href="{LINK}?whole=1"' in page
    assert f'href="{LINK}?whole=2"' in page
    assert "END" in page_of(rosa, f"{LINK}?whole=1")
    assert "STOP" in page_of(rosa, f"{LINK}?whole=2")


@pytest.fixture
def desk(app: FastAPI, database: Database, clock: Clock, secret: bytes) -> Desk:
    """A namespace of its own, whose reviewers act through the steps."""
    return Desk(database, clock(), secret).open()


def promoted(desk: Desk, call: str, read: tuple[str, int] | None = None) -> tuple[tuple[str, int], tuple[str, ...]]:
    """A rule, and the episodes that it was made from, whose sessions had read another one."""
    runs = [Ran(ran.task, ran.outcome, ran.calls, session=f"{call}-{n}") for n, ran in enumerate(tried(call, tasks=2))]
    ids = desk.record(*runs)
    if read is not None:
        for n in range(len(runs)):
            desk.expose(f"{call}-{n}", *read)
    return desk.promoted(Found(avoid(call), those_with(ids, call, runs))), those_with(ids, call, runs)


def serve_to(desk: Desk, rule: tuple[str, int], name: str, instance: str | None = None) -> None:
    reader = Reader(desk.namespace, name, "token", "bot", instance)
    with desk.database.write() as session:
        declare_session(session, reader, desk.now)
        served = serve(session, reader, [rule], epoch=1, request_id=name, now=desk.now,
                       grant_until=desk.now + timedelta(minutes=5))  # fmt: skip
        assert served == {rule}


def test_what_it_may_have_read_is_told_with_the_way_and_the_state_now(desk: Desk, rosa: TestClient) -> None:
    answered, _ = promoted(desk, "m1")
    cached, _ = promoted(desk, "m2")
    claimed, _ = promoted(desk, "m3")
    serve_to(desk, answered, "mine")
    serve_to(desk, cached, "another", "cache-1")
    with desk.database.write() as session:
        declare_session(session, Reader(desk.namespace, "mine", "token", "bot", "cache-1"), desk.now)
    (episode,) = desk.record(Ran("t", "success", ("look",), session="mine", reads=(claimed, answered, ("never", 9))))
    desk.revoke(claimed[0])
    read = part(page_of(rosa, f"/episodes/{desk.namespace}/{episode}"), "Rules it may have read", "<h3>")
    told = {name: plain(item) for name in (answered[0], cached[0], claimed[0])
            for item in re.findall(r"<li>(.*?)</li>", read, re.DOTALL) if f"/{name}" in item}  # fmt: skip
    assert "active served in an answer; its own record says so" in told[answered[0]]
    assert "active may have been answered from its cache" in told[cached[0]]
    assert "revoked its own record says so" in told[claimed[0]]
    assert "never" not in read, "no such version was ever known"


def test_taint_says_which_revoked_rule_and_through_what(desk: Desk, rosa: TestClient) -> None:
    base, _ = promoted(desk, "m1")
    leaning, _ = promoted(desk, "m2", base)
    direct, through, clean = desk.record(
        Ran("t", "success", ("look",), session="direct"),
        Ran("t", "success", ("look",), session="through"),
        Ran("t", "success", ("look",), session="clean"),
    )
    desk.expose("direct", *base)
    desk.expose("through", *leaning)
    pages = [f"/episodes/{desk.namespace}/{name}" for name in (direct, through, clean)]
    assert "Tainted" not in page_of(rosa, pages[0])
    desk.revoke(base[0], reason="it misled three runs")
    told = part(page_of(rosa, pages[0]), "Tainted", "</div>")
    assert "It may have read a rule that was revoked later:" in told
    assert f"/rules/{desk.namespace}/{base[0]}" in told
    assert "it misled three runs" in told
    told = part(page_of(rosa, pages[1]), "Tainted", "</div>")
    assert f"It may have read {leaning[0]} version 1, which descends from a rule that was revoked:" in told
    assert "Tainted" not in page_of(rosa, pages[2])


def test_what_cites_it_is_the_rule_once_it_was_promoted(desk: Desk, rosa: TestClient) -> None:
    rule, (episode, *_) = promoted(desk, "m1")
    cited = part(page_of(rosa, f"/episodes/{desk.namespace}/{episode}"), "What cites it", "<h3>")
    assert f"/rules/{desk.namespace}/{rule[0]}" in cited
    assert f"{rule[0]} version 1, active · speaks for it" in plain(cited)
    assert "#cited" in cited


def test_revisions_of_a_record_lead_to_one_another(
    app: FastAPI, database: Database, clock: Clock, rosa: TestClient
) -> None:
    for number in (1, 2, 3):
        factories.make_episode(
            database, SPACE, f"ep-{number}", clock(), source_id="trial-17", revision=number, is_current=number == 3,
            supersedes_id=f"ep-{number - 1}" if number > 1 else None, source_hash=f"h{number}",
        )  # fmt: skip
    factories.make_episode(database, SPACE, "alone", clock())
    newest = part(page_of(rosa, f"/episodes/{SPACE}/ep-3"), "Revisions of the same record", "</ul>")
    assert "revision 3, shown here" in newest
    assert f"/episodes/{SPACE}/ep-2" in newest
    assert f"/episodes/{SPACE}/ep-1" in newest
    oldest = page_of(rosa, f"/episodes/{SPACE}/ep-1")
    assert f'<a href="/episodes/{SPACE}/ep-3">The one that counts</a>' in oldest
    assert "the one that counts" in part(part(oldest, "Revisions of the same record", "</ul>"), "ep-3", "</li>")
    assert "Revisions of the same record" not in page_of(rosa, f"/episodes/{SPACE}/alone")


def test_where_it_is_compared_and_which_night_took_it_up(
    app: FastAPI, database: Database, clock: Clock, rosa: TestClient
) -> None:
    factories.make_episode(database, SPACE, "ep-1", clock(), family_id="orders")
    assert "No night yet" in page_of(rosa)
    factories.make_run(database, SPACE, "run-1", clock())
    with database.write() as session:
        session.add(Family(namespace=SPACE, id="orders", label="orders by mail", created_at=clock()))
        session.flush()
        session.add(Cluster(namespace=SPACE, id="c1", family_id="orders", label="refunds", created_at=clock()))
        session.flush()
        session.add(ClusterEpisode(namespace=SPACE, episode_id="ep-1", cluster_id="c1", group_id="group-9"))
        session.add(RunEpisode(namespace=SPACE, episode_id="ep-1", run_id="run-1", why="repeated mistake"))
    page = page_of(rosa)
    told = plain(part(page, 'id="place-title"', "</section>"))
    assert "Family orders by mail Cluster refunds Independence group group-9" in told
    assert "because: a repeated mistake" in page
    assert 'href="/runs/run-1"' in page


def test_a_purged_episode_shows_its_tombstone_and_keeps_its_ties(
    app: FastAPI, database: Database, clock: Clock, rosa: TestClient
) -> None:
    factories.make_episode(database, SPACE, "ep-1", clock())
    factories.make_candidate(database, SPACE, "cand-1", clock(), evidence=[("ep-1", "support")])
    with database.write() as session:
        for table in (EpisodeBody, EpisodeKey):
            session.delete(session.exec(select(table)).one())
        session.exec(select(Episode)).one().purged_at = clock()
    page = page_of(rosa, f"{LINK}?only=calls&step=5")
    assert "This row is its tombstone." in page
    assert f"/candidates/{SPACE}/cand-1" in page


def views_of(database: Database) -> list[AuditEntry]:
    with database.read() as session:
        return list(session.exec(select(AuditEntry).where(AuditEntry.action == "text.viewed")))


def test_who_read_it_is_in_the_audit_log_where_the_policy_asks_for_that(
    app: FastAPI, database: Database, clock: Clock, rosa: TestClient
) -> None:
    factories.make_episode(database, SPACE, "ep-1", clock())
    page_of(rosa)
    assert views_of(database) == []
    with database.write() as session:
        session.get_one(Namespace, SPACE).policy = {"audit_views": True}
    page_of(rosa)
    page_of(rosa, f"{LINK}?only=calls")
    assert rosa.get(f"/episodes/{SPACE}/nowhere").status_code == 404
    (entry,) = views_of(database)
    assert (entry.namespace, entry.target) == (SPACE, "episode:ep-1")
