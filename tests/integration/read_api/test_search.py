"""Search: only active versions, each with its exposure; scope, budget and figures as agreed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI
from sqlmodel import SQLModel
from starlette.testclient import TestClient

from storage.tables import (
    CacheGrant,
    ClientSession,
    Conflict,
    Exposure,
    Namespace,
    RuleVersion,
    SearchMiss,
)
from support.reviewing import Desk, finding

SPACE = "acme/shop"
Rows = Callable[[type[SQLModel]], list[Any]]


def ask(api: TestClient, **given: Any) -> Any:
    asked = {"namespace": SPACE, "task": "cancel an order", "session_id": "s1", **given}
    answer = api.post("/v1/rules/search", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_answer_has_exactly_the_agreed_shape(api: TestClient, rule_id: str) -> None:
    answer = ask(api)
    assert set(answer) == {"epoch", "lease_seconds", "age_seconds", "rules", "withheld"}
    assert (answer["epoch"], answer["lease_seconds"], answer["age_seconds"]) == (1, 3, 0)
    (rule,) = answer["rules"]
    assert set(rule) == {
        "id", "version", "when_to_use", "guidance", "scope", "evidence", "recheck_at", "conflicts"
    }  # fmt: skip
    assert (rule["id"], rule["version"]) == (rule_id, 1)
    assert set(rule["evidence"]) == {"independent_groups", "support", "counter", "lift"}
    assert rule["evidence"]["support"] > 0


def test_figures_are_evidence_and_never_guidance(api: TestClient, rule_id: str) -> None:
    (rule,) = ask(api)["rules"]
    said = " ".join([rule["when_to_use"], *rule["guidance"]])
    assert rule["evidence"]["lift"]["odds_ratio"] == 0.1
    assert "odds" not in said
    assert "%" not in said


def test_every_serve_has_its_exposure(api: TestClient, rule_id: str, rows: Rows) -> None:
    ask(api, agent="clerk", client_instance="cache-1")
    (row,) = rows(Exposure)
    assert (row.rule_id, row.version, row.session_id, row.agent) == (rule_id, 1, "s1", "clerk")
    assert (row.epoch, row.position, row.client_instance) == (1, 0, "cache-1")


def test_a_cache_is_granted_what_it_was_served_and_its_session_is_known(
    api: TestClient, rule_id: str, rows: Rows
) -> None:
    asked = {"namespace": SPACE, "task": "cancel", "session_id": "s1", "client_instance": "cache-1"}
    answer = api.post("/v1/rules/search", json=asked)
    (grant,) = rows(CacheGrant)
    assert (grant.rule_id, grant.client_instance) == (rule_id, "cache-1")
    assert (grant.until - grant.since).total_seconds() == int(answer.headers["slowwave-grant-seconds"])
    assert [row.session_id for row in rows(ClientSession)] == ["s1"]


def test_without_a_client_instance_nothing_may_be_cached(api: TestClient, rule_id: str, rows: Rows) -> None:
    answer = api.post("/v1/rules/search", json={"namespace": SPACE, "task": "cancel"})
    assert "slowwave-grant-seconds" not in answer.headers
    assert rows(CacheGrant) == []


def test_a_revoked_version_is_never_served(api: TestClient, desk: Desk, rule_id: str, rows: Rows) -> None:
    ask(api)
    desk.revoke(rule_id)
    answer = ask(api)
    assert answer["rules"] == []
    assert answer["epoch"] == 2
    assert len(rows(Exposure)) == 1


def test_a_version_revoked_between_choice_and_serve_is_withheld(
    api: TestClient, app: FastAPI, desk: Desk, rule_id: str, rows: Rows
) -> None:
    indexes = app.state.site.indexes
    choose = indexes.get

    def revoked_after_the_choice(*given: Any) -> Any:
        index = choose(*given)
        desk.revoke(rule_id)
        return index

    indexes.get = revoked_after_the_choice
    answer = ask(api)
    assert answer["rules"] == []
    assert answer["withheld"] == [{"id": rule_id, "version": 1, "reason": "no longer active"}]
    assert answer["epoch"] == 1, "an answer is never labelled newer than what it was chosen from"
    assert rows(Exposure) == []


def test_a_candidate_that_waits_is_never_served(api: TestClient, desk: Desk) -> None:
    desk.night(finding(desk, "cancel_order", tasks=3))
    assert ask(api)["rules"] == []


def test_the_best_match_comes_first_and_k_limits(api: TestClient, desk: Desk, rule_id: str) -> None:
    other, _ = desk.promoted(finding(desk, "refund_payment", tasks=3))
    assert [rule["id"] for rule in ask(api, task="refund the payment")["rules"]] == [other, rule_id]
    assert [rule["id"] for rule in ask(api, task="refund the payment", k=1)["rules"]] == [other]


def test_what_exceeds_the_token_budget_is_withheld_and_not_exposed(api: TestClient, rule_id: str, rows: Rows) -> None:
    answer = ask(api, token_budget=1)
    assert answer["rules"] == []
    assert answer["withheld"][0]["reason"].startswith("token budget")
    assert rows(Exposure) == []


def test_an_environment_outside_the_verified_versions_is_withheld(api: TestClient, desk: Desk) -> None:
    rule_id, _ = desk.promoted(finding(desk, "cancel_order", tasks=3, environment=(("shop", "2.1"),)))
    assert [rule["id"] for rule in ask(api, environment={"shop": "2.1"})["rules"]] == [rule_id]
    answer = ask(api, environment={"shop": "3.0"})
    assert answer["rules"] == []
    assert answer["withheld"][0]["reason"] == "environment: verified for shop 2.1, not 3.0"


def test_active_rules_that_disagree_are_served_with_their_conflict(
    api: TestClient, desk: Desk, rule_id: str, now: Any
) -> None:
    other, _ = desk.promoted(finding(desk, "refund_payment", tasks=3))
    with desk.database.write() as session:
        for at, right in enumerate((f"rule:{other}@1", "candidate:not-promoted")):
            session.add(
                Conflict(
                    namespace=SPACE, id=f"c{at}", kind="opposite", left_ref=f"rule:{rule_id}@1", right_ref=right,
                    detail="one says do, one says avoid", at=now,
                )
            )  # fmt: skip
    told = {rule["id"]: rule["conflicts"] for rule in ask(api)["rules"]}
    assert [one["id"] for one in told[rule_id]] == [other]
    assert [one["id"] for one in told[other]] == [rule_id]


def test_the_other_side_of_a_conflict_is_served_too_or_neither(
    api: TestClient, desk: Desk, rule_id: str, rows: Rows, now: Any
) -> None:
    other, _ = desk.promoted(finding(desk, "refund_payment", tasks=3))
    third, _ = desk.promoted(finding(desk, "archive_note", tasks=3))
    with desk.database.write() as session:
        candidate = session.get_one(RuleVersion, (SPACE, other, 1)).candidate_id
        session.add(
            Conflict(
                namespace=SPACE, id="c", kind="opposite", left_ref=f"rule:{rule_id}@1",
                right_ref=f"candidate:{candidate}", detail="one says do, one says avoid", at=now,
            )
        )  # fmt: skip
    assert {rule["id"] for rule in ask(api, task="cancel the order", k=2)["rules"]} == {rule_id, other}
    answer = ask(api, task="cancel the order", k=1, session_id="s2")
    assert answer["rules"] == []
    assert {one["id"] for one in answer["withheld"] if one["reason"].startswith("conflict: ")} == {rule_id, other}
    assert [row for row in rows(Exposure) if row.session_id == "s2"] == []
    assert [rule["id"] for rule in ask(api, task="archive the note", k=1)["rules"]] == [third]


def test_a_search_that_finds_nothing_is_logged_for_the_night(api: TestClient, rule_id: str, rows: Rows) -> None:
    ask(api)
    assert rows(SearchMiss) == []
    ask(api, task="译文")
    (miss,) = rows(SearchMiss)
    assert (miss.task, miss.session_id) == ("译文", "s1")


def test_a_namespace_does_not_see_the_rules_of_its_neighbours(api: TestClient, desk: Desk, rule_id: str) -> None:
    Desk(desk.database, desk.now, desk.secret, "acme/shop1").open("eve")
    assert ask(api, namespace="acme/shop1")["rules"] == []


@pytest.mark.parametrize("task", ["a\x00b", "\ud800 broken", "x" * 20_000])
def test_any_text_may_be_a_task(api: TestClient, rule_id: str, task: str) -> None:
    body = f'{{"namespace": "{SPACE}", "task": {_json(task)}, "session_id": "s"}}'
    answer = api.post("/v1/rules/search", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 200, answer.text


def _json(text: str) -> str:
    import json

    return json.dumps(text)


def test_a_held_out_rule_is_withheld_by_session_says_so_and_leaves_no_exposure(
    api: TestClient, desk: Desk, rule_id: str, rows: Rows
) -> None:
    with desk.database.write() as session:
        session.get_one(Namespace, SPACE).policy = {"holdout_fraction": 0.3}
    sessions = [f"s{n}" for n in range(60)]
    served = {one for one in sessions if ask(api, session_id=one)["rules"]}
    assert 10 < len(sessions) - len(served) < 30
    for one in sessions:
        again = ask(api, session_id=one)
        assert bool(again["rules"]) == (one in served), "a session gets the same answer all along"
        if one not in served:
            assert again["withheld"] == [{"id": rule_id, "version": 1, "reason": "holdout"}]
    assert {row.session_id for row in rows(Exposure)} == served
    assert rows(SearchMiss) == []


def test_what_is_of_high_tier_or_asked_without_a_session_is_never_held_out(
    api: TestClient, desk: Desk, rule_id: str
) -> None:
    with desk.database.write() as session:
        session.get_one(Namespace, SPACE).policy = {"holdout_fraction": 0.5}
    assert ask(api, session_id=None)["rules"]
    with desk.database.write() as session:
        session.get_one(RuleVersion, (SPACE, rule_id, 1)).tier = "high"
        session.get_one(Namespace, SPACE).epoch += 1
    assert all(ask(api, session_id=f"s{n}")["rules"] for n in range(20))
