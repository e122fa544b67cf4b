"""The audit log on a page: searched, exported, verified."""

from __future__ import annotations

import hashlib
import html
import json
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from review_ui.routes import audit as audit_routes
from storage import audit
from storage.engine import Database
from storage.ids import canonical_json
from storage.tables import AuditEntry
from support import factories
from support.html_check import faults_of
from support.review_pages import SPACE, Browse, Clock, fields

OTHER = "acme/sales"


def write(database: Database, at: datetime, action: str = "rule.revoked", **given: Any) -> None:
    values = {"actor": "operator:sam", "namespace": SPACE, "target": "rule:check-first"}
    with database.write() as session:
        audit.record(session, action=action, now=at, **{**values, **given})


def entries(page: str) -> list[int]:
    """Numbers of the entries that a page shows, in its order."""
    return [int(n) for n in re.findall(r"<summary>(\d+)</summary>", page)]


def exported(browser: TestClient, **params: str) -> list[dict[str, Any]]:
    answer = browser.get("/audit/export", params=params)
    assert answer.status_code == 200
    return [json.loads(line) for line in answer.text.splitlines()]


@pytest.fixture
def log(browse: Browse, database: Database, clock: Clock) -> TestClient:
    """Entry 1 is the login; then four acts, a day apart, by two people in two namespaces."""
    rosa = browse()
    factories.make_namespace(database, OTHER, clock())
    bo, _ = factories.make_person(database, "bo", clock())
    for days, given in enumerate(
        [
            {},
            {"actor": bo.actor, "action": "candidate.approve", "target": "candidate:Cand-77"},
            {"actor": bo.actor, "namespace": OTHER, "detail": {"why": "<b>&"}},
            {"target": "rule:100%_sure@2"},
        ],
        start=1,
    ):
        write(database, clock() + timedelta(days=days), **given)
    return rosa


def test_the_log_is_searched_by_each_of_its_parts(log: TestClient, clock: Clock) -> None:
    def found(**params: str) -> list[int]:
        page = log.get("/audit", params=params).text
        assert faults_of(page) == []
        return entries(page)

    day = f"{clock() + timedelta(days=2):%Y-%m-%d}"
    assert found() == [5, 4, 3, 2, 1]
    assert found(namespace=OTHER) == [4]
    assert found(actor="bo") == [4, 3]
    assert found(actor="sam") == found(actor="operator:sam") == [5, 2]
    assert found(actor="rosa", action="login") == [1]
    assert found(action="candidate.approve") == [3]
    assert found(target="rule:check-first") == [4, 2]
    assert found(target="rule:check") == []
    assert found(text="cand-7") == [3]
    assert found(text="100%_sure") == [5]
    assert found(text="1%s") == []
    assert found(since=day) == [5, 4, 3]
    assert found(until=day) == [3, 2, 1]
    assert found(since=day, until=day) == [3]
    assert found(actor="nobody") == []


def test_a_day_is_the_readers_day(log: TestClient, database: Database, clock: Clock) -> None:
    """Entry 6 is written half an hour before midnight UTC, which is the next day in Shanghai."""
    midnight = (clock() + timedelta(days=9)).replace(hour=0, minute=0, second=0, microsecond=0)
    write(database, midnight - timedelta(minutes=30))
    day = f"{midnight:%Y-%m-%d}"
    assert entries(log.get("/audit", params={"since": day}).text) == []
    log.cookies.set("slowwave_zone", "Asia%2FShanghai")
    assert entries(log.get("/audit", params={"since": day}).text) == [6]


def test_what_is_no_day_is_said_and_left_aside(log: TestClient) -> None:
    page = log.get("/audit?since=2026-13-40").text
    assert "2026-13-40 is no day" in page
    assert entries(page) == [5, 4, 3, 2, 1]


def test_a_row_unfolds_to_all_that_it_says(log: TestClient) -> None:
    page = log.get(f"/audit?namespace={OTHER}").text
    assert "&lt;b&gt;&amp;" in page
    assert "hash of the entry before" in page


