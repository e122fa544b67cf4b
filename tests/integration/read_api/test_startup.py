"""The pack to load before any task is known: few, within its budget, each with its reason and its exposure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlmodel import SQLModel
from starlette.testclient import TestClient

from storage.tables import Exposure
from support.reviewing import Desk, finding

SPACE = "acme/shop"
Rows = Callable[[type[SQLModel]], list[Any]]


def pack(api: TestClient, **given: Any) -> Any:
    answer = api.get("/v1/startup", params={"namespace": SPACE, "session_id": "s1", **given})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_pack_says_why_each_rule_is_in_it_and_leaves_an_exposure(api: TestClient, rule_id: str, rows: Rows) -> None:
    answer = pack(api)
    (found,) = answer["rules"]
    assert found["id"] == rule_id
    assert "independent groups of runs stand behind it" in found["reason"]
    assert answer["token_budget"] == 1000
    (row,) = rows(Exposure)
    assert (row.rule_id, row.session_id, row.epoch) == (rule_id, "s1", answer["epoch"])


def test_what_was_served_to_more_sessions_of_late_comes_first(api: TestClient, desk: Desk, rule_id: str) -> None:
    other, _ = desk.later().promoted(finding(desk, "archive_note", tasks=3))
    for session in ("a", "b"):
        assert api.get(f"/v1/rules/{other}", params={"namespace": SPACE, "session_id": session}).status_code == 200
    first, second = pack(api)["rules"]
    assert (first["id"], second["id"]) == (other, rule_id)
    assert "served to 2 sessions in the last 30 days" in first["reason"]


def test_what_does_not_fit_the_budget_is_withheld_and_not_exposed(api: TestClient, rule_id: str, rows: Rows) -> None:
    answer = pack(api, token_budget=1)
    assert answer["rules"] == []
    assert [one["id"] for one in answer["withheld"]] == [rule_id]
    assert rows(Exposure) == []


def test_a_revoked_rule_is_in_no_pack(api: TestClient, desk: Desk, rule_id: str) -> None:
    desk.revoke(rule_id)
    assert pack(api)["rules"] == []


def test_a_pack_of_another_namespace_is_refused(api: TestClient, rule_id: str, make_token: Callable[..., str]) -> None:
    headers = {"Authorization": f"Bearer {make_token('agent', 'acme/shop1')}"}
    assert api.get("/v1/startup", params={"namespace": SPACE}, headers=headers).status_code == 403
