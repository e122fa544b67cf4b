"""Events: what changed for readers, and how far each of them is."""

from __future__ import annotations

import html
import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from storage import outbox
from storage.acks import acknowledge
from storage.engine import Database
from storage.relay import mark_refused
from storage.tables import CacheGrant, OutboxEvent
from support import factories, rows
from support.html_check import faults_of
from support.review_pages import SPACE, Browse, Clock

OTHER = "acme/sales"


def publish(database: Database, at: datetime, *changes: dict[str, Any], namespace: str = SPACE) -> int:
    factories.make_namespace(database, namespace, at)
    given = list(changes) or [outbox.change("promoted", "check-first", 1, "read the evidence")]
    with database.write() as session:
        return outbox.publish(session, namespace, given, at)


def say(database: Database, consumer: str, epoch: int, at: datetime, namespace: str = SPACE) -> None:
    with database.write() as session:
        acknowledge(session, consumer, namespace, epoch, "token", at)


def grant(database: Database, consumer: str, since: datetime, until: datetime) -> None:
    with database.write() as session:
        session.add(
            CacheGrant(namespace=SPACE, id=consumer, client_instance=consumer, token_id="t", rule_id="rule-1",
                       version=1, epoch=1, since=since, until=until)
        )  # fmt: skip


@pytest.fixture
def spread(database: Database, clock: Clock) -> Database:
    """Two events: three readers have the second one, one that may still serve has not, one is gone."""
    start = clock()
    factories.make_namespace(database, SPACE, start)
    with database.write() as session:
        rows.add(session, rows.candidate(), rows.revision(), rows.rule(), rows.version())
    for name in ("fast", "slow", "deaf", "gone", "back"):
        say(database, name, 0, start)
    publish(database, start)
    for name in ("fast", "slow", "deaf", "back"):
        say(database, name, 1, start + timedelta(seconds=1))
    grant(database, "deaf", start, start + timedelta(minutes=10))
    grant(database, "gone", start - timedelta(hours=2), start - timedelta(hours=1))
    clock.forward(minutes=5)
    publish(database, clock(), outbox.change("revoked", "check-first", 1, "it loses orders"))
    say(database, "fast", 2, clock() + timedelta(seconds=0.3))
    say(database, "slow", 2, clock() + timedelta(seconds=4))
    say(database, "back", 2, clock() + timedelta(seconds=90))
    with database.write() as session:
        session.get_one(OutboxEvent, (SPACE, 2)).relayed_at = clock() + timedelta(seconds=0.2)
    return database


def test_the_list_tells_what_changed_and_how_far_it_got(browse: Browse, spread: Database) -> None:
    page = browse().get("/events").text
    assert faults_of(page) == []
    assert page.index("Event 2") < page.index("Event 1")
    assert f'href="/rules/{SPACE}/check-first"' in page
    assert "it loses orders" in page
    assert "3 of 4 readers have it" in page
    assert "half within 0.3 s, 95 % within 4.0 s, all within 4.0 s; 1 after its lease" in page
    assert "relayed after 0.2 s" in page
    assert 'role="img"' in page


def test_an_events_page_tells_of_each_reader(browse: Browse, spread: Database, clock: Clock) -> None:
    rosa = browse()
    page = rosa.get(f"/events/{SPACE}/2").text
    assert faults_of(page) == []
    for words in ("acknowledged after 0.3 s", "acknowledged after 4.0 s", "its lease had ended", "was not connected"):
        assert words in page
    assert "It stops serving what changed at" in page
    clock.forward(minutes=1)
    assert "It stopped serving what changed at" in rosa.get(f"/events/{SPACE}/2").text


def test_an_event_that_nobody_was_connected_for_says_so(browse: Browse, database: Database, clock: Clock) -> None:
    publish(database, clock())
    page = browse().get("/events").text
    assert "no reader was connected" in page
    assert 'role="img"' not in page
    clock.forward(days=31)
    assert "who had it is no longer kept" in browse("otto").get("/events").text


def test_an_event_that_the_relay_cannot_pass_on_says_why(browse: Browse, database: Database, clock: Clock) -> None:
    publish(database, clock())
    with database.write() as session:
        mark_refused(session, SPACE, 1, "the stream is full", 5)
    page = browse().get("/events").text
    assert "not relayed yet: 1 attempt failed" in page
    assert "the stream is full" in page


def test_a_long_list_is_walked_both_ways(browse: Browse, database: Database, clock: Clock) -> None:
    for n in range(120):
        publish(database, clock() + timedelta(seconds=n // 7), namespace=SPACE if n % 2 else OTHER)
    rosa = browse()
    seen: list[list[str]] = []
    path = "/events"
    while path:
        page = rosa.get(path).text
        seen.append(events_of(page))
        path = link_of(page, "next")
    assert [len(each) for each in seen] == [50, 50, 20]
    assert len({one for each in seen for one in each}) == 120
    back = link_of(page, "prev")
    assert events_of(rosa.get(back).text) == seen[1]
    first = rosa.get(link_of(rosa.get(back).text, "prev")).text
    assert events_of(first) == seen[0]
    assert link_of(first, "prev") == ""


def test_a_reviewer_sees_events_of_their_namespaces_alone(browse: Browse, database: Database, clock: Clock) -> None:
    publish(database, clock())
    publish(database, clock(), namespace=OTHER)
    rosa = browse(namespaces=(SPACE,))
    page = rosa.get("/events").text
    assert SPACE in page
    assert OTHER not in page
    assert events_of(rosa.get(f"/events?namespace={OTHER}").text) == []
    assert rosa.get(f"/events/{OTHER}/1").status_code == 404
    assert rosa.get(f"/events/{SPACE}/99").status_code == 404
    assert events_of(rosa.get(f"/events?older={OTHER}@1").text) == events_of(page)


def test_an_address_that_names_no_event_begins_at_the_newest(browse: Browse, database: Database, clock: Clock) -> None:
    publish(database, clock())
    rosa = browse()
    for edge in ("x", "@", f"{SPACE}@x", f"{SPACE}@{10**30}", f"{SPACE}@{10**18 - 1}", "a@b@3", "%@1"):
        for way in ("older", "newer"):
            answer = rosa.get("/events", params={way: edge})
            assert answer.status_code == 200, edge
            assert events_of(answer.text) == [f"/events/{SPACE}/1"], edge


def events_of(page: str) -> list[str]:

    return re.findall(r'<p class="row-title"><a href="(/events/[^"]+)"', page)


def link_of(page: str, rel: str) -> str:

    found = re.search(rf'<a rel="{rel}" href="([^"]+)"', page)
    return html.unescape(found[1]) if found else ""
