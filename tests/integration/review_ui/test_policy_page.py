"""The policy page, the dry run on it, and the key that has views written down."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import select
from starlette.testclient import TestClient

from review_ui.access import Viewer
from review_ui.site import Site
from review_ui.viewed import AGAIN_AFTER, record_view
from review_ui.views.policy import MEANINGS, WITHOUT
from storage import audit
from storage.engine import Database
from storage.tables import AuditEntry, AuditHead, Candidate, Namespace
from support import factories
from support.html_check import faults_of
from support.review_pages import ORIGIN, SPACE, Browse, Clock, fields
from tasks.ingest.policy import KNOWN
from tasks.verify.dry_run import DEFAULTS

PATH = "/people/policy"
FAILED = [{"name": "over-general", "verdict": "fail", "detail": "served elsewhere", "fix": "narrow it"}]


def set_policy(database: Database, policy: dict[str, Any], namespace: str = SPACE) -> None:
    with database.write() as session:
        session.get_one(Namespace, namespace).policy = policy


def tried(browser: TestClient, policy: str, namespace: str = SPACE) -> tuple[int, str]:
    form = fields(browser.get(f"{PATH}?namespace={SPACE}").text, "/logout")
    answer = browser.post(PATH, data={**form, "namespace": namespace, "policy": policy})
    assert faults_of(answer.text) == []
    return answer.status_code, answer.text


def typed(page: str) -> str:
    found = re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)
    assert found
    return html.unescape(found[1])


def test_every_key_is_explained_with_what_holds_where_it_is_not_set(browse: Browse, database: Database) -> None:
    set_policy(database, {"owner": "the refund team"})
    page = browse("otto", role="auditor").get(f"{PATH}?namespace={SPACE}").text
    assert faults_of(page) == []
    for key in KNOWN:
        assert f"<code>{key}</code>" in page
    assert page.count(">not set<") == len(KNOWN) - 1
    assert "the refund team" in page
    assert set(MEANINGS) == set(KNOWN)
    assert set(KNOWN) == set(WITHOUT) | set(DEFAULTS)


def test_patterns_that_may_quote_a_secret_are_for_admins(browse: Browse, database: Database) -> None:
    set_policy(database, {"owner": "o", "redact_patterns": ["hunter2"]})
    rosa, ada = browse(), browse("ada", role="admin")
    page = rosa.get(PATH).text
    assert "hunter2" not in page
    assert "1 pattern, which admins see" in page
    status, page = tried(rosa, typed(page))
    assert "It says what the policy says already." in page
    status, page = tried(rosa, '{"owner": "o", "redact_patterns": ["x1"]}')
    assert status == 200
    assert "hunter2" not in page
    assert "hunter2" in ada.get(PATH).text


def test_a_dry_run_lists_what_would_stand_otherwise_and_changes_nothing(
    browse: Browse, database: Database, clock: Clock
) -> None:
    for name, packet in (("blocked", factories.packet_for(checks=FAILED)), ("fine", factories.packet_for())):
        content = factories.content_for(SPACE, when_to_use=f"when it is {name}")
        factories.make_candidate(database, SPACE, name, clock(), content=content, packet=packet)
    factories.make_candidate(
        database, SPACE, "gone", clock(), packet=factories.packet_for(checks=FAILED), state="rejected"
    )
    rosa = browse()
    with database.read() as session:
        before = [row.model_dump() for row in session.exec(select(Candidate).order_by(Candidate.id))]
        entries = len(session.exec(select(AuditEntry)).all())
    status, page = tried(rosa, 'blocking_checks = ["secrets"]\nretire_limit = 0.5\n')
    assert status == 200
    assert "2 waiting candidates were looked at. 1 could be approved that cannot be now." in page
    assert f'href="/candidates/{SPACE}/blocked"' in page
    assert f'href="/candidates/{SPACE}/fine"' not in page
    assert "served elsewhere" in page
    assert "Counts from the next night on." in page
    assert typed(page).strip().startswith("blocking_checks")
    with database.read() as session:
        assert [row.model_dump() for row in session.exec(select(Candidate).order_by(Candidate.id))] == before
        assert session.get_one(Namespace, SPACE).policy == {}
        assert len(session.exec(select(AuditEntry)).all()) == entries


def test_what_is_no_policy_is_explained_and_kept_in_the_box(browse: Browse) -> None:
    rosa = browse()
    for text, words in (
        ("{", "neither JSON nor TOML"),
        ('{"blocking": []}', "blocking_checks"),
        ('{"retire_limit": 3}', "a number from 0 to 1"),
        ("[1]", "a policy is an object"),
        ("</textarea><script>", "neither JSON nor TOML"),
        ("[" * 20_000, "nested too deeply"),
    ):
        status, page = tried(rosa, text)
        assert status == 422, text[:40]
        assert words in html.unescape(page), text[:40]
        assert typed(page).strip() == text
        assert "What this policy would do" not in page


def test_only_the_viewers_namespaces_have_a_policy_to_see(browse: Browse, database: Database, clock: Clock) -> None:
    factories.make_namespace(database, "beta", clock())
    rosa = browse(namespaces=("acme",))
    assert "beta" not in rosa.get(PATH).text
    assert rosa.get(f"{PATH}?namespace=beta").status_code == 404
    assert tried(rosa, "{}", namespace="beta")[0] == 404
    assert rosa.post(PATH, data={"namespace": SPACE, "policy": "{}", "csrf": "x"}).status_code == 403


@pytest.fixture
def site(app: Any) -> Site:
    return app.state.site


def person(database: Database, name: str, clock: Clock) -> Viewer:
    made, _ = factories.make_person(database, name, clock())
    return Viewer(made.user_id, name, "reviewer", (), f"session-of-{name}", "csrf")


def views(database: Database) -> list[tuple[str, str]]:
    with database.read() as session:
        found = session.exec(select(AuditEntry).where(AuditEntry.action == "text.viewed"))
        return [(entry.actor, entry.target) for entry in found]


def test_views_are_written_down_only_where_the_policy_asks(site: Site, database: Database, clock: Clock) -> None:
    rosa, otto = (person(database, name, clock) for name in ("rosa", "otto"))
    record_view(site, rosa, SPACE, "episode:ep-1")
    assert views(database) == []
    set_policy(database, {"audit_views": True})
    for who, target in ((rosa, "episode:ep-1"), (rosa, "episode:ep-1"), (otto, "episode:ep-1"), (rosa, "episode:ep-2")):
        record_view(site, who, SPACE, target)
    assert sorted(views(database)) == sorted(
        [(f"user:{rosa.user_id}", "episode:ep-1"), (f"user:{rosa.user_id}", "episode:ep-2"),
         (f"user:{otto.user_id}", "episode:ep-1")]
    )  # fmt: skip
    clock.forward(seconds=AGAIN_AFTER.total_seconds() + 1)
    record_view(site, rosa, SPACE, "episode:ep-1")
    assert len(views(database)) == 4
    with database.read() as session:
        assert audit.verify(session).ok


def test_a_view_that_cannot_be_written_is_refused(site: Site, database: Database, clock: Clock) -> None:
    rosa = person(database, "rosa", clock)
    set_policy(database, {"audit_views": True})
    with database.write() as session:
        session.delete(session.get_one(AuditHead, 1))
    with pytest.raises(SQLAlchemyError):
        record_view(site, rosa, SPACE, "episode:ep-1")
    assert views(database) == []


def test_protected_pages_are_written_down_or_not_shown(
    app: FastAPI, browse: Browse, database: Database, clock: Clock
) -> None:
    factories.make_episode(database, SPACE, "ep-1", clock(), task="the secret task")
    factories.make_candidate(database, SPACE, "cand-1", clock(), evidence=[("ep-1", "support")])
    set_policy(database, {"audit_views": True})
    rosa = browse()
    paths = {f"/episodes/{SPACE}/ep-1": "episode:ep-1", f"/candidates/{SPACE}/cand-1": "candidate:cand-1"}
    for path, target in paths.items():
        for _ in range(2):
            assert "the secret task" in rosa.get(path).text
        assert [seen for _, seen in views(database)].count(target) == 1
    assert rosa.get(f"/episodes/{SPACE}/nowhere").status_code == 404
    clock.forward(hours=2)
    with database.write() as session:
        session.delete(session.get_one(AuditHead, 1))
    with TestClient(app, base_url=ORIGIN, cookies=dict(rosa.cookies), raise_server_exceptions=False) as browser:
        for path in paths:
            answer = browser.get(path)
            assert answer.status_code >= 500
            assert "the secret task" not in answer.text
