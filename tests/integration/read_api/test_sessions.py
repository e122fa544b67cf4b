"""Whose a session is, and what its reports come to."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from storage.engine import Database
from storage.queries.bindings import tokens_bound
from storage.queries.lineage import reads_of_sessions
from storage.serving import ForeignSession, Reader, declare_session
from storage.tables import ClientSession, Exposure
from support.reviewing import Desk

from .conftest import SPACE, TokenMaker

TASK = "the customer wants to cancel an order"


@pytest.fixture
def stranger(make_token: TokenMaker) -> dict[str, str]:
    """The header of another token of the same namespace."""
    return {"Authorization": f"Bearer {make_token()}"}


def searched(api: TestClient, session_id: str, instance: str | None, **sent: Any) -> Any:
    body = {"namespace": SPACE, "task": TASK, "session_id": session_id, "client_instance": instance}
    return api.post("/v1/rules/search", json=body, **sent)


def reported(api: TestClient, session_id: str, instance: str, *reads: tuple[str, int, int], **sent: Any) -> Any:
    listed = [{"id": rule, "version": version, "times": times} for rule, version, times in reads]
    body = {"namespace": SPACE, "client_instance": instance, "ended": True, "reads": listed}
    return api.post(f"/v1/sessions/{session_id}", json=body, **sent)


@pytest.mark.parametrize(("session_id", "instance"), [("mine", "other"), ("other", "cache-1"), ("mine", None)])
def test_another_token_reads_neither_in_my_session_nor_through_my_cache(
    api: TestClient, rule_id: str, stranger: dict[str, str], rows: Callable[..., list[Any]],
    session_id: str, instance: str | None,
) -> None:  # fmt: skip
    assert searched(api, "mine", "cache-1").status_code == 200
    refused = searched(api, session_id, instance, headers=stranger)
    assert refused.status_code == 403
    assert refused.json()["error"]["kind"] == "foreign-session"
    assert refused.json()["error"]["what_now"]
    assert len(rows(Exposure)) == 1
    assert len(rows(ClientSession)) == 1


def test_another_token_ends_no_session_of_mine(
    api: TestClient, database: Database, rule_id: str, stranger: dict[str, str]
) -> None:
    searched(api, "first", "cache-1")
    searched(api, "mine", "cache-1")
    assert reported(api, "mine", "cache-1", headers=stranger).status_code == 403
    with database.read() as session:
        assert reads_of_sessions(session, SPACE, ["mine"]) == {"mine": {(rule_id, 1)}}


def test_whoever_declared_it_goes_on_reading(api: TestClient, rule_id: str) -> None:
    for instance in ("cache-1", "cache-2", None):
        assert searched(api, "mine", instance).status_code == 200


def test_a_session_and_an_instance_are_their_first_tokens(database: Database, desk: Desk, now: datetime) -> None:
    with database.write() as session:
        declare_session(session, Reader(SPACE, "mine", "token-1", client_instance="cache-1"), now)
    with database.read() as session:
        assert tokens_bound(session, SPACE, "mine", None) == {"token-1"}
        assert tokens_bound(session, SPACE, "new", "new") == set()
        assert tokens_bound(session, "acme/shop1", "mine", "cache-1") == set()
    with pytest.raises(ForeignSession, match="belongs to another token"), database.write() as session:
        declare_session(session, Reader(SPACE, "mine", "token-2", client_instance="cache-2"), now)


def test_repeated_reports_add_up_by_version(api: TestClient, rule_id: str, rows: Callable[..., list[Any]]) -> None:
    searched(api, "mine", "cache-1")
    for _ in range(5):
        assert reported(api, "mine", "cache-1", (rule_id, 1, 2)).status_code == 200
    (row,) = rows(ClientSession)
    assert row.reported == [{"rule": rule_id, "version": 1, "times": 10}]


def test_a_report_holds_no_version_that_never_was(
    api: TestClient, rule_id: str, rows: Callable[..., list[Any]]
) -> None:
    searched(api, "mine", "cache-1")
    reported(api, "mine", "cache-1", (rule_id, 1, 1), (rule_id, 9, 1), *((f"made-up-{n}", 1, 1) for n in range(50)))
    (row,) = rows(ClientSession)
    assert row.reported == [{"rule": rule_id, "version": 1, "times": 1}]
