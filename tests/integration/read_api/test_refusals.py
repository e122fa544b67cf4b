"""What is refused, and how it is said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from fastapi import FastAPI
from sqlmodel import select
from starlette.testclient import TestClient

from read_api.app import create_app
from read_api.notifier import Notifier
from storage.engine import Database
from storage.ids import token_hash
from storage.settings import Settings
from storage.tables import ApiToken
from support.reviewing import Desk

SPACE = "acme/shop"
SEARCH = {"namespace": SPACE, "task": "cancel"}


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """What is refused here is refused before any database matters: one is enough."""
    return sqlite_database


def told(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    error: dict[str, Any] = answer.json()["error"]
    assert {"what", "where", "what_now"} <= set(error)
    assert all(error[name] for name in ("what", "where", "what_now"))
    return error


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("header", ["", "Bearer", "Basic abc", "Bearer nobody-knows-it"])
def test_without_a_known_token_nothing_is_answered(app: FastAPI, desk: Desk, header: str) -> None:
    answer = TestClient(app).post("/v1/rules/search", json=SEARCH, headers={"Authorization": header})
    told(answer, 401)
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_token_that_expired_says_so(app: FastAPI, desk: Desk, make_token: Callable[..., str], now: datetime) -> None:
    token = make_token("agent", expires_at=now - timedelta(seconds=1))
    error = told(TestClient(app).get("/v1/lease", params={"namespace": SPACE}, headers=bearer(token)), 401)
    assert "expired" in error["what"]


def test_a_revoked_token_says_so(app: FastAPI, desk: Desk, make_token: Callable[..., str], now: datetime) -> None:
    token = make_token()
    with desk.database.write() as session:
        session.exec(select(ApiToken).where(ApiToken.token_hash == token_hash(token))).one().revoked_at = now
    error = told(TestClient(app).get("/v1/lease", params={"namespace": SPACE}, headers=bearer(token)), 401)
    assert "revoked" in error["what"]


def test_a_personal_token_ends_with_its_account(
    app: FastAPI, desk: Desk, make_token: Callable[..., str], now: datetime
) -> None:
    from storage.tables import User

    person = desk.people["ana"]
    token = make_token("reviewer", user_id=person.user_id)
    client = TestClient(app, headers=bearer(token))
    assert client.get("/v1/lease", params={"namespace": SPACE}).status_code == 200
    with desk.database.write() as session:
        session.get_one(User, person.user_id).disabled_at = now
    told(client.get("/v1/lease", params={"namespace": SPACE}), 401)


def test_the_use_of_a_token_is_noted(api: TestClient, desk: Desk) -> None:
    api.get("/v1/lease", params={"namespace": SPACE})
    with desk.database.read() as session:
        assert session.exec(select(ApiToken)).one().last_used_at is not None


def test_an_ingest_token_may_not_read(app: FastAPI, desk: Desk, make_token: Callable[..., str]) -> None:
    token = make_token("ingest")
    error = told(TestClient(app).post("/v1/rules/search", json=SEARCH, headers=bearer(token)), 403)
    assert "agent" in error["what_now"]


def test_an_agent_may_not_ingest(api: TestClient, desk: Desk) -> None:
    told(api.post("/v1/episodes", params={"namespace": SPACE}, content=b"{}"), 403)


@pytest.mark.parametrize("namespace", ["acme/shop1", "acm", "other", "acme-x"])
def test_a_token_covers_whole_segments_only(
    app: FastAPI, desk: Desk, make_token: Callable[..., str], namespace: str
) -> None:
    client = TestClient(app, headers=bearer(make_token("agent", "acme/shop")))
    told(client.post("/v1/rules/search", json={**SEARCH, "namespace": namespace}), 403)
    assert client.post("/v1/rules/search", json={**SEARCH, "namespace": "acme/shop"}).status_code == 200


@pytest.mark.parametrize("path", ["/v1/lease", "/v1/rules/x", "/v1/rules/x/versions/1", "/v1/events", "/v1/sessions/s"])
def test_every_door_refuses_a_foreign_and_an_unknown_namespace(api: TestClient, desk: Desk, path: str) -> None:
    told(api.get(path, params={"namespace": "other"}), 403)
    told(api.get(path, params={"namespace": "acme/nowhere"}), 404)
    told(api.get(path, params={"namespace": "Not A Namespace"}), 422)
    told(api.get(path), 422)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": "many"},
        {"task": ""},
        {"tsak": "x"},
        {"session_id": "a\nb"},
        {"token_budget": -1},
        {"task": None},
    ],
)
def test_a_malformed_request_names_its_fields(api: TestClient, desk: Desk, wrong: dict[str, Any]) -> None:
    error = told(api.post("/v1/rules/search", json={**SEARCH, **wrong}), 422)
    assert next(iter(wrong)) in error["what"]


def test_a_body_that_is_not_json_is_refused(api: TestClient, desk: Desk) -> None:
    headers = {"content-type": "application/json"}
    told(api.post("/v1/rules/search", content=b"{not json", headers=headers), 422)


def test_an_unknown_rule_is_not_found(api: TestClient, desk: Desk) -> None:
    told(api.get("/v1/rules/nothing", params={"namespace": SPACE}), 404)
    told(api.get("/v1/rules/nothing/versions/1", params={"namespace": SPACE}), 404)
    told(api.get("/v1/nothing"), 404)


def test_a_large_body_is_refused_whether_it_says_its_size_or_not(api: TestClient, desk: Desk) -> None:
    told(api.post("/v1/rules/search", content=b" " * (2**20 + 1)), 413)
    unsized = iter([b" " * 2**20, b" "])
    told(api.post("/v1/rules/search", content=unsized, headers={"content-type": "application/json"}), 413)


def test_a_lost_database_is_said_plainly(settings: Settings) -> None:
    lost = Database("postgresql+psycopg://nobody@127.0.0.1:1/nothing")
    app = create_app(settings, lost, Notifier(lost))
    client = TestClient(app, raise_server_exceptions=False)
    answer = client.get("/v1/lease", params={"namespace": SPACE}, headers=bearer("any"))
    assert "database" in told(answer, 503)["what"]
    assert answer.headers["retry-after"] == "2"
    assert client.get("/health/ready").status_code == 503
    assert client.get("/health/live").status_code == 200
    lost.dispose()


def test_no_token_is_ever_logged(api: TestClient, desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    token = api.headers["authorization"].split()[1]
    with caplog.at_level("DEBUG"):
        api.post("/v1/rules/search", json=SEARCH)
        api.post("/v1/rules/search", json={})
    assert token not in caplog.text
