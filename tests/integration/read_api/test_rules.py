"""Single rules, leases, acknowledgements and sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from sqlmodel import SQLModel
from starlette.testclient import TestClient

from storage.tables import Ack, ClientSession, DeadLetter, Episode, Exposure
from support.modes import night_of, put_in_cluster, set_policy
from support.reviewing import Desk, Ran, finding

SPACE = "acme/shop"
IN = {"namespace": SPACE}
Rows = Callable[[type[SQLModel]], list[Any]]


def search(api: TestClient, **given: Any) -> Any:
    return api.post("/v1/rules/search", json={"namespace": SPACE, "task": "cancel an order", **given}).json()


def test_a_rule_is_read_with_its_exposure(api: TestClient, rule_id: str, rows: Rows) -> None:
    answer = api.get(f"/v1/rules/{rule_id}", params={**IN, "session_id": "s1"}).json()
    assert (answer["id"], answer["version"], answer["state"], answer["epoch"]) == (rule_id, 1, "active", 1)
    assert [row.session_id for row in rows(Exposure)] == ["s1"]


def test_a_revoked_rule_is_gone_with_state_and_reason(api: TestClient, desk: Desk, rule_id: str, rows: Rows) -> None:
    desk.revoke(rule_id, reason="it loses orders")
    for path in (f"/v1/rules/{rule_id}", f"/v1/rules/{rule_id}/versions/1"):
        answer = api.get(path, params=IN)
        assert answer.status_code == 410
        error = answer.json()["error"]
        assert (error["state"], error["reason"], error["current_version"]) == ("revoked", "it loses orders", None)
        assert error["what_now"]
    assert rows(Exposure) == []


def test_history_is_for_those_who_review_and_is_marked(
    app: FastAPI, desk: Desk, rule_id: str, make_token: Callable[..., str]
) -> None:
    desk.revoke(rule_id, reason="it loses orders")
    reviewer = TestClient(app, headers={"Authorization": f"Bearer {make_token('reviewer')}"})
    answer = reviewer.get(f"/v1/rules/{rule_id}/versions/1", params=IN).json()
    assert (answer["state"], answer["state_reason"]) == ("revoked", "it loses orders")
    assert answer["guidance"]


def test_a_lease_tells_the_epoch_of_the_database(api: TestClient, desk: Desk, rule_id: str) -> None:
    desk.revoke(rule_id)
    answer = api.get("/v1/lease", params=IN).json()
    assert answer == {"namespace": SPACE, "epoch": 2, "lease_seconds": 3, "age_seconds": 0}


def test_an_acknowledgement_only_goes_forward(api: TestClient, desk: Desk, rule_id: str, rows: Rows) -> None:
    desk.revoke(rule_id)
    for epoch, status in ((2, 200), (1, 200), (3, 422)):
        answer = api.post("/v1/acks", json={**IN, "consumer": "cache-1", "epoch": epoch})
        assert answer.status_code == status
    (ack,) = rows(Ack)
    assert (ack.consumer, ack.epoch) == ("cache-1", 2)


def test_a_session_whose_rules_stand_may_go_on(api: TestClient, rule_id: str) -> None:
    search(api, session_id="s1")
    answer = api.get("/v1/sessions/s1", params=IN).json()
    assert answer["verdict"] == "fine"
    assert answer["served"] == [{"id": rule_id, "version": 1, "state": "active"}]


def test_a_session_that_read_a_revoked_rule_must_stop(api: TestClient, desk: Desk, rule_id: str) -> None:
    search(api, session_id="s1")
    desk.revoke(rule_id, reason="it loses orders")
    answer = api.get("/v1/sessions/s1", params=IN).json()
    assert answer["verdict"] == "stop"
    assert answer["stale"] == [
        {"id": rule_id, "version": 1, "state": "revoked", "reason": "it loses orders", "current_version": None}
    ]
    assert "stop" in answer["what_now"]


def test_a_session_that_nobody_saw_read_nothing(api: TestClient, desk: Desk) -> None:
    answer = api.get("/v1/sessions/never", params=IN).json()
    assert (answer["verdict"], answer["served"]) == ("fine", [])


def test_reads_from_a_cache_count_until_the_session_reports_otherwise(
    api: TestClient, desk: Desk, rule_id: str
) -> None:
    search(api, session_id="s1", client_instance="cache-1")
    body = {**IN, "client_instance": "cache-1"}
    api.post("/v1/sessions/s2", json=body)
    desk.revoke(rule_id)
    assert api.get("/v1/sessions/s2", params=IN).json()["verdict"] == "stop"
    api.post("/v1/sessions/s2", json={**body, "ended": True, "reads": []})
    assert api.get("/v1/sessions/s2", params=IN).json()["verdict"] == "fine"


def test_a_report_never_takes_back_what_was_served_directly(api: TestClient, desk: Desk, rule_id: str) -> None:
    search(api, session_id="s1", client_instance="cache-1")
    api.post("/v1/sessions/s1", json={**IN, "client_instance": "cache-1", "ended": True, "reads": []})
    assert api.get("/v1/sessions/s1", params=IN).json()["served"] != []


def test_a_session_that_reads_again_after_its_report_is_open_again(api: TestClient, rule_id: str, rows: Rows) -> None:
    search(api, session_id="s1", client_instance="cache-1")
    api.post("/v1/sessions/s1", json={**IN, "client_instance": "cache-1", "ended": True})
    search(api, session_id="s1", client_instance="cache-1")
    assert [row.ended_at for row in rows(ClientSession)] == [None]


def test_nobody_reports_for_another_tokens_session(
    api: TestClient, app: FastAPI, rule_id: str, make_token: Callable[..., str]
) -> None:
    search(api, session_id="s1", client_instance="cache-1")
    stranger = TestClient(app, headers={"Authorization": f"Bearer {make_token()}"})
    answer = stranger.post("/v1/sessions/s1", json={**IN, "client_instance": "cache-1", "ended": True})
    assert answer.status_code == 403


def test_episodes_come_in_by_a_permission_of_their_own(
    app: FastAPI, desk: Desk, make_token: Callable[..., str], rows: Rows
) -> None:
    client = TestClient(app, headers={"Authorization": f"Bearer {make_token('ingest')}"})
    good = b'{"id":"e1","task":"return a kettle","outcome":"success","steps":[{"id":"1","kind":"user","text":"hi"}]}\n'
    answer = client.post("/v1/episodes", params=IN, content=good + b"{broken\n")
    assert answer.status_code == 200, answer.text
    report = answer.json()
    assert (report["accepted"], report["duplicates"], len(report["rejected"])) == (1, 0, 1)
    assert report["rejected"][0]["line"] == 2
    assert client.post("/v1/episodes", params=IN, content=good).json()["duplicates"] == 1
    (row,) = [each for each in rows(Episode) if each.source_id == "e1"]
    assert row.outcome_source == "self-reported"
    (letter,) = rows(DeadLetter)
    assert (letter.line, letter.principal_capped, letter.resolved_at) == (2, True, None), "slowwave rejected shows it"
    assert client.post("/v1/episodes", params=IN, content=b"").status_code == 422
    assert client.post("/v1/episodes", params={**IN, "format": "nonsense"}, content=good).status_code == 422


def test_the_index_follows_every_change(api: TestClient, desk: Desk, rule_id: str) -> None:
    assert len(search(api)["rules"]) == 1
    desk.promoted(finding(desk, "refund_payment", tasks=3))
    assert len(search(api)["rules"]) == 2


def test_ready_and_figures(api: TestClient, rule_id: str) -> None:
    search(api)
    assert api.get("/health/ready").json() == {"status": "ok"}
    text = api.get("/metrics").text
    assert "slowwave_read_rules_served_total 1.0" in text
    assert 'route="/v1/rules/search",status="200"' in text
    assert SPACE not in text


def test_the_contract_is_described(api: TestClient) -> None:
    paths = api.get("/v1/openapi.json").json()["paths"]
    assert {"/v1/rules/search", "/v1/events", "/v1/lease", "/v1/acks", "/v1/episodes"} <= set(paths)


def test_a_promoted_exemplar_is_served_by_no_door_for_rules(api: TestClient, desk: Desk, rows: Rows) -> None:
    set_policy(desk, regime="episodic", exemplars=1)
    ids = desk.record(Ran("t1", "success", ("look", "cancel_order")))
    put_in_cluster(desk, ids)
    night_of(desk, ids)
    exemplar = desk.approve(desk.only()).rule_id
    answer = search(api)
    assert (answer["epoch"], answer["rules"], answer["withheld"]) == (1, [], [])
    for path in (f"/v1/rules/{exemplar}", f"/v1/rules/{exemplar}/versions/1"):
        assert api.get(path, params=IN).status_code == 404
    assert rows(Exposure) == []
