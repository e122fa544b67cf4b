"""A run that the client records: its episode arrives, and what it says it read meets the rows of what it was served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from slowwave_client import AsyncMemory, Memory
from storage.bodies import load_bodies
from storage.engine import Database
from storage.queries.lineage import claimed_reads, reads_of_episodes, reads_of_sessions
from storage.tables import Episode, Exposure

from .conftest import SPACE, TokenMaker

TASK = "the customer wants to cancel an order"


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


@pytest.fixture
def tokens(make_token: TokenMaker) -> dict[str, str]:
    return {"token": make_token(), "ingest_token": make_token("ingest")}


def only_episode(rows: Callable[..., list[Any]], session_id: str) -> Episode:
    (row,) = [row for row in rows(Episode) if row.session_id == session_id]
    assert isinstance(row, Episode)
    return row


def test_a_recorded_run_arrives_with_its_reads_its_steps_and_its_outcome(
    address: str, tokens: dict[str, str], rule_id: str, database: Database, rows: Callable[..., list[Any]]
) -> None:
    with Memory(address, namespace=SPACE, **tokens) as memory:
        with memory.session("run-42", agent="clerk") as session:
            record = session.episode(TASK, task_key="cancel/7", environment={"shop": "2.1"})
            session.rules(TASK)
            session.rules(TASK)
            call = record.step("tool_call", name="get_order", arguments={"id": 7})
            record.step("observation", "shipped", of=call)
            record.outcome("success", "environment")
        assert record.sent == "new"
    row = only_episode(rows, "run-42")
    assert (row.agent, row.task_key, row.outcome, row.outcome_source) == ("clerk", "cancel/7", "success", "environment")
    with database.read() as session:
        steps = load_bodies(session, SPACE, [row.id])[row.id]["steps"]
        served = reads_of_sessions(session, SPACE, ["run-42"])["run-42"]
    assert [step["kind"] for step in steps] == ["memory_read", "tool_call", "observation"]
    assert claimed_reads(row.details["memory_reads"]) == served == {(rule_id, 1)}


def test_a_claim_that_no_row_bears_out_still_takes_weight_and_is_told_apart(
    address: str, tokens: dict[str, str], rule_id: str, database: Database, rows: Callable[..., list[Any]]
) -> None:
    with (
        Memory(address, namespace=SPACE, **tokens) as memory,
        memory.session("run-43") as session,
    ):
        record = session.episode(TASK)
        record.step("memory_read", rule=rule_id, version=1)
    row = only_episode(rows, "run-43")
    assert rows(Exposure) == []
    with database.read() as session:
        assert reads_of_sessions(session, SPACE, ["run-43"]) == {}
        assert reads_of_episodes(session, SPACE, [row.id]) == {row.id: {(rule_id, 1)}}


def test_a_run_that_breaks_is_recorded_as_far_as_it_came(
    address: str, tokens: dict[str, str], rule_id: str, rows: Callable[..., list[Any]]
) -> None:
    with (
        Memory(address, namespace=SPACE, **tokens) as memory,
        pytest.raises(ZeroDivisionError),
        memory.session("run-44") as session,
    ):
        session.episode(TASK).step("plan", "divide")
        raise ZeroDivisionError
    row = only_episode(rows, "run-44")
    assert (row.outcome, row.n_steps) == ("unknown", 1)


def test_an_agents_own_token_may_not_record_and_goes_on_reading(
    address: str, tokens: dict[str, str], rule_id: str, rows: Callable[..., list[Any]]
) -> None:
    before = len(rows(Episode))
    with Memory(address, tokens["token"], SPACE) as memory:
        with memory.session("run-45") as session:
            record = session.episode(TASK)
        assert record.sent is None
        assert record.problem is not None
        assert record.problem.status == 403
        assert len(memory.rules(TASK)) == 1
    assert len(rows(Episode)) == before


def test_the_awaitable_client_records_the_same(
    address: str, tokens: dict[str, str], rule_id: str, rows: Callable[..., list[Any]]
) -> None:
    async def run() -> str | None:
        async with AsyncMemory(address, namespace=SPACE, **tokens) as memory:
            async with memory.session("run-46") as session:
                record = session.episode(TASK)
                await session.rules(TASK)
            return record.sent

    assert asyncio.run(run()) == "new"
    assert only_episode(rows, "run-46").details["memory_reads"] == [[rule_id, 1]]
