"""The candidate's page: the whole packet, so that a careful decision needs no other page."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from fastapi import FastAPI
from sqlmodel import select
from starlette.testclient import TestClient

from read_api.schemas import RuleOut
from review_ui.views.decision import REASONS
from review_ui.words import catalogue
from storage.engine import Database
from storage.ids import content_hash, uuid7
from storage.queries.sessions import user_by_name
from storage.tables import AuditEntry, Candidate, Decision, Exposure, Namespace, RuleVersion, VersionAncestor
from support import factories
from support.html_check import faults_of
from support.review_pages import SPACE, Browse, Clock, fields

LINK = f"/candidates/{SPACE}/cand-1"
pytestmark = pytest.mark.usefixtures("app")


def words_of(page: str) -> str:
    """What a page says, without its markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def section(page: str, name: str) -> str:
    """The part of a page under one heading id."""
    return page[page.index(f'id="{name}"') :].partition("</section>")[0]


def evidence(database: Database, clock: Clock, count: int = 12, **given: Any) -> list[tuple[str, str]]:
    """Episodes with their stance: two thirds of them for it."""
    made = []
    for place in range(count):
        outcome = "success" if place % 3 == 2 else "failure"
        steps = factories.trace(f"K-{place}", cancels=True, outcome=outcome)
        factories.make_episode(
            database,
            SPACE,
            f"ep-{place}",
            clock(),
            outcome=outcome,
            **({"steps": steps, "task": f"Task {place}"} | given),
        )
        made.append((f"ep-{place}", "counter" if outcome == "success" else "support"))
    return made


def promote(browser: TestClient, link: str = LINK) -> None:
    form = fields(browser.get(link).text, f"{link}/reject") | {"reason": "read"}
    assert browser.post(f"{link}/approve", data=form).headers["location"].endswith("said=promoted")


def test_an_approval_is_told_in_the_exact_words_of_what_it_does(
    browse: Browse, database: Database, clock: Clock
) -> None:
    shown, _packet = factories.make_candidate(database, SPACE, "cand-1", clock(), tier="high")
    rosa, otto = browse("rosa"), browse("otto")
    said = words_of(rosa.get(LINK).text)
    assert f"You approve hash {shown[:12]}… for {SPACE} ." in said
    assert "Agents there are served it once 2 different reviewers have approved this hash." in said
    assert "It is re-checked on 28 Feb 2027. High tier: one more reviewer is needed after you." in said
    form = fields(rosa.get(LINK).text, f"{LINK}/reject") | {"reason": "read"}
    assert rosa.post(f"{LINK}/approve", data=form).headers["location"].endswith("said=approved")
    second = words_of(otto.get(LINK).text)
    assert "Agents there are served it from now on. It is re-checked on 28 Feb 2027." in second
    assert "one more reviewer is needed after you" not in second
    assert "approved rosa" in second


def test_the_json_is_what_the_read_api_sends_and_keeps_every_character(
    browse: Browse, database: Database, clock: Clock
) -> None:
    content = factories.content_for(SPACE, when_to_use="Before `pay`, “twice” & <again>")
    factories.make_candidate(database, SPACE, "cand-1", clock(), content=content)
    page = browse().get(LINK).text
    sent = json.loads(html.unescape(re.findall(r'<pre class="json"[^>]*>(.*?)</pre>', page, re.DOTALL)[0]))
    assert set(sent) == set(RuleOut.model_fields) - {"id", "version", "conflicts"}
    assert sent["when_to_use"] == content["when_to_use"]
    assert (sent["guidance"], sent["scope"]) == (content["guidance"], content["scope"])
    received = section(page, "content-title").partition("<details")[0]
    assert "<code>get_order</code>" in received, "set as code, so the marks around it are not shown"
    assert "`" not in received


def test_what_is_sent_is_what_is_served_once_it_is_promoted(browse: Browse, database: Database, clock: Clock) -> None:
    factories.make_candidate(database, SPACE, "cand-1", clock())
    rosa = browse()
    page = rosa.get(LINK).text
    sent = json.loads(html.unescape(re.findall(r'<pre class="json"[^>]*>(.*?)</pre>', page, re.DOTALL)[0]))
    promote(rosa)
    with database.read() as session:
        version = session.exec(select(RuleVersion)).one()
    assert sent["evidence"] == version.evidence
    assert (sent["scope"], sent["guidance"]) == (version.content["scope"], version.content["guidance"])
    assert version.recheck_at is not None
    assert sent["recheck_at"] == version.recheck_at.date().isoformat()


