"""Both apps over a store with a promoted rule, a promoted run and candidates that wait."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from read_api.app import create_app
from read_api.notifier import Notifier
from review_ui.access import checked_viewer, viewer
from review_ui.app import create_app as create_pages
from storage.engine import Database
from storage.people import add_token
from storage.settings import Settings
from support.conforming import Stock
from support.factories import make_person
from support.modes import night_of, put_in_cluster, set_policy
from support.review_pages import ORIGIN, log_in
from support.reviewing import Desk, Ran, finding

from ..read_api.conftest import SPACE, desk, now, settings

__all__ = ["SPACE", "desk", "now", "settings"]


@pytest.fixture
def database(postgres_database: Database) -> Database:
    """The one that refuses most of what text may hold."""
    return postgres_database


@pytest.fixture
def stock(desk: Desk) -> Stock:
    """A promoted rule, a promoted run, and a candidate that waits."""
    rule_id, _ = desk.promoted(finding(desk, "cancel_order", tasks=3))
    set_policy(desk, regime="episodic", exemplars=1)
    episodes = desk.record(*(Ran(f"t{number}", "success", ("look", "ship")) for number in range(5)))
    put_in_cluster(desk, episodes, "orders")
    night_of(desk, episodes)
    ((exemplar, _),) = [pair for pair in desk.candidates() if pair[0].kind == "exemplar"]
    desk.approve(exemplar)
    set_policy(desk)
    later = desk.later()
    later.night(finding(later, "refund_order", tasks=3))
    (waiting, *_) = [candidate for candidate, _ in later.candidates() if candidate.kind == "rule"]
    return Stock(rule_id, waiting.id, episodes[0])


@pytest.fixture
def tokens(desk: Desk, now: datetime) -> dict[str, str]:
    """A live token of each role that matters, one whose namespaces hold nothing, and none."""
    made: dict[str, str] = {"nobody": ""}
    with desk.database.write() as session:
        for role in ("agent", "ingest", "auditor"):
            made[role] = add_token(session, role=role, namespaces=("acme",), now=now)[1]
        made["stranger"] = add_token(session, role="agent", namespaces=("beta",), now=now)[1]
    return made


@pytest.fixture
def agents_app(desk: Desk, settings: Settings) -> Iterator[FastAPI]:
    """The agents' side with a notifier that is not started: nothing runs behind a request."""
    made = create_app(settings, desk.database, Notifier(desk.database))
    yield made
    made.state.site.notifier.close()


@pytest.fixture
def pages_app(desk: Desk, settings: Settings) -> FastAPI:
    """The review pages, which take a form without its token: behind that check are all the others."""
    made = create_pages(settings, desk.database)
    made.dependency_overrides[checked_viewer] = viewer
    return made


@pytest.fixture
def cookie(desk: Desk, pages_app: FastAPI, now: datetime) -> str:
    """What the browser of somebody logged in sends."""
    _, token = make_person(desk.database, "rosa", now, role="admin")
    browser = TestClient(pages_app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False)
    assert log_in(browser, "rosa", token).status_code == 303
    return "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