def test_a_long_log_is_walked_both_ways_without_gap_or_repeat(
    log: TestClient, database: Database, clock: Clock
) -> None:
    at = clock() + timedelta(days=20)
    with database.write() as session:
        for n in range(110):  # several of one moment: the number decides
            audit.record(session, actor="a", action="b", namespace=SPACE, now=at + timedelta(seconds=n // 60))
    seen, path, pages = [], "/audit", []
    while path:
        pages.append(path)
        page = log.get(path).text
        seen += entries(page)
        path = link(page, "next")
    assert seen == list(range(115, 0, -1))
    back = link(log.get(pages[-1]).text, "prev")
    assert entries(log.get(back).text) == entries(log.get(pages[1]).text)


def test_a_clock_that_went_back_hides_nothing(log: TestClient, database: Database, clock: Clock) -> None:
    write(database, clock() - timedelta(hours=25))
    assert entries(log.get("/audit").text) == [5, 4, 3, 2, 1, 6]


def test_whoever_sees_some_namespaces_sees_their_entries_alone(log: TestClient, browse: Browse) -> None:
    eva = browse("eva", role="auditor", namespaces=(SPACE,))
    assert entries(eva.get("/audit").text) == [5, 3, 2]
    assert entries(eva.get(f"/audit?namespace={OTHER}").text) == []
    assert entries(eva.get("/audit?actor=bo").text) == [3]
    assert [line["seq"] for line in exported(eva)] == [5, 3, 2]
    assert exported(eva, namespace=OTHER) == []
    assert OTHER not in eva.get("/audit").text


def test_the_export_is_what_the_page_shows_and_enough_to_check_its_hashes(log: TestClient) -> None:
    lines = exported(log)
    assert [line["seq"] for line in lines] == [5, 4, 3, 2, 1]
    assert [line["seq"] for line in exported(log, actor="bo", text="77")] == [3]
    for line in lines:
        said = [line[key] for key in ("previous_hash", "seq", "at", "actor", "action", "namespace", "target", "detail")]
        assert hashlib.sha256(canonical_json(said)).hexdigest() == line["hash"]
    assert lines[1]["actor_name"] == "bo"
    answer = log.get("/audit/export")
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert answer.headers["content-disposition"].startswith("attachment;")


def test_an_export_past_its_most_says_that_it_was_cut_off(log: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for batch in (1, 2, 3, 1000):
        monkeypatch.setattr(audit_routes, "BATCH", batch)
        monkeypatch.setattr(audit_routes, "MOST_EXPORTED", 3)
        *lines, last = exported(log)
        assert [line["seq"] for line in lines] == [5, 4, 3], batch
        assert last["cut_off_after"] == 3
        for most in (5, 6):
            monkeypatch.setattr(audit_routes, "MOST_EXPORTED", most)
            assert [line["seq"] for line in exported(log)] == [5, 4, 3, 2, 1], batch


def test_the_whole_chain_is_verified_and_its_head_is_named(log: TestClient, database: Database) -> None:
    form = fields(log.get("/audit").text, "/audit/verify")
    page = log.post("/audit/verify", data=form).text
    with database.read() as session:
        head = session.execute(sa.select(sa.literal_column("hash")).select_from(sa.text("audit_head"))).scalar_one()
    assert "The chain is whole." in page
    assert "5 entries checked in" in page
    assert head in page
    with database.write() as session:
        session.execute(sa.update(AuditEntry).where(sa.column("seq") == 3).values(actor="operator:eve"))
    page = log.post("/audit/verify", data=form).text
    assert "The chain is broken at entry 3." in page
    assert "It was changed after it was written." in page
    assert "2 entries before it are sound." in page
    assert log.post("/audit/verify", data={"csrf": "x"}).status_code == 403


def link(page: str, rel: str) -> str:
    found = re.search(rf'<a rel="{rel}" href="([^"]+)"', page)
    return html.unescape(found[1]) if found else ""
