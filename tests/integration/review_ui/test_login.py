"""Logging in: whoever has the password or the personal token, and nobody can be locked out by another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from fastapi import FastAPI
from sqlmodel import select
from starlette.testclient import TestClient

from review_ui import logins
from review_ui.access import COOKIE, MOST_SESSIONS, open_session
from review_ui.errors import TooManyTries
from review_ui.logins import TRIES
from storage.engine import Database
from storage.ids import token_hash
from storage.people import add_token, disable_user, revoke_token
from storage.tables import ApiToken, LoginAttempt, User, WebSession
from support import factories
from support.review_pages import ORIGIN, Browse, Clock, fields, log_in


def test_without_a_session_every_page_leads_to_the_login_and_back(anonymous: TestClient) -> None:
    for path in ("/queue", "/rules", "/runs", "/audit", "/candidates/a/b", "/rules/a/b", "/episodes/a/b", "/runs/x"):
        answer = anonymous.get(path)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login")
    assert anonymous.get("/rules?state=active").headers["location"] == "/login?next=%2Frules%3Fstate%3Dactive"


def test_a_password_opens_a_session_and_leads_on(anonymous: TestClient, database: Database, now: datetime) -> None:
    factories.make_person(database, "rosa", now)
    answer = log_in(anonymous, "rosa", factories.PASSWORD, next="/rules")
    assert (answer.status_code, answer.headers["location"]) == (303, "/rules")
    assert anonymous.get("/queue").status_code == 200


def test_a_personal_token_opens_a_session_through_the_same_field(
    anonymous: TestClient, database: Database, now: datetime
) -> None:
    _, token = factories.make_person(database, "rosa", now, namespaces=["acme"])
    assert log_in(anonymous, "rosa", token).status_code == 303


def test_the_cookie_is_out_of_reach_and_only_its_hash_is_stored(
    anonymous: TestClient, database: Database, now: datetime
) -> None:
    factories.make_person(database, "rosa", now)
    answer = log_in(anonymous, "rosa", factories.PASSWORD)
    cookie = next(line for line in answer.headers.get_list("set-cookie") if line.startswith(COOKIE))
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    value = anonymous.cookies[COOKIE]
    with database.read() as session:
        stored = session.exec(select(WebSession.id)).all()
    assert stored == [token_hash(value)]
    assert value not in stored


def test_each_login_opens_a_new_session(anonymous: TestClient, database: Database, now: datetime) -> None:
    factories.make_person(database, "rosa", now)
    anonymous.cookies.set(COOKIE, "chosen-by-an-attacker", domain="testserver.local")
    log_in(anonymous, "rosa", factories.PASSWORD)
    first = anonymous.cookies[COOKIE]
    log_in(anonymous, "rosa", factories.PASSWORD)
    assert len({first, anonymous.cookies[COOKIE], "chosen-by-an-attacker"}) == 3


@pytest.mark.parametrize("wrong", ["", "wrong", "correct horse battery stapl\x00e"])
def test_a_wrong_password_opens_nothing(anonymous: TestClient, database: Database, now: datetime, wrong: str) -> None:
    factories.make_person(database, "rosa", now)
    answer = log_in(anonymous, "rosa", wrong)
    assert answer.status_code in (401, 422)
    assert COOKIE not in anonymous.cookies


def test_an_unknown_name_and_a_wrong_password_are_told_alike(
    anonymous: TestClient, database: Database, now: datetime
) -> None:
    factories.make_person(database, "rosa", now)
    known, unknown = log_in(anonymous, "rosa", "wrong"), log_in(anonymous, "nobody\x00", "wrong")
    assert known.status_code == unknown.status_code == 401
    assert "do not fit" in known.text
    assert "do not fit" in unknown.text


def test_another_persons_token_opens_nothing(anonymous: TestClient, database: Database, now: datetime) -> None:
    factories.make_person(database, "rosa", now)
    _, ottos = factories.make_person(database, "otto", now)
    assert log_in(anonymous, "rosa", ottos).status_code == 401


def test_a_revoked_expired_or_narrower_token_opens_nothing(
    anonymous: TestClient, database: Database, clock: Clock
) -> None:
    rosa, _ = factories.make_person(database, "rosa", clock(), namespaces=["acme", "beta"])
    with database.write() as session:
        made = {"role": "reviewer", "user_id": rosa.user_id, "now": clock()}
        _, narrow = add_token(session, namespaces=["acme"], **made)
        _, weaker = add_token(session, namespaces=[], **(made | {"role": "auditor"}))
        _, expired = add_token(session, namespaces=[], expires_at=clock(), **made)
        row, revoked = add_token(session, namespaces=[], **made)
        revoke_token(session, row, clock())
    for token in (narrow, weaker, expired, revoked):
        assert log_in(anonymous, "rosa", token).status_code == 401


@pytest.mark.parametrize("role", ["agent", "ingest"])
def test_an_account_without_pages_is_told_so(
    anonymous: TestClient, database: Database, now: datetime, role: str
) -> None:
    factories.make_person(database, "bot", now, role=role)
    assert log_in(anonymous, "bot", factories.PASSWORD).status_code == 403
    assert COOKIE not in anonymous.cookies


def test_too_many_failures_slow_one_name_at_one_address_only(
    app: FastAPI, anonymous: TestClient, database: Database, clock: Clock
) -> None:
    factories.make_person(database, "rosa", clock())
    factories.make_person(database, "otto", clock())
    for _ in range(TRIES):
        assert log_in(anonymous, "rosa", "guess").status_code == 401
    refused = log_in(anonymous, "rosa", factories.PASSWORD)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "900")
    assert log_in(anonymous, "otto", factories.PASSWORD).status_code == 303
    with TestClient(
        app, base_url=ORIGIN, headers={"origin": ORIGIN}, client=("192.0.2.7", 1), follow_redirects=False
    ) as elsewhere:
        assert log_in(elsewhere, "rosa", factories.PASSWORD).status_code == 303
    clock.forward(minutes=16)
    assert log_in(anonymous, "rosa", factories.PASSWORD).status_code == 303


def test_a_browser_that_knows_the_name_is_not_locked_out_from_its_own_address(
    app: FastAPI, anonymous: TestClient, database: Database, now: datetime
) -> None:
    factories.make_person(database, "rosa", now)
    assert log_in(anonymous, "rosa", factories.PASSWORD).status_code == 303
    with TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False) as attacker:
        for _ in range(TRIES):
            log_in(attacker, "rosa", "guess")
        assert log_in(attacker, "rosa", factories.PASSWORD).status_code == 429
    assert log_in(anonymous, "rosa", factories.PASSWORD).status_code == 303


def test_many_names_from_one_place_are_slowed_and_those_who_are_known_are_not(
    app: FastAPI, anonymous: TestClient, database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "TRIES_OF_PLACE", 4)
    _, token = factories.make_person(database, "rosa", clock())
    factories.make_person(database, "otto", clock())
    assert log_in(anonymous, "otto", factories.PASSWORD).status_code == 303
    with _browser(app) as attacker:
        for name in ("a", "b", "c", "d"):
            assert log_in(attacker, name, "Winter2026!").status_code == 401
        assert log_in(attacker, "rosa", factories.PASSWORD).status_code == 429
        assert log_in(attacker, "rosa", token).status_code == 303
    assert log_in(anonymous, "otto", factories.PASSWORD).status_code == 303


def test_one_name_from_many_places_is_slowed_and_its_person_is_not(
    app: FastAPI, anonymous: TestClient, database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "TRIES_OF_NAME", 4)
    _, token = factories.make_person(database, "rosa", clock())
    assert log_in(anonymous, "rosa", factories.PASSWORD).status_code == 303
    for place in range(5):
        with _browser(app, f"192.0.2.{place}") as attacker:
            assert log_in(attacker, "rosa", "guess").status_code == (401 if place < 4 else 429)
    with _browser(app, "192.0.2.77") as new:
        refused = log_in(new, "rosa", factories.PASSWORD)
        assert refused.status_code == 429
        assert "from many places" in refused.text
        assert log_in(new, "rosa", token).status_code == 303
    assert log_in(anonymous, "rosa", factories.PASSWORD).status_code == 303


def test_an_address_is_believed_from_a_trusted_proxy_alone(
    app: FastAPI, anonymous: TestClient, database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one place would pass for many, or many people behind a proxy for one place."""
    monkeypatch.setattr(logins, "TRIES", 2)
    app.state.site.settings.trusted_proxies = ["10.1.0.5"]
    factories.make_person(database, "rosa", clock())
    with _browser(app, "203.0.113.1") as liar, _browser(app, "10.1.0.5") as proxy:
        for place, status in ((1, 401), (2, 401), (3, 429)):
            liar.headers["X-Forwarded-For"] = f"192.0.2.{place}"
            assert log_in(liar, "rosa", "guess").status_code == status
        for place in (1, 2, 3):
            proxy.headers["X-Forwarded-For"] = f"192.0.2.{place}"
            assert log_in(proxy, "rosa", "guess").status_code == 401


