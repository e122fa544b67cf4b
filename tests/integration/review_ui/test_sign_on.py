"""Signed on by a proxy: who is believed, and when a session that stands on it ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from sqlmodel import col, select
from starlette.testclient import TestClient

from review_ui.access import COOKIE
from storage.engine import Database
from storage.people import disable_user
from storage.settings import Settings
from storage.tables import AuditEntry, User, WebSession
from support import factories
from support.html_check import faults_of
from support.processes import free_port, wait_until
from support.review_pages import ORIGIN, Browse, Clock, fields
from worker.local_app import make_server

PROXY = "10.1.0.5"
HEADER = "X-Forwarded-User"


class Signed:
    """Makes browsers that come through the proxy, or from elsewhere."""

    def __init__(self, app: FastAPI, stack: ExitStack) -> None:
        self._app, self._stack = app, stack

    def browser(self, peer: str = PROXY) -> TestClient:
        made = TestClient(
            self._app, base_url=ORIGIN, headers={"origin": ORIGIN}, client=(peer, 40000), follow_redirects=False
        )
        return self._stack.enter_context(made)

    def on(self, name: str, peer: str = PROXY) -> TestClient:
        """A browser in which this person is signed on."""
        browser = self.browser(peer)
        browser.headers[HEADER] = name
        assert browser.get("/login").status_code == 303
        return browser


@pytest.fixture
def signed(app: FastAPI, database: Database, clock: Clock) -> Iterator[Signed]:
    app.state.site.settings.proxy_user_header = HEADER
    app.state.site.settings.trusted_proxies = [PROXY, "fd00::/8"]
    factories.make_person(database, "rosa", clock())
    with ExitStack() as stack:
        yield Signed(app, stack)


def sessions(database: Database) -> list[WebSession]:
    with database.read() as session:
        return list(session.exec(select(WebSession)))


def audited(database: Database) -> list[tuple[str, dict[str, Any]]]:
    with database.read() as session:
        entries = session.exec(select(AuditEntry).order_by(col(AuditEntry.seq)))
        return [(entry.action, entry.detail) for entry in entries]


def test_whoever_the_proxy_names_is_signed_on_without_a_password(signed: Signed, database: Database) -> None:
    browser = signed.browser()
    browser.headers[HEADER] = "rosa"
    asked = browser.get("/rules?state=active")
    assert asked.headers["location"] == "/login?next=%2Frules%3Fstate%3Dactive"
    answer = browser.get(asked.headers["location"])
    assert (answer.status_code, answer.headers["location"]) == (303, "/rules?state=active")
    page = browser.get("/people").text
    assert "rosa" in page
    assert "proxy" in page
    (row,) = sessions(database)
    assert (row.via, row.token_id) == ("proxy", None)
    assert audited(database) == [("login", {"via": "proxy"})]


NOBODY: list[tuple[str, str, list[tuple[str, str]]]] = [
    ("from elsewhere", "192.0.2.66", [(HEADER, "rosa")]),
    ("said to be elsewhere", "127.0.0.1", [(HEADER, "rosa"), ("X-Forwarded-For", PROXY)]),
    ("twice", PROXY, [(HEADER, "rosa"), (HEADER, "rosa")]),
    ("twice in other case", PROXY, [(HEADER.lower(), "rosa"), (HEADER.upper(), "eve")]),
    ("another header", PROXY, [("X-Forwarded-Users", "rosa")]),
    ("no header", PROXY, []),
    ("unknown", PROXY, [(HEADER, "nobody")]),
    ("a name in other case", PROXY, [(HEADER, "Rosa")]),
    ("disabled", PROXY, [(HEADER, "gone")]),
    ("without pages", PROXY, [(HEADER, "bot")]),
]


def test_nobody_else_is(signed: Signed, database: Database, clock: Clock) -> None:
    factories.make_person(database, "bot", clock(), role="agent")
    factories.make_person(database, "gone", clock())
    with database.write() as session:
        disable_user(session, session.exec(select(User).where(User.name == "gone")).one(), clock())
    for why, peer, headers in NOBODY:
        browser = signed.browser(peer)
        answer = browser.get("/login", headers=headers)
        assert answer.status_code == 403, why
        assert faults_of(answer.text) == [], why
        assert COOKIE not in browser.cookies, why
        assert sessions(database) == [], why
        assert browser.get("/queue", headers=headers).status_code == 303, why


def test_the_headers_case_does_not_matter(signed: Signed) -> None:
    browser = signed.browser("fd00::5")
    assert browser.get("/login", headers={HEADER.upper(): " rosa "}).status_code == 303
    assert browser.get("/queue", headers={HEADER.lower(): "rosa"}).status_code == 200


def test_a_session_ends_when_the_proxy_names_another_or_nobody(
    signed: Signed, database: Database, clock: Clock
) -> None:
    factories.make_person(database, "otto", clock())
    later: list[list[tuple[str, str]]] = [[(HEADER, "otto")], [], [(HEADER, "rosa")] * 2]
    for headers in later:
        browser = signed.on("rosa")
        assert browser.get("/queue").status_code == 200
        del browser.headers[HEADER]
        assert browser.get("/queue", headers=headers).status_code == 303, headers
        assert sessions(database) == []
        assert browser.get("/queue", headers={HEADER: "rosa"}).status_code == 303  # it does not come back
        assert audited(database)[-1] == ("session.ended", {"why": "the proxy no longer vouches for it"})


def test_a_form_is_refused_once_the_proxy_names_another(signed: Signed, database: Database, clock: Clock) -> None:
    factories.make_person(database, "otto", clock())
    browser = signed.on("rosa")
    form = fields(browser.get("/people").text, "/logout")
    browser.headers[HEADER] = "otto"
    answer = browser.post("/people/tokens", data={**form, "label": "x", "role": "reviewer", "days": "7"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert sessions(database) == []


def test_a_cookie_that_is_brought_from_elsewhere_opens_nothing(signed: Signed, database: Database) -> None:
    cookie = signed.on("rosa").cookies[COOKIE]
    thief = signed.browser("192.0.2.66")
    thief.cookies.set(COOKIE, cookie, domain="testserver.local")
    assert thief.get("/queue", headers={HEADER: "rosa"}).status_code == 303
    assert sessions(database) == []


def test_no_password_is_taken_while_a_proxy_signs_on(signed: Signed, app: FastAPI) -> None:
    browser = signed.browser("192.0.2.66")
    page = browser.get("/login").text
    assert "no password is asked for" in page
    assert 'type="password"' not in page
    refused = browser.post("/login", data={"name": "rosa", "secret": factories.PASSWORD})
    assert refused.status_code == 400
    assert "a proxy signs people on" in refused.text


def test_turning_it_on_or_off_ends_the_sessions_of_the_other_way(
    app: FastAPI, browse: Browse, signed: Signed, database: Database
) -> None:
    settings = app.state.site.settings
    by_proxy = signed.on("rosa")
    settings.proxy_user_header = None
    by_password = browse("otto")
    assert by_proxy.get("/queue").status_code == 303
    assert by_password.get("/queue").status_code == 200
    settings.proxy_user_header = HEADER
    assert by_password.get("/queue", headers={HEADER: "otto"}).status_code == 303
    assert sessions(database) == []


def test_logging_out_does_not_sign_on_again_by_itself(signed: Signed, database: Database) -> None:
    browser = signed.on("rosa")
    form = fields(browser.get("/queue").text, "/logout")
    answer = browser.post("/logout", data=form)
    page = browser.get(answer.headers["location"]).text
    assert faults_of(page) == []
    assert "log out there too" in page
    assert sessions(database) == []
    assert browser.get("/login").status_code == 303


def test_a_disabled_account_is_out_at_once(signed: Signed, database: Database, clock: Clock) -> None:
    browser = signed.on("rosa")
    with database.write() as session:
        disable_user(session, session.exec(select(User).where(User.name == "rosa")).one(), clock())
    assert browser.get("/queue").status_code == 303
    assert browser.get("/login").status_code == 403


def test_signing_on_again_and_again_keeps_one_session_of_a_browser(signed: Signed, database: Database) -> None:
    browser = signed.on("rosa")
    for _ in range(3):
        assert browser.get("/login").status_code == 303
    assert len(sessions(database)) == 1


@contextmanager
def served(settings: Settings, database: Database) -> Iterator[httpx.Client]:
    """The real server on loopback, and a client of it."""
    port = free_port()
    server = make_server(settings, database, "review", host="127.0.0.1", port=port)
    thread = threading.Thread(target=server.run, name="test-server")
    thread.start()
    try:
        wait_until("the server listens", lambda: server.started, seconds=10)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(timeout=15)
        assert not thread.is_alive()


def test_the_real_server_goes_by_the_connections_own_address(
    sqlite_database: Database, tmp_path: Path, secret: bytes, clock: Clock
) -> None:
    """On loopback a server would by default take any X-Forwarded-For for the peer."""
    factories.make_person(sqlite_database, "rosa", clock())
    settings = Settings(
        home=tmp_path, secret_key=SecretStr(secret.decode()), proxy_user_header=HEADER, trusted_proxies=[PROXY]
    )
    claims = {HEADER: "rosa", "X-Forwarded-For": PROXY, "X-Real-IP": PROXY, "Forwarded": f"for={PROXY}"}
    with served(settings, sqlite_database) as client:
        assert client.get("/login", headers=claims).status_code == 403
    local = settings.model_copy(update={"trusted_proxies": ["127.0.0.1"]})
    with served(local, sqlite_database) as client:
        assert client.get("/login", headers={HEADER: "rosa", "X-Forwarded-For": "203.0.113.9"}).status_code == 303
        assert client.get("/login", headers=[(HEADER, "rosa"), (HEADER, "rosa")]).status_code == 403
