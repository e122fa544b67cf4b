"""The pages of rules: the list, a rule with its history and readers, the preview of a revocation, and the repair."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from fastapi import FastAPI
from sqlmodel import select
from starlette.testclient import TestClient

from storage.engine import Database
from storage.queries import pages_readers
from storage.serving import Reader, declare_session, serve
from storage.tables import CacheGrant, Candidate, ClientSession, Exposure, Recheck, RuleVersion, Run
from support import factories
from support.html_check import faults_of
from support.review_pages import Browse, Clock, fields, log_in
from support.reviewing import Desk, Found, Ran, avoid, finding, those_with, tried
from tasks.stage.edit_step import propose_version


@pytest.fixture
def desk(app: FastAPI, database: Database, clock: Clock, secret: bytes) -> Desk:
    """A namespace of its own, whose reviewers act through the steps."""
    return Desk(database, clock(), secret).open()


@pytest.fixture
def otto(browse: Browse, desk: Desk) -> TestClient:
    """A reviewer's browser."""
    return browse("otto")


def link_of(desk: Desk, rule: tuple[str, int]) -> str:
    return f"/rules/{desk.namespace}/{rule[0]}"


def page_of(browser: TestClient, link: str) -> str:
    answer = browser.get(link)
    assert answer.status_code == 200, answer.text
    assert faults_of(answer.text) == []
    return answer.text


def section(page: str, start: str, end: str = "</section>") -> str:
    """The part of a page between two marks."""
    assert start in page, start
    return page.partition(start)[2].partition(end)[0]