def test_tries_at_once_count_as_many(database: Database, app: FastAPI, clock: Clock) -> None:
    factories.make_person(database, "rosa", clock())
    site = app.state.site

    def guess(_: int) -> bool:
        try:
            return logins.log_in(site, "rosa", "guess", address="192.0.2.1") is None
        except TooManyTries:
            return False

    with ThreadPoolExecutor(8) as pool:
        looked_at = sum(pool.map(guess, range(TRIES * 2)))
    assert looked_at <= TRIES + (8 if database.dialect == "postgresql" else 0)
    with database.read() as session:
        assert len(session.exec(select(LoginAttempt)).all()) == looked_at
    clock.forward(minutes=16)
    assert guess(0)
    with database.read() as session:
        assert len(session.exec(select(LoginAttempt)).all()) == 1  # what no longer counts is not kept


def test_a_login_that_fits_leaves_no_failure(anonymous: TestClient, database: Database, now: datetime) -> None:
    factories.make_person(database, "rosa", now)
    for _ in range(TRIES + 1):
        assert log_in(anonymous, "rosa", factories.PASSWORD).status_code == 303
    with database.read() as session:
        assert session.exec(select(LoginAttempt)).all() == []
        assert len(session.exec(select(WebSession)).all()) == 1  # the session that a browser had before is over


