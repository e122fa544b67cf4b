"""Every template is rendered with text that tries to break out of it; nothing runs, loads, hides or goes elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.testclient import TestClient

from review_ui import templating
from review_ui.app import create_app
from storage.engine import Database
from storage.settings import Settings
from support import factories
from support.hostile import HOSTILE
from support.html_check import faults_of
from support.review_pages import ORIGIN, Browse, Clock, log_in
from support.stocked import Said, fill
from support.tour import CANDIDATE, Tour


def visit(browser: TestClient, path: str, status: int = 200) -> str:
    answer = browser.get(path)
    assert answer.status_code == status, path
    assert faults_of(answer.text) == [], path
    return answer.text


def sound(path: str, page: str) -> None:
    assert faults_of(page) == [], path


@pytest.fixture
def tour(app: FastAPI, browse: Browse, anonymous: TestClient, database: Database, clock: Clock) -> Tour:
    """A walk over a store in which every text is hostile."""
    fill(database, clock(), Said(HOSTILE))
    ada = browse("ada", role="admin")
    return Tour(database, clock(), Said(HOSTILE), browse("rosa"), ada, anonymous, visit, sound)


def test_every_template_stands_hostile_text(tour: Tour) -> None:
    """What a page is made of is walked over in ``support.tour``: a new page or template comes in there."""
    templating.make_templates().cache.clear()  # type: ignore[union-attr]
    page = visit(tour.rosa, CANDIDATE)
    assert "hidden places in this text" in page
    assert "was revoked before" in page
    tour.walk()
    assert [path for path, page in tour.pages.items() if "<script>" in page] == []
    rendered = {key[1] for key in templating.make_templates().cache}  # type: ignore[union-attr]
    written = {path.name for path in (templating.HERE / "templates").glob("*.html")}
    assert written - rendered == {"_how_it_flows.html"}  # the empty store, below


def test_a_fresh_install_shows_how_it_flows(database: Database, clock: Clock, tmp_path: Path, secret: bytes) -> None:
    _, token = factories.make_person(database, "rosa", clock())
    app = create_app(Settings(home=tmp_path, secret_key=SecretStr(secret.decode())), database, clock)
    with TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False) as browser:
        log_in(browser, "rosa", token)
        for path in ("/queue", "/runs"):
            assert "How it flows" in visit(browser, path)
        for path in ("/rules", "/audit"):
            visit(browser, path)