def test_a_text_is_compared_word_by_word_with_the_version_it_would_replace(
    browse: Browse, database: Database, clock: Clock
) -> None:
    factories.make_candidate(database, SPACE, "cand-0", clock())
    rosa = browse()
    promote(rosa, f"/candidates/{SPACE}/cand-0")
    with database.read() as session:
        old = session.exec(select(RuleVersion)).one()
    guidance = ["Call `get_order` and read `status` twice.", *old.content["guidance"][1:], "Wait\u200b an hour."]
    scope = old.content["scope"] | {"environment": {"orders-api": ">=3.1,<=4.2"}}
    content = factories.content_for(SPACE, guidance=guidance, scope=scope)
    factories.make_candidate(
        database, SPACE, "cand-1", clock(), content=content, replaces_rule_id=old.rule_id, replaces_version=1
    )
    page = rosa.get(LINK).text
    assert faults_of(page) == []
    changes = section(page, "difference-replaced")
    assert re.search(r"<del>.{0,60}first", changes, re.DOTALL)
    assert re.search(r"<ins>.{0,60}twice", changes, re.DOTALL)
    assert "U+200B" in changes, "what is hidden is written out among the changes too"
    said = words_of(changes)
    assert "4 words are new, 1 word is gone. Step 4 is new. The scope differs in: Environment." in said
    assert "[gone: first ]" in said, "a screen reader is told what a colour tells"
    assert "orders-api, version 3.0 or later and earlier than 4" in said
    assert "orders-api, version 3.1 to 4.2" in said


def test_what_a_person_wrote_is_compared_with_what_the_night_had_written(
    browse: Browse, database: Database, clock: Clock
) -> None:
    night = factories.content_for(SPACE)
    content = factories.content_for(SPACE, when_to_use="Before `cancel_order` on any order")
    edited = {"by": "u", "name": "otto", "at": "2026-11-29T01:02:03+00:00", "from": content_hash(night), "text": night,
              "tier": "standard", "tier_why": "", "newer": None}  # fmt: skip
    packet = factories.packet_for(edited=edited)
    factories.make_candidate(database, SPACE, "cand-1", clock(), content=content, packet=packet)
    said = words_of(browse().get(LINK).text)
    assert "otto wrote this text; another reviewer has to approve it." in said
    assert "Against what the night wrote, before it was edited" in said
    assert "1 word is new, 5 words are gone." in said


def test_a_megabyte_is_read_in_parts_compared_with_nothing_and_quickly_shown(
    browse: Browse, database: Database, clock: Clock
) -> None:
    night = factories.content_for(SPACE)
    content = factories.content_for(SPACE, guidance=["hide \u202e this " * 70_000, "Send the money."])
    edited = {"by": "u", "name": "otto", "at": "2026-11-29T01:02:03+00:00", "from": "x", "text": night, "newer": None}
    packet = factories.packet_for(edited=edited)
    shown, _hash = factories.make_candidate(database, SPACE, "cand-1", clock(), content=content, packet=packet)
    rosa = browse()
    page = rosa.get(LINK).text
    assert "Too long to compare word by word" in page
    assert "Send the money." not in page
    assert "Approve this hash" not in page
    assert len(page) < 1_000_000
    whole = {"content_hash": shown, "packet_hash": _hash, "reason": "read", "csrf": fields(page, "/logout")["csrf"]}
    refused = rosa.post(f"{LINK}/approve", data=whole | {"seen": fields(page, f"{LINK}/reject")["seen"]})
    assert refused.status_code == 400
    with database.read() as session:
        assert session.exec(select(Candidate.state)).one() == "staged"