def test_a_person_has_so_many_sessions_and_the_oldest_makes_room(
    app: FastAPI, database: Database, clock: Clock, browse: Browse
) -> None:
    first, site = browse("rosa"), app.state.site
    with database.read() as session:
        rosa = session.exec(select(User).where(User.name == "rosa")).one()
    for _ in range(MOST_SESSIONS):
        clock.forward(seconds=1)
        open_session(site, rosa)
    assert first.get("/queue").status_code == 303
    with database.read() as session:
        assert len(session.exec(select(WebSession)).all()) == MOST_SESSIONS


def test_a_session_ends_when_its_role_has_no_pages_any_more(browse: Browse, database: Database) -> None:
    rosa = browse("rosa")
    with database.write() as session:
        session.exec(select(User).where(User.name == "rosa")).one().role = "agent"
    assert rosa.get("/queue").status_code == 303


def test_a_session_ends_by_time_by_logout_and_with_the_account(
    browse: Browse, database: Database, clock: Clock
) -> None:
    timed, left, gone = browse("timed"), browse("left"), browse("gone")
    cookie = left.cookies[COOKIE]
    form = fields(left.get("/queue").text, "/logout")
    assert left.post("/logout", data=form).status_code == 303
    left.cookies.set(COOKIE, cookie, domain="testserver.local")
    assert left.get("/queue").status_code == 303
    with database.write() as session:
        disable_user(session, session.exec(select(User).where(User.name == "gone")).one(), clock())
    assert gone.get("/queue").status_code == 303
    assert timed.get("/queue").status_code == 200
    clock.forward(hours=12, minutes=1)
    assert timed.get("/queue").status_code == 303


def test_a_session_ends_with_the_token_that_opened_it(
    app: FastAPI, anonymous: TestClient, database: Database, clock: Clock
) -> None:
    rosa, first = factories.make_person(database, "rosa", clock())
    with database.write() as session:
        made = {"role": "reviewer", "namespaces": [], "user_id": rosa.user_id, "now": clock()}
        add_token(session, **made)
        _, short = add_token(session, expires_at=clock() + timedelta(hours=1), **made)
    with _browser(app) as by_short, _browser(app) as by_password:
        assert log_in(anonymous, "rosa", first).status_code == 303
        assert log_in(by_short, "rosa", short).status_code == 303
        assert log_in(by_password, "rosa", factories.PASSWORD).status_code == 303
        with database.write() as session:
            token = session.exec(select(ApiToken).where(ApiToken.token_hash == token_hash(first))).one()
            revoke_token(session, token, clock())
        assert [each.get("/queue").status_code for each in (anonymous, by_short, by_password)] == [303, 200, 200]
        clock.forward(hours=1)
        assert [each.get("/queue").status_code for each in (anonymous, by_short, by_password)] == [303, 303, 200]


def test_a_login_form_of_another_browser_is_refused(anonymous: TestClient, database: Database, now: datetime) -> None:
    factories.make_person(database, "rosa", now)
    form = fields(anonymous.get("/login").text, "/login")
    anonymous.cookies.clear()
    answer = anonymous.post("/login", data=form | {"name": "rosa", "secret": factories.PASSWORD})
    assert answer.status_code == 403


def test_behind_https_no_other_host_can_put_a_cookie_in_place_of_ours(
    database: Database, app: FastAPI, now: datetime
) -> None:
    app.state.site.settings.secure_cookies = True
    factories.make_person(database, "rosa", now)
    secure = "https://testserver"
    with TestClient(app, base_url=secure, headers={"origin": secure}, follow_redirects=False) as browser:
        answer = log_in(browser, "rosa", factories.PASSWORD)
        assert answer.status_code == 303
        for line in answer.headers.get_list("set-cookie"):
            assert line.startswith("__Host-slowwave_")
            assert {"Secure", "HttpOnly", "Path=/", "SameSite=lax"} <= {part.strip() for part in line.split(";")}
            assert "Domain" not in line
        form = fields(browser.get("/queue").text, "/logout")
        tossed = browser.cookies[f"__Host-{COOKIE}"]
        left = browser.post("/logout", data=form)
        assert "Secure" in left.headers["set-cookie"]  # a browser would not take it back otherwise
        assert f"__Host-{COOKIE}" not in browser.cookies
        browser.cookies.set(COOKIE, tossed, domain="testserver.local")
        assert browser.get("/queue").status_code == 303


def _browser(app: FastAPI, address: str = "testclient") -> TestClient:
    return TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}, client=(address, 40000), follow_redirects=False)


def test_a_token_is_never_stored_as_it_is(database: Database, now: datetime) -> None:
    _, token = factories.make_person(database, "rosa", now)
    with database.read() as session:
        assert token not in {row.token_hash for row in session.exec(select(ApiToken))}
