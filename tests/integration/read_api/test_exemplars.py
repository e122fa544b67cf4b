"""Promoted runs as examples: whole, with their exposures, and never one that turned out to be spoiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import SQLModel
from starlette.testclient import TestClient

from storage.engine import Database
from storage.tables import Episode, Exposure, SearchMiss
from support.modes import night_of, put_in_cluster, set_policy
from support.reviewing import Desk, Ran

SPACE = "acme/shop"
Rows = Callable[[type[SQLModel]], list[Any]]


@pytest.fixture
def example(desk: Desk) -> tuple[str, str]:
    """A promoted exemplar: its id, and the run that it shows."""
    set_policy(desk, regime="episodic", exemplars=1)
    ids = desk.record(*(Ran(f"t{number}", "success", ("look", "ship")) for number in range(5)))
    put_in_cluster(desk, ids, "orders")
    night_of(desk, ids)
    ((candidate, revision),) = [pair for pair in desk.candidates() if pair[0].kind == "exemplar"]
    promoted = desk.approve(candidate)
    return str(promoted.rule_id), str(revision.content["exemplar"]["episode_id"])


def ask(api: TestClient, **given: Any) -> Any:
    asked = {"namespace": SPACE, "task": "ship an order", "session_id": "s1", **given}
    answer = api.post("/v1/exemplars/search", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_example_is_served_whole_with_its_exposure(api: TestClient, example: tuple[str, str], rows: Rows) -> None:
    answer = ask(api, agent="clerk")
    (found,) = answer["exemplars"]
    assert (found["id"], found["version"], found["outcome"]) == (example[0], 1, "success")
    assert [step["name"] for step in found["steps"] if step["kind"] == "tool_call"] == ["look", "ship"]
    (row,) = rows(Exposure)
    assert (row.rule_id, row.version, row.session_id, row.agent) == (example[0], 1, "s1", "clerk")
    assert answer["epoch"] == row.epoch


def test_an_example_is_no_rule_and_a_rule_no_example(api: TestClient, rule_id: str, example: tuple[str, str]) -> None:
    assert [found["id"] for found in ask(api)["exemplars"]] == [example[0]]
    answer = api.post("/v1/rules/search", json={"namespace": SPACE, "task": "cancel_order look ship"})
    assert [found["id"] for found in answer.json()["rules"]] == [rule_id]


def test_an_example_that_does_not_fit_the_budget_is_withheld_and_leaves_no_exposure(
    api: TestClient, example: tuple[str, str], rows: Rows
) -> None:
    answer = ask(api, token_budget=5)
    assert answer["exemplars"] == []
    assert answer["withheld"][0]["id"] == example[0]
    assert answer["withheld"][0]["reason"].startswith("token budget: needs about ")
    assert rows(Exposure) == []


def test_an_example_that_was_revoked_is_not_served(
    api: TestClient, desk: Desk, example: tuple[str, str], rows: Rows
) -> None:
    desk.revoke(example[0])
    assert ask(api)["exemplars"] == []
    assert rows(Exposure) == []


def test_an_example_whose_run_was_recorded_anew_is_withheld(
    api: TestClient, database: Database, example: tuple[str, str]
) -> None:
    with database.write() as session:
        session.execute(sa.update(Episode).where(Episode.id == example[1]).values(is_current=False))
    answer = ask(api)
    assert answer["exemplars"] == []
    assert answer["withheld"] == [{"id": example[0], "version": 1, "reason": "its run was recorded anew since"}]


def test_a_search_for_examples_that_finds_nothing_is_a_reason_for_the_night(
    api: TestClient, desk: Desk, rows: Rows
) -> None:
    assert ask(api, task="paint a fence")["exemplars"] == []
    assert [row.task for row in rows(SearchMiss)] == ["paint a fence"]


def test_examples_of_another_namespace_are_nobodys_business(
    api: TestClient, example: tuple[str, str], make_token: Callable[..., str]
) -> None:
    headers = {"Authorization": f"Bearer {make_token('agent', 'acme/shop1')}"}
    asked = {"namespace": SPACE, "task": "ship an order"}
    assert api.post("/v1/exemplars/search", json=asked, headers=headers).status_code == 403