def plain(page: str) -> str:
    """The words of a page."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def read_and_promote(desk: Desk, call: str, read: tuple[str, int] | None = None, *, alone: int = 0) -> tuple[str, int]:
    """A rule whose evidence was made by sessions that had read another one; ``alone`` tasks ran without it."""
    runs = tried(call, tasks=2)
    ids = desk.record(*[replace(ran, session=f"{call}-{n}") for n, ran in enumerate(runs)])
    if read is not None:
        for n in range(len(runs)):
            desk.expose(f"{call}-{n}", *read)
    apart = tried(call, tasks=alone)
    free = desk.record(*apart) if apart else ()
    return desk.promoted(Found(avoid(call), those_with(ids + free, call, [*runs, *apart])))


def serve_to(
    desk: Desk, rule: tuple[str, int], *sessions: str, days_ago: float = 0, instance: str | None = None
) -> None:
    """Serve a version as the read API does; with an instance, its cache may keep it too."""
    at = desk.now - timedelta(days=days_ago)
    for name in sessions:
        reader = Reader(desk.namespace, name, "token", "bot", instance)
        with desk.database.write() as session:
            declare_session(session, reader, at)
            assert serve(session, reader, [rule], epoch=1, request_id=f"{name}-{at}", now=at,
                         grant_until=at + timedelta(minutes=5)) == {rule}  # fmt: skip


def second_version(desk: Desk, rule: tuple[str, int], guidance: Sequence[str]) -> tuple[str, int]:
    """The next version of a rule: proposed by one reviewer, approved by the other."""
    with desk.database.read() as session:
        row = session.get_one(RuleVersion, (desk.namespace, *rule))
    done = propose_version(
        desk.database, desk.namespace, *rule, content_hash=row.content_hash,
        when_to_use=row.content["when_to_use"], guidance=guidance, scope=row.content["scope"],
        reviewer=desk.people["ana"], reason="clearer words", now=desk.now, secret=desk.secret,
    )  # fmt: skip
    with desk.database.read() as session:
        candidate = session.get_one(Candidate, (desk.namespace, done.candidate_id))
    result = desk.approve(candidate, "bo", reason="reads better")
    while result.state == "approved":
        desk.person("cyd")
        result = desk.approve(candidate, "cyd", reason="reads better")
    assert result.rule_id is not None
    assert result.version is not None
    return result.rule_id, result.version


def test_the_list_is_filtered_by_state_tier_and_words_of_the_text(desk: Desk, otto: TestClient) -> None:
    kept = read_and_promote(desk, "archive_note")
    gone = read_and_promote(desk, "merge_branch")
    desk.revoke(gone[0])
    everything = page_of(otto, "/rules")
    assert link_of(desk, kept) in everything
    assert link_of(desk, gone) in everything
    active = page_of(otto, "/rules?state=active")
    assert link_of(desk, kept) in active
    assert link_of(desk, gone) not in active
    with desk.database.read() as session:
        tier = session.get_one(RuleVersion, (desk.namespace, *kept)).tier
    assert link_of(desk, kept) in page_of(otto, f"/rules?tier={tier}")
    assert "No rule with this filter" in page_of(otto, f"/rules?tier={'low' if tier != 'low' else 'high'}")
    found = page_of(otto, "/rules?q=ARCHIVE_NOTE")
    assert link_of(desk, kept) in found
    assert link_of(desk, gone) not in found
    assert "No rule with this filter" in page_of(otto, "/rules?q=archive_note+merge_branch")
    assert "No rule with this filter" in page_of(otto, "/rules?q=100%25")


def test_a_word_of_the_guidance_is_found_in_any_script(desk: Desk, otto: TestClient) -> None:
    rule = read_and_promote(desk, "archive_note")
    odd = ["größer", "检查", '"quoted"', "back\\slash", "100%", "under_score"]
    second_version(desk, rule, ["Look first.", *(f"Then say {word} to whoever asked." for word in odd)])
    for word in odd:
        assert link_of(desk, rule) in otto.get("/rules", params={"q": word}).text, word
    for word in ("größten", "检阅", "100_", "under-score"):
        assert link_of(desk, rule) not in otto.get("/rules", params={"q": word}).text, word


def test_a_row_tells_the_readers_of_a_week_and_the_last_verdict(desk: Desk, otto: TestClient) -> None:
    rule = read_and_promote(desk, "archive_note")
    serve_to(desk, rule, "s1", "s2", "s3")
    serve_to(desk, rule, "s4", days_ago=8)
    with desk.database.write() as session:
        for n, verdict in enumerate(("stands", "vanished")):
            session.add(Run(id=f"night-{n}", namespace=desk.namespace, key=f"n{n}", requested_by="x",
                            state="completed", started_at=desk.now))  # fmt: skip
            session.flush()
            session.add(Recheck(namespace=desk.namespace, run_id=f"night-{n}", rule_id=rule[0], version=rule[1],
                                verdict=verdict, words="of 40 new groups", at=desk.now))  # fmt: skip
    row = section(page_of(otto, "/rules"), '<li class="row">', "</li>")
    assert "answers, 7 days 3 " in plain(row)
    assert '<span class="badge bad">vanished</span>' in row
    assert "stands" not in row
    table = section(page_of(otto, link_of(desk, rule)), 'id="rechecks-title"')
    assert table.index("vanished") < table.index("stands")


def test_the_list_of_due_rechecks_holds_what_is_due_and_its_count_leads_there(
    desk: Desk, otto: TestClient, clock: Clock
) -> None:
    rule = read_and_promote(desk, "archive_note")
    assert "No re-check is due" in page_of(otto, "/rules?due=1")
    clock.forward(days=500)
    assert log_in(otto, "otto", factories.PASSWORD).status_code == 303
    assert "1 rule is due for a re-check" in page_of(otto, "/rules")
    due = page_of(otto, "/rules?due=1")
    assert link_of(desk, rule) in due
    assert "re-check due" in due
    desk.revoke(rule[0])
    assert "No re-check is due" in page_of(otto, "/rules?due=1")


def test_versions_are_told_with_what_changed_word_by_word_and_who_decided(desk: Desk, otto: TestClient) -> None:
    rule = read_and_promote(desk, "archive_note")
    with desk.database.read() as session:
        text = session.get_one(RuleVersion, (desk.namespace, *rule)).content["guidance"]
    newer = second_version(desk, rule, [f"{text[0]} Always.", *text[1:], "Tell whoever asked."])
    assert newer == (rule[0], 2)
    page = page_of(otto, link_of(desk, rule))
    assert page.index('id="version-2"') < page.index('id="version-1"')
    change = section(page, "What changed since version 1", "</details>")
    assert any("Always" in new for new in re.findall(r"<ins>(.*?)</ins>", change))
    assert "Tell whoever asked." in change
    assert f"Step {len(text) + 1} is new." in change
    second = section(page, 'id="version-2"', "</article>")
    assert "bo" in plain(second)
    assert "reads better" in second
    first = section(page, 'id="version-1"', "</article>")
    assert "ana" in plain(first)
    assert "seen the evidence" in first
    assert "reads better" not in first


def test_what_happened_is_told_with_who_and_why_the_latest_first(desk: Desk, otto: TestClient) -> None:
    base = read_and_promote(desk, "m1")
    leaning = read_and_promote(desk, "m2", base)
    desk = desk.later(1)
    desk.revoke(base[0], "bo", reason="it misled three runs")
    own = section(page_of(otto, link_of(desk, base)), 'id="history-title"')
    assert plain(own).index("Version 1 revoked") < plain(own).index("Version 1 promoted")
    assert "it misled three runs" in own
    assert "bo" in plain(section(own, "Version 1 revoked", "</li>"))
    assert "ana" in plain(section(own, "Version 1 promoted", "</li>"))
    told = section(page_of(otto, link_of(desk, leaning)), 'id="history-title"')
    assert f"descends from {base[0]}" in told
    assert plain(told).index("Version 1 quarantined") < plain(told).index("Version 1 promoted")


def test_what_leans_on_what_is_told_with_its_state_now(desk: Desk, otto: TestClient) -> None:
    base = read_and_promote(desk, "m1")
    leaning = read_and_promote(desk, "m2", base)
    down = section(page_of(otto, link_of(desk, base)), "What leans on it", "</ul>")
    assert link_of(desk, leaning) in down
    assert "active" in down
    desk.revoke(base[0])
    up = section(page_of(otto, link_of(desk, leaning)), "What it leans on", "</ul>")
    assert link_of(desk, base) in up
    assert "revoked" in up


def test_readers_are_counted_by_day_and_version_and_marked_with_what_happened(desk: Desk, otto: TestClient) -> None:
    rule = read_and_promote(desk, "archive_note")
    serve_to(desk, rule, "a", "b", "b", days_ago=3)
    serve_to(desk, rule, "c", days_ago=40)
    newer = second_version(desk, rule, ["Look first."])
    serve_to(desk, newer, "d", instance="cache-1")
    page = page_of(otto, link_of(desk, rule))
    drawn = section(page, 'class="readers only-wide"', "</svg>")
    assert drawn.count("<rect") == 2
    assert "3 answers carried version 1" in plain(drawn)
    assert "1 answer carried version 2" in plain(drawn)
    assert {"mark promoted", "mark superseded"} <= set(re.findall(r'<g class="([^"]+)"', drawn))
    table = [
        plain(row) for row in re.findall(r"<tr>.*?</tr>", section(page, "The same as a table", "</table>"), re.DOTALL)
    ]
    assert table[1].endswith("2 1 1 1"), "today: version 2, one answer, one session, one cache"
    assert table[2].endswith("1 3 2 0"), "three days ago: version 1, three answers, two sessions"
    assert len(table) == 3, "what lies before the window is not in it"
    first = section(page, 'id="version-1"', "</article>")
    assert "answers that carried it 4 " in plain(first), "the counts of a version are of all time"


def test_readers_by_the_hour_are_of_the_last_two_days(desk: Desk, otto: TestClient) -> None:
    rule = read_and_promote(desk, "archive_note")
    serve_to(desk, rule, "a", days_ago=3)
    serve_to(desk, rule, "b", days_ago=0.5)
    page = page_of(otto, f"{link_of(desk, rule)}?by=hour")
    assert "the last 48 hours" in page
    assert section(page, 'class="readers only-wide"', "</svg>").count("<rect") == 1


def test_days_are_those_of_the_readers_zone(desk: Desk, otto: TestClient, clock: Clock) -> None:
    rule = read_and_promote(desk, "archive_note")
    midnight = clock().replace(hour=0, minute=30)
    for name, hours in (("late", 0), ("early", -2)):
        serve_to(desk, rule, name, days_ago=(desk.now - midnight).total_seconds() / 86400 - hours / 24)
    by_zone = {}
    for zone in ("UTC", "Asia/Tokyo"):
        otto.cookies.set("slowwave_zone", zone)
        by_zone[zone] = section(page_of(otto, link_of(desk, rule)), 'class="readers only-wide"', "</svg>").count(
            "<rect"
        )
    assert by_zone == {"UTC": 2, "Asia/Tokyo": 1}


def test_a_span_too_full_to_count_says_that_its_sessions_are_the_least(desk: Desk, database: Database) -> None:
    rule = read_and_promote(desk, "archive_note")
    serve_to(desk, rule, *[f"s{n}" for n in range(6)])
    edges = [desk.now - timedelta(days=1), desk.now + timedelta(seconds=1)]
    with database.read() as session:
        (full,) = pages_readers.served_by_span(session, desk.namespace, rule[0], [1], edges, most=4)
        (whole,) = pages_readers.served_by_span(session, desk.namespace, rule[0], [1], edges, most=6)
    assert (full.answers, full.readers, full.capped) == (6, 4, True)
    assert (whole.answers, whole.readers, whole.capped) == (6, 6, False)


@pytest.mark.parametrize("table", [Exposure, CacheGrant])
def test_counting_readers_seeks_an_index_and_does_not_scan(
    desk: Desk, database: Database, table: type[Exposure] | type[CacheGrant]
) -> None:
    time = "at" if table is Exposure else "since"
    query = f"SELECT 1 FROM {table.__tablename__} WHERE namespace = 'n' AND rule_id = 'r'"
    query += f" AND version IN (1, 2) AND {time} >= '2026-01-01' AND {time} < '2027-01-01'"
    with database.read() as session:
        run = session.connection().exec_driver_sql
        if database.engine.dialect.name == "sqlite":
            said = " ".join(str(row[-1]) for row in run(f"EXPLAIN QUERY PLAN {query}"))
            assert (
                f"INDEX ix_{table.__tablename__}_version (namespace=? AND rule_id=? AND version=? AND {time}>" in said
            )
        else:
            # The planner reads a table this small whole, or by any index of the namespace; this is rolled back.
            run("SET LOCAL enable_seqscan = off")
            run("DROP INDEX ix_exposure_session, ix_cache_grant_instance")
            run(f"ALTER TABLE {table.__tablename__} DROP CONSTRAINT pk_{table.__tablename__}")
            said = " ".join(str(row[0]) for row in run(f"EXPLAIN {query}"))
            assert f"ix_{table.__tablename__}_version" in said
            assert f"({time} >= " in said.partition("Index Cond:")[2].partition("Filter:")[0]


def test_a_preview_tells_whom_it_reaches_and_what_was_done_and_stays(desk: Desk, otto: TestClient) -> None:
    base = read_and_promote(desk, "m1")
    leaning = read_and_promote(desk, "m2", base)
    beside = read_and_promote(desk, "m3")
    serve_to(desk, base, "open-1", "open-2", instance="i1")
    serve_to(desk, base, "done-1", instance="i2")
    with desk.database.write() as session:
        session.exec(select(ClientSession).where(ClientSession.session_id == "done-1")).one().ended_at = desk.now
    desk.record(Ran("t1", "failure", ("refund_order", "close_ticket"), session="open-1"))
    page = page_of(otto, f"{link_of(desk, base)}/revoke")
    shown = section(page, 'id="radius-title"')
    words = plain(shown)
    assert link_of(desk, leaning) in section(shown, "Withheld at once", "</ul>")
    assert "2 still open, 1 ended, 8 never said when they end." in words
    assert words.index("open-1") < words.index("done-1"), "who may still act comes first"
    assert "9 recorded runs read it and made" in words
    assert "refund_order, close_ticket" in words
    assert link_of(desk, beside) in section(shown, "What agents are served instead", "<h3>Sessions")
    assert link_of(desk, leaning) not in section(shown, "What agents are served instead", "<h3>Sessions")
    assert "weighs 1 other rule again, on" in words
    assert "No earlier version of this rule comes back by itself." in words


def test_long_lists_of_a_preview_are_cut_and_the_counts_are_whole(desk: Desk, otto: TestClient) -> None:
    rule = read_and_promote(desk, "m1")
    serve_to(desk, rule, *[f"s{n:02}" for n in range(20)])
    shown = section(page_of(otto, f"{link_of(desk, rule)}/revoke"), 'id="radius-title"')
    assert "sessions that may have read them 20 " in plain(shown)
    assert shown.count("<code>s") == 12
    assert "and 8 more" in plain(shown)


def test_a_reason_may_be_picked_from_those_at_hand(desk: Desk, otto: TestClient) -> None:
    rule = read_and_promote(desk, "m1")
    link = f"{link_of(desk, rule)}/revoke"
    form = fields(page_of(otto, link), link) | {"preset": "It is wrong: following it did harm.", "reason": "See T-7."}
    assert otto.post(link, data=form).status_code == 303
    with desk.database.read() as session:
        assert session.get_one(RuleVersion, (desk.namespace, *rule)).state_reason == (
            "It is wrong: following it did harm. See T-7."
        )


def test_the_page_follows_the_repair_and_tells_what_it_kept_and_what_is_left(desk: Desk, otto: TestClient) -> None:
    base = read_and_promote(desk, "m1")
    stands = read_and_promote(desk, "m2", base, alone=8)
    falls = read_and_promote(desk, "m3", base)
    assert 'id="repair"' not in page_of(otto, link_of(desk, base))
    done = desk.revoke(base[0])
    before = page_of(otto, link_of(desk, base))
    waiting = section(before, 'id="repair"')
    assert f'data-events="/runs/{done.repair_run_id}/events"' in waiting
    assert "It weighs again what leaned on the rule." in waiting
    assert '<noscript><meta http-equiv="refresh"' in before
    desk.repair(str(done.repair_run_id))
    page = page_of(otto, link_of(desk, base))
    report = section(page, 'id="repair"')
    assert "data-events" not in report
    assert "http-equiv" not in page
    assert link_of(desk, stands) in section(report, "Kept:", "</ul>")
    assert link_of(desk, falls) in section(report, "Left for a person", "</ul>")
    restored = section(page_of(otto, link_of(desk, stands)), 'id="history-title"')
    assert "a repair, by itself" in plain(section(restored, "Version 1 restored", "</li>"))


def test_a_withheld_version_can_be_put_back_with_words_of_what_that_means(desk: Desk, otto: TestClient) -> None:
    base = read_and_promote(desk, "m1")
    leaning = read_and_promote(desk, "m2", base)
    desk.revoke(base[0])
    page = page_of(otto, link_of(desk, leaning))
    assert f"You say that it stands without {base[0]} version 1." in plain(page)
    action = f"{link_of(desk, leaning)}/versions/1/restore"
    answer = otto.post(action, data=fields(page, action) | {"reason": "checked by hand"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{link_of(desk, leaning)}?said=restored")
    history = section(page_of(otto, link_of(desk, leaning)), 'id="history-title"')
    told = section(history, "Version 1 restored", "</li>")
    assert "otto" in plain(told)
    assert "checked by hand" in told


def test_a_reader_without_the_right_to_decide_gets_no_acts(browse: Browse, desk: Desk) -> None:
    rule = read_and_promote(desk, "m1")
    page = page_of(browse("ada", role="auditor"), link_of(desk, rule))
    assert "Preview a revocation" not in page
    assert "Propose a new version" not in page


def test_a_new_version_is_proposed_from_the_rules_page_until_one_waits(desk: Desk, otto: TestClient) -> None:
    rule = read_and_promote(desk, "archive_note")
    form = f"{link_of(desk, rule)}/versions/1/propose"
    assert f'href="{form}"' in page_of(otto, link_of(desk, rule))
    assert f'action="{form}"' in page_of(otto, form)
    with desk.database.read() as session:
        row = session.get_one(RuleVersion, (desk.namespace, *rule))
    done = propose_version(
        desk.database, desk.namespace, *rule, content_hash=row.content_hash, when_to_use=row.content["when_to_use"],
        guidance=["Look first."], scope=row.content["scope"], reviewer=desk.people["ana"], reason="shorter",
        now=desk.now, secret=desk.secret,
    )  # fmt: skip
    page = page_of(otto, link_of(desk, rule))
    assert f'href="{form}"' not in page
    waiting = section(page, 'id="proposals-title"')
    assert f"/candidates/{desk.namespace}/{done.candidate_id}" in waiting
    assert "would take the place of version 1" in waiting


def test_agents_figures_are_shown_as_they_are_served(desk: Desk, otto: TestClient) -> None:
    rule = desk.promoted(finding(desk, "archive_note"))
    with desk.database.write() as session:
        row = session.get_one(RuleVersion, (desk.namespace, *rule))
        row.evidence = {"independent_groups": 38, "support": 31, "counter": 6,
                        "lift": {"odds_ratio": 0.14, "low": 0.03, "high": 0.61}}  # fmt: skip
    told = plain(section(page_of(otto, link_of(desk, rule)), "What agents are told of its evidence", "</dl>"))
    assert "Independent groups 38" in told
    assert "Speaks against it 6" in told
    assert "0.14 (0.03 to 0.61)" in told