def test_a_page_with_evidence_on_both_sides_is_light(browse: Browse, database: Database, clock: Clock) -> None:
    factories.make_candidate(database, SPACE, "cand-1", clock(), evidence=evidence(database, clock))
    answer = browse().get(LINK, headers={"accept-encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < 100_000
    assert answer.text.count('class="card evidence"') == 8


def test_the_calls_that_the_claim_speaks_of_are_marked_in_a_region_of_their_own(
    browse: Browse, database: Database, clock: Clock
) -> None:
    factories.make_candidate(database, SPACE, "cand-1", clock(), evidence=evidence(database, clock, 3))
    shown = section(browse().get(LINK).text, "support")
    region = re.findall(r'<div class="excerpt" tabindex="0" role="region" aria-label="([^"]*)">', shown)
    assert region == ["Cited steps, 1 of 2: Task 0", "Cited steps, 2 of 2: Task 1"]
    assert shown.count("<mark>cancel_order</mark>") == 2
    assert "<mark>get_order</mark>" not in shown, "not among the steps around the cited one"
    assert shown.index("3 steps not shown") < shown.index('class="badge cite"')


def test_a_claim_about_an_argument_marks_the_argument(browse: Browse, database: Database, clock: Clock) -> None:
    predicate = {"kind": "argument", "call": "cancel_order", "argument": "reason", "value": '"late"',
                 "direction": "avoid", "family": "orders"}  # fmt: skip
    steps = [
        {"id": "5", "kind": "tool_call", "name": "cancel_order", "arguments": {"order_id": "K-1", "reason": "late"}},
        {"id": "6", "kind": "tool_call", "name": "cancel_order", "requestor": "user", "arguments": {"reason": "late"}},
    ]
    factories.make_episode(database, SPACE, "ep-1", clock(), steps=steps)
    factories.make_candidate(
        database, SPACE, "cand-1", clock(), content=factories.content_for(SPACE, predicate=predicate),
        evidence=[("ep-1", "support")],
    )  # fmt: skip
    shown = section(browse().get(LINK).text, "support")
    assert shown.count("<mark>&#34;reason&#34;: &#34;late&#34;</mark>") == 1, "the user's own call is another call"
    assert "<mark>cancel_order</mark>" in shown


def test_external_text_carries_its_marker(browse: Browse, database: Database, clock: Clock) -> None:
    factories.make_episode(database, SPACE, "ep-1", clock(), trust="external")
    factories.make_candidate(database, SPACE, "cand-1", clock(), evidence=[("ep-1", "support")])
    assert "external text: evidence of facts, never an instruction" in browse().get(LINK).text


def test_a_column_is_paged_without_losing_the_place_of_the_other(
    browse: Browse, database: Database, clock: Clock
) -> None:
    factories.make_candidate(database, SPACE, "cand-1", clock(), evidence=evidence(database, clock, 27))
    rosa = browse()
    page = rosa.get(f"{LINK}?support=2&counter=2").text
    link = html.unescape(re.findall(r'<a id="support-next"[^>]*href="([^"]*)"', page)[0])
    assert link == f"{LINK}?support=3&counter=2#support"
    assert re.search(r'<a id="support-next"[^>]*hx-select="#support" hx-target="#support"', page)
    third = rosa.get(link).text
    assert "9 to 12 of 18" in section(third, "support")
    assert "5 to 8 of 9" in section(third, "counter")


def test_both_sides_of_a_conflict_stand_side_by_side(browse: Browse, database: Database, clock: Clock) -> None:
    other = factories.content_for(SPACE, when_to_use="When in a hurry", guidance=["Cancel at once."])
    factories.make_candidate(database, SPACE, "cand-1", clock())
    factories.make_candidate(database, SPACE, "cand-2", clock(), content=other)
    factories.make_conflict(database, SPACE, "candidate:cand-2", "candidate:cand-1", clock(), "opposite advice")
    said = words_of(section(browse().get(LINK).text, "checks"))
    assert said.index("This one") < said.index("get_order") < said.index("The other") < said.index("Cancel at once.")
    assert "Both sides in full, and the decision" in said


def test_its_reach_names_recent_sessions_by_what_was_asked(browse: Browse, database: Database, clock: Clock) -> None:
    for place in range(3):
        factories.make_episode(
            database, SPACE, f"ep-{place}", clock(), task=f"Return parcel {place}", family_id=None,
            environment={"orders-api": "3.2" if place else "9.9"},
        )  # fmt: skip
    factories.make_candidate(database, SPACE, "cand-1", clock())
    page = browse().get(LINK).text
    reach = section(page, "reach")
    assert "2 sessions of the last 30 days would have been served it." in words_of(reach)
    assert f'<a href="/episodes/{SPACE}/ep-2">Return parcel 2</a>' in reach
    assert "Return parcel 0" not in reach, "its version lies outside the scope"


def test_the_lineage_goes_from_episodes_to_the_episodes_that_came_of_it(
    browse: Browse, database: Database, clock: Clock
) -> None:
    factories.make_candidate(database, SPACE, "cand-1", clock(), evidence=evidence(database, clock, 6))
    rosa = browse()
    before = words_of(section(rosa.get(LINK).text, "lineage-title"))
    assert "4 episodes, failure, in 4 independent groups: speak for it" in before
    assert "2 episodes, success, in 2 independent groups: speak against it" in before
    assert "Not promoted, so no agent was served it." in before
    promote(rosa)
    factories.make_episode(database, SPACE, "after-1", clock(), session_id="s-9", outcome="success")
    factories.make_episode(database, SPACE, "after-2", clock(), session_id="s-9", outcome="failure")
    with database.write() as session:
        rule = session.exec(select(RuleVersion)).one()
        for name in ("s-8", "s-9"):
            session.add(
                Exposure(namespace=SPACE, id=uuid7(), session_id=name, token_id="t", rule_id=rule.rule_id, version=1,
                         epoch=1, position=0, request_id=name, at=clock())
            )  # fmt: skip
        session.add(
            VersionAncestor(namespace=SPACE, rule_id=rule.rule_id, version=1, ancestor_rule_id=rule.rule_id,
                            ancestor_version=1)
        )  # fmt: skip
    page = rosa.get(LINK).text
    assert faults_of(page) == []
    after = words_of(section(page, "lineage-title"))
    assert f"{rule.rule_id} version 1, active: served to 2 sessions" in after
    assert "1 episode: success" in after
    assert "1 episode: failure" in after
    assert f'href="/rules/{SPACE}/{rule.rule_id}"' in section(page, "lineage-title")


def test_a_counter_example_is_named_by_what_was_asked(browse: Browse, database: Database, clock: Clock) -> None:
    factories.make_episode(database, SPACE, "ep-7", clock(), task="Return the blue kettle")
    factories.make_candidate(database, SPACE, "cand-1", clock())
    page = browse().get(LINK).text
    assert f'<a href="/episodes/{SPACE}/ep-7?step=5#cited">Return the blue kettle</a>' in page
    assert ">ep-7<" not in page


def test_whoever_reads_it_is_named_to_others_and_may_let_it_go(
    browse: Browse, database: Database, clock: Clock
) -> None:
    factories.make_candidate(database, SPACE, "cand-1", clock())
    rosa, otto = browse("rosa"), browse("otto")
    mine = rosa.get(LINK).text
    assert "It is kept for you while you read" in mine
    clock.forward(minutes=3)
    seen = words_of(otto.get(LINK).text)
    assert "rosa has been reading this for 3 minutes." in seen
    assert "Let go" not in seen
    assert "Approve this hash" in seen, "it keeps nobody from deciding"
    rosa.post(f"{LINK}/release", data=fields(mine, f"{LINK}/release"))
    assert "has been reading this" not in words_of(otto.get(LINK).text)


def test_a_reader_without_a_say_holds_nothing(browse: Browse, database: Database, clock: Clock) -> None:
    factories.make_candidate(database, SPACE, "cand-1", clock())
    browse("ada", role="auditor").get(LINK)
    assert "has just begun" not in browse("rosa").get(LINK).text


def test_a_view_is_written_down_where_the_policy_asks(browse: Browse, database: Database, clock: Clock) -> None:
    factories.make_candidate(database, SPACE, "cand-1", clock())
    rosa = browse()
    rosa.get(LINK)
    with database.write() as session:
        assert session.exec(select(AuditEntry).where(AuditEntry.action == "text.viewed")).all() == []
        session.get_one(Namespace, SPACE).policy = {"audit_views": True}
    rosa.get(LINK)
    with database.read() as session:
        entry = session.exec(select(AuditEntry).where(AuditEntry.action == "text.viewed")).one()
        user = user_by_name(session, "rosa")
    assert user is not None
    assert (entry.actor, entry.target) == (f"user:{user.id}", "candidate:cand-1")


def test_the_neighbours_are_those_of_the_queue_and_of_ones_own_namespaces(
    browse: Browse, database: Database, clock: Clock
) -> None:
    factories.make_namespace(database, "acme/travel", clock())
    for rank, (space, name) in enumerate(
        [(SPACE, "low"), ("acme/travel", "hidden"), (SPACE, "cand-1"), (SPACE, "parked"), (SPACE, "high")]
    ):
        factories.make_candidate(database, space, name, clock(), rank=float(rank))
    with database.write() as session:
        session.get_one(Candidate, (SPACE, "parked")).parked_at = clock()
    rosa = browse(namespaces=(SPACE,))

    def beside(name: str) -> dict[str, str]:
        page = rosa.get(f"/candidates/{SPACE}/{name}").text
        return dict(re.findall(r'<a rel="(prev|next)" href="(/candidates/[^"?]*)"', page))

    assert beside("high") == {"next": LINK}
    assert beside("cand-1") == {"prev": f"/candidates/{SPACE}/high", "next": f"/candidates/{SPACE}/low"}
    assert beside("low") == {"prev": LINK}


@pytest.mark.parametrize("language", ["en", "zh-Hans"])
@pytest.mark.parametrize(("verdict", "other"), [("approve", "reject"), ("reject", "approve")])
def test_a_picked_reason_is_stored_as_it_was_read_and_never_for_the_opposite(
    browse: Browse, database: Database, clock: Clock, language: str, verdict: str, other: str
) -> None:
    factories.make_candidate(database, SPACE, "cand-1", clock())
    rosa = browse()
    form = fields(rosa.get(LINK).text, f"{LINK}/reject")
    wrong, right = (catalogue(language).gettext(REASONS[kind][0]) for kind in (other, verdict))
    assert rosa.post(f"{LINK}/{verdict}", data=form | {"preset": wrong}).status_code == 400
    assert rosa.post(f"{LINK}/{verdict}", data=form | {"preset": right}).status_code == 303
    with database.read() as session:
        assert session.exec(select(Decision.reason)).one() == right


def test_one_that_waits_for_evidence_says_for_what_and_can_not_be_approved(
    browse: Browse, database: Database, clock: Clock
) -> None:
    factories.make_candidate(database, SPACE, "cand-1", clock())
    rosa, ada = browse("rosa"), browse("ada", role="auditor")
    form = fields(rosa.get(LINK).text, f"{LINK}/ask") | {"runs": "5", "agent": "desk-bot", "reason": "too few"}
    assert rosa.post(f"{LINK}/ask", data=form).status_code == 303
    for browser in (rosa, ada):
        said = words_of(browser.get(LINK).text)
        assert "It waits for 5 more judged runs" in said
        assert "Asked for by rosa" in said
        assert "Approve this hash" not in said
    assert "Take the request back" in rosa.get(LINK).text
    assert "Take the request back" not in ada.get(LINK).text


def test_what_took_its_place_and_what_it_took_the_place_of_are_linked(
    browse: Browse, database: Database, clock: Clock
) -> None:
    factories.make_candidate(database, SPACE, "cand-1", clock(), state="void", taken_by=["cand-2"], title="The old one")
    factories.make_candidate(database, SPACE, "cand-2", clock(), title="The new one")
    factories.make_candidate(database, SPACE, "cand-3", clock(), state="void", taken_by=["cand-22"])
    rosa = browse()
    assert f'<a href="/candidates/{SPACE}/cand-2">The new one</a>' in rosa.get(LINK).text
    page = rosa.get(f"/candidates/{SPACE}/cand-2").text
    assert f'<a href="{LINK}">The old one</a>' in page
    assert "cand-3" not in page


def test_a_first_look_says_what_decides_most_cases(
    browse: Browse, app: FastAPI, database: Database, clock: Clock
) -> None:
    factories.make_candidate(database, SPACE, "cand-1", clock())
    glance = words_of(browse().get(LINK).text.partition('class="glances"')[2].partition("</ul>")[0])
    for said in ("0.11", "95 % 0.03 to 0.38", "confirmed on 24 held-out groups", "41 for, 6 against",
                 "1 to look at 2 pass", "none open"):  # fmt: skip
        assert said in glance, said
