"""People, sessions and tokens: who sees whom, who may do what, and that what is ended stops at once."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from fastapi import FastAPI
from sqlmodel import Session, col, select
from starlette.testclient import TestClient

from read_api.app import create_app as create_read_app
from review_ui.routes import people as people_routes
from storage.engine import Database
from storage.ids import token_hash
from storage.people import add_token
from storage.tables import ApiToken, AuditEntry, User, WebSession
from support import factories
from support.html_check import faults_of
from support.review_pages import ORIGIN, SPACE, Browse, Clock, fields, log_in

FORM = {"label": "laptop", "role": "reviewer", "namespaces": "", "days": "7"}


def account(database: Database, name: str) -> User:
    with database.read() as session:
        return session.exec(select(User).where(User.name == name)).one()


def acts(database: Database) -> list[str]:
    with database.read() as session:
        entries = session.exec(select(AuditEntry).order_by(col(AuditEntry.seq))).all()
    return [entry.action for entry in entries if entry.action != "login"]


def csrf(browser: TestClient) -> str:
    return fields(browser.get("/people").text, "/logout")["csrf"]


def post(browser: TestClient, path: str, **data: str) -> int:
    return browser.post(path, data={"csrf": csrf(browser), **data}).status_code


def act(browser: TestClient, database: Database, name: str, what: str) -> int:
    return post(browser, f"/people/accounts/{account(database, name).id}/{what}")


def test_an_admin_sees_everybody_of_their_namespaces(browse: Browse, database: Database, clock: Clock) -> None:
    browse("inside", namespaces=(SPACE,))
    for name, namespaces in (("wider", ("acme", "beta")), ("whole", ()), ("elsewhere", ("gamma/secret",))):
        factories.make_person(database, name, clock(), namespaces=namespaces)
    page = browse("ada", role="admin", namespaces=("acme",)).get("/people").text
    assert faults_of(page) == []
    for name in ("inside", "wider", "whole", "ada"):
        assert name in page
    assert "elsewhere" not in page
    assert "gamma" not in page
    assert "beta" not in page
    assert page.count("sees more than you do") == 2
    assert "1 open session" in page


def test_others_see_themselves_alone(browse: Browse, database: Database, clock: Clock) -> None:
    factories.make_person(database, "otto", clock())
    for role in ("reviewer", "auditor"):
        browser = browse(f"me-{role}", role=role)
        for path in ("/people", "/people?name=otto", "/people/tokens"):
            page = browser.get(path).text
            assert faults_of(page) == []
            assert "otto" not in page
        assert "This browser" in browser.get("/people").text


def test_the_list_is_searched_and_paged(browse: Browse, database: Database, clock: Clock) -> None:
    with database.write() as session:
        for n in range(60):
            session.add(User(id=f"u{n:02}", name=f"person-{n:02}", role="reviewer", created_at=clock()))
    ada = browse("ada", role="admin")
    names = re.findall(r"person-\d\d", ada.get("/people?name=PERSON").text)
    assert len(set(names)) == 50
    assert len(set(re.findall(r"person-\d\d", ada.get("/people?name=person&page=2").text))) == 10
    assert "person-" not in ada.get("/people?role=auditor").text


def test_a_disabled_account_stops_at_once_everywhere(
    app: FastAPI, browse: Browse, database: Database, clock: Clock
) -> None:
    ada, otto = browse("ada", role="admin"), browse("otto", role="admin")
    with database.write() as session:
        owner = session.exec(select(User).where(User.name == "otto")).one()
        _, secret = add_token(session, role="admin", namespaces=[], user_id=owner.id, now=clock())
    api = TestClient(create_read_app(app.state.site.settings, database, clock=clock))
    bearer = {"Authorization": f"Bearer {secret}"}
    assert api.get("/v1/lease", params={"namespace": SPACE}, headers=bearer).status_code == 200
    assert act(ada, database, "otto", "disable") == 303
    assert otto.get("/queue").status_code == 303
    assert api.get("/v1/lease", params={"namespace": SPACE}, headers=bearer).status_code == 401
    with TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False) as again:
        assert log_in(again, "otto", factories.PASSWORD).status_code == 401
        assert log_in(again, "otto", secret).status_code == 401
        assert act(ada, database, "otto", "enable") == 303
        assert log_in(again, "otto", secret).status_code == 401  # its tokens stay revoked
        assert log_in(again, "otto", factories.PASSWORD).status_code == 303
    assert acts(database) == ["user.disabled", "user.enabled"]
    assert act(ada, database, "otto", "enable") == 303
    assert acts(database) == ["user.disabled", "user.enabled"]


def test_only_an_admin_who_sees_as_much_may_act_on_an_account(browse: Browse, database: Database, clock: Clock) -> None:
    for name, namespaces in (("same", ("acme",)), ("wider", ("acme", "beta")), ("whole", ()), ("far", ("gamma",))):
        factories.make_person(database, name, clock(), namespaces=namespaces)
    rosa, ada = browse("rosa"), browse("ada", role="admin", namespaces=("acme",))
    for what in ("disable", "enable", "end-sessions"):
        assert act(rosa, database, "same", what) == 403
        assert act(ada, database, "wider", what) == 403
        assert act(ada, database, "whole", what) == 403
        assert act(ada, database, "far", what) == 404
        assert act(ada, database, "ada", what) == 403
        assert post(ada, f"/people/accounts/nobody/{what}") == 404
        assert act(ada, database, "same", what) == 303
        assert ada.post(f"/people/accounts/{account(database, 'same').id}/{what}").status_code == 403  # no form of ours
    assert [account(database, name).disabled_at for name in ("wider", "whole", "far", "ada")] == [None] * 4


def test_two_admins_cannot_disable_each_other(browse: Browse, database: Database) -> None:
    ada, otto = browse("ada", role="admin"), browse("otto", role="admin")
    forms = {"ada": csrf(ada), "otto": csrf(otto)}
    ids = {name: account(database, name).id for name in forms}

    def disable(given: tuple[TestClient, str, str]) -> int:
        browser, me, other = given
        return browser.post(f"/people/accounts/{ids[other]}/disable", data={"csrf": forms[me]}).status_code

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(disable, [(ada, "ada", "otto"), (otto, "otto", "ada")]))
    assert len([name for name in ids if account(database, name).disabled_at is None]) == 1
    assert acts(database) == ["user.disabled"]


def test_ones_own_sessions_are_ended_and_nobody_elses(
    app: FastAPI, browse: Browse, database: Database, clock: Clock
) -> None:
    rosa, otto = browse("rosa"), browse("otto")
    others = [TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False) for _ in range(3)]
    for browser in others:
        assert log_in(browser, "rosa", factories.PASSWORD).status_code == 303
    page = rosa.get("/people").text
    assert page.count("Another browser") == 3
    with database.read() as session:
        assert all(row.id not in page for row in session.exec(select(WebSession)))
    ref = fields(page, "/people/sessions/end")["session_ref"]
    assert post(otto, "/people/sessions/end", session_ref=ref) == 303
    assert alive(rosa, *others, otto) == 5
    assert post(rosa, "/people/sessions/end", session_ref=ref) == 303
    assert alive(*others) == 2
    assert post(rosa, "/people/sessions/end-others") == 303
    assert (alive(*others), alive(rosa), alive(otto)) == (0, 1, 1)
    assert acts(database) == ["session.ended", "session.ended"]


def alive(*browsers: TestClient) -> int:
    return sum(browser.get("/queue").status_code == 200 for browser in browsers)


def test_a_personal_token_is_shown_once_and_kept_nowhere(
    browse: Browse, database: Database, anonymous: TestClient, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    rosa = browse("rosa", namespaces=("acme",))
    answer = rosa.post("/people/tokens", data={"csrf": csrf(rosa), **FORM})
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert faults_of(answer.text) == []
    (secret,) = re.findall(r"sw_[\w-]{20,}", answer.text)
    assert secret not in rosa.get("/people/tokens").text
    assert secret not in caplog.text
    with database.read() as session:
        token = session.exec(select(ApiToken).where(ApiToken.token_hash == token_hash(secret))).one()
        assert (token.role, token.namespaces, token.label) == ("reviewer", ["acme"], "laptop")
        assert token.expires_at == clock() + timedelta(days=7)
        entry = session.exec(select(AuditEntry).where(AuditEntry.action == "token.created")).one()
    assert secret not in str(entry)
    assert entry.target == f"token:{token.id}"
    assert log_in(anonymous, "rosa", secret).status_code == 303


WIDER: tuple[tuple[dict[str, str], int], ...] = (
    ({"role": "admin"}, 403),
    ({"role": "ingest"}, 403),
    ({"role": "auditor"}, 200),
    ({"namespaces": "acme/support, acme/sales"}, 200),
    ({"namespaces": "beta"}, 403),
    ({"namespaces": "Acme!"}, 400),
    ({"days": "3650"}, 400),
    ({"days": "soon"}, 422),
    ({"label": ""}, 400),
    ({"label": "x" * 101}, 400),
    ({"label": "a\u202eb"}, 400),
)


def test_a_personal_token_is_no_wider_than_its_person(browse: Browse, database: Database) -> None:
    rosa = browse("rosa", namespaces=("acme",))
    for given, status in WIDER:
        before = tokens(database)
        assert post(rosa, "/people/tokens", **{**FORM, **given}) == status, given
        assert tokens(database) - before == (status == 200), given


def test_a_person_has_so_many_live_tokens(browse: Browse, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people_routes, "MOST_TOKENS", 2)
    rosa = browse("rosa")  # logged in with the first
    assert [post(rosa, "/people/tokens", **FORM) for _ in range(2)] == [200, 400]
    assert tokens(database) == 2


def tokens(database: Database) -> int:
    with database.read() as session:
        return len(session.exec(select(ApiToken)).all())


def test_a_session_that_a_token_opened_makes_none_that_outlives_it(
    anonymous: TestClient, database: Database, clock: Clock
) -> None:
    rosa, _ = factories.make_person(database, "rosa", clock())
    end = clock() + timedelta(days=2)
    with database.write() as session:
        _, short = add_token(session, role="reviewer", namespaces=[], user_id=rosa.user_id, now=clock(), expires_at=end)
    assert log_in(anonymous, "rosa", short).status_code == 303
    assert post(anonymous, "/people/tokens", **{**FORM, "days": "365"}) == 200
    with database.read() as session:
        assert session.exec(select(ApiToken).where(ApiToken.label == "laptop")).one().expires_at == end


def test_a_token_is_revoked_by_its_owner_or_an_admin_who_sees_all_of_it(
    browse: Browse, database: Database, clock: Clock
) -> None:
    rosa, otto = browse("rosa", namespaces=("acme",)), browse("otto", namespaces=("acme",))
    ada = browse("ada", role="admin", namespaces=("acme",))
    made: dict[str, str] = {}
    with database.write() as session:
        for name, namespaces, owner in (
            ("mine", ["acme"], "rosa"), ("agent", ["acme/support"], None), ("wide", [], None), ("far", ["beta"], None),
        ):  # fmt: skip
            made[name] = _token(session, clock, name, namespaces, owner)

    def revoke(browser: TestClient, name: str) -> int:
        return post(browser, f"/people/tokens/{made[name]}/revoke")

    assert [revoke(otto, name) for name in made] == [404] * 4
    assert [revoke(rosa, name) for name in made] == [303, 404, 404, 404]
    assert [revoke(ada, name) for name in ("agent", "wide", "far")] == [303, 403, 404]
    assert revoke(ada, "agent") == 303
    with database.read() as session:
        live = {row.label for row in session.exec(select(ApiToken).where(col(ApiToken.revoked_at).is_(None)))}
    assert {"wide", "far"} <= live
    assert not {"mine", "agent"} & live
    assert acts(database) == ["token.revoked", "token.revoked"]
    page = ada.get("/people/tokens").text
    assert faults_of(page) == []
    assert "beta" not in page


def _token(session: Session, clock: Clock, label: str, namespaces: list[str], owner: str | None) -> str:
    user = session.exec(select(User).where(User.name == owner)).one() if owner else None
    role = "reviewer" if owner else "agent"
    token, _ = add_token(
        session, role=role, namespaces=namespaces, now=clock(), label=label, user_id=user.id if user else None
    )
    return token.id


def test_many_tokens_are_walked_both_ways(browse: Browse, database: Database, clock: Clock) -> None:
    with database.write() as session:
        for n in range(120):
            add_token(session, role="agent", namespaces=["acme" if n % 2 else "beta"], now=clock(), label=f"bot-{n:03}")
    ada = browse("ada", role="admin", namespaces=("acme",))
    first = ada.get("/people/tokens").text
    following = re.search(r'rel="next" href="([^"]+)"', first)
    assert following
    second = ada.get(following[1].replace("&amp;", "&")).text
    shown = [re.findall(r"bot-\d{3} ", page) for page in (first, second)]
    assert [len(each) for each in shown] == [49, 11]  # and one's own token
    assert not set(shown[0]) & set(shown[1])
    back = re.search(r'rel="prev" href="([^"]+)"', second)
    assert back
    assert re.findall(r"bot-\d{3} ", ada.get(back[1].replace("&amp;", "&")).text) == shown[0]


def test_what_a_person_did_last_tells_when_they_were_seen(browse: Browse, database: Database, clock: Clock) -> None:
    browse("otto")
    factories.make_person(database, "never", clock())
    clock.forward(hours=13)  # the session is over, what it did is not forgotten
    page = browse("ada", role="admin").get("/people").text
    assert page.count("never seen") == 1
    assert "0 open sessions" in page
