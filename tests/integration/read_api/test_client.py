"""The published client against a real server: cached, told, and closed when it cannot know."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlmodel import select

from slowwave_client import (
    AccessRefused,
    AsyncMemory,
    ClientClosed,
    Memory,
    MemoryStale,
    MemoryUnavailable,
    NotFound,
    VersionGone,
    WaitTimeout,
)
from storage.engine import Database
from storage.ids import token_hash
from storage.settings import Settings
from storage.tables import Ack, ApiToken, ClientSession, Exposure
from support.processes import free_port, wait_until
from support.reviewing import Desk, finding

from .conftest import SPACE, Connected, serving

TASK = "the customer wants to cancel an order"


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The client sees no database; what the server does on each of them is tested beside this."""
    return sqlite_database


@pytest.fixture
def token(make_token: Callable[..., str]) -> str:
    return make_token()


@pytest.fixture
def memory(address: str, token: str, desk: Desk) -> Iterator[Memory]:
    """A client whose stream is up."""
    with Memory(address, token, SPACE) as client:
        client.wait_until_connected(timeout=10)
        yield client


def test_what_a_reviewer_approved_is_in_the_next_read(memory: Memory, desk: Desk, rule_id: str) -> None:
    (rule,) = memory.rules(TASK, session_id="s1")
    assert rule.id == rule_id
    assert rule.guidance
    assert rule.evidence.support
    assert rule.recheck_at


def test_a_second_read_asks_no_server_and_costs_microseconds(
    memory: Memory, rule_id: str, rows: Callable[..., list[Any]]
) -> None:
    memory.wait_for_epoch(1)
    memory.rules(TASK, session_id="s1")
    costs = []
    for _ in range(500):
        began = time.perf_counter()
        memory.rules(TASK, session_id="s1")
        costs.append(time.perf_counter() - began)
    assert sorted(costs)[250] < 100e-6
    assert len(rows(Exposure)) == 1


def test_a_revocation_reaches_a_connected_client_in_under_a_second(memory: Memory, desk: Desk, rule_id: str) -> None:
    memory.wait_for_epoch(1)
    assert len(memory.rules(TASK)) == 1
    began = time.monotonic()
    revoked = desk.revoke(rule_id)
    memory.wait_for_epoch(revoked.epoch)
    took = time.monotonic() - began
    assert list(memory.rules(TASK)) == []
    assert took < 1.0


def test_a_promotion_reaches_a_connected_client_too(memory: Memory, desk: Desk) -> None:
    assert list(memory.rules(TASK)) == []
    rule_id, _ = desk.promoted(finding(desk, "cancel_order", tasks=3))
    memory.wait_for_epoch(1)
    assert [rule.id for rule in memory.rules(TASK)] == [rule_id]


def test_a_client_without_a_server_fails_closed_within_its_lease_and_says_why(
    settings: Settings, connected: Connected, desk: Desk, rule_id: str, token: str
) -> None:
    server = serving(settings, connected)
    with Memory(server.__enter__(), token, SPACE) as memory:
        assert len(memory.rules(TASK)) == 1
        server.__exit__(None, None, None)
        stopped = time.monotonic()
        desk.revoke(rule_id)

        def ended() -> MemoryStale | None:
            try:
                memory.rules(TASK)
            except MemoryStale as stale:
                return stale
            return None

        stale = wait_until("the lease ended", ended, seconds=settings.lease_seconds + 1)
        assert time.monotonic() - stopped <= settings.lease_seconds + 0.5
    assert stale is not None
    assert "heard from" in str(stale)
    assert stale.last_error


def test_a_client_comes_back_by_itself_and_has_missed_nothing(
    settings: Settings, connected: Connected, desk: Desk, rule_id: str, token: str
) -> None:
    port = free_port()
    server = serving(settings, connected, port)
    with Memory(server.__enter__(), token, SPACE) as memory:
        memory.wait_until_connected(10)
        memory.rules(TASK)
        server.__exit__(None, None, None)
        epoch = desk.revoke(rule_id).epoch
        with serving(settings, connected, port):
            memory.wait_for_epoch(epoch, timeout=15)
            assert list(memory.rules(TASK)) == []


def test_a_server_that_was_never_reached_is_unavailable(token: str) -> None:
    with Memory("http://127.0.0.1:1", token, SPACE) as memory:
        with pytest.raises(MemoryUnavailable) as raised:
            memory.rules(TASK)
        assert not isinstance(raised.value, MemoryStale)
        with pytest.raises(WaitTimeout):
            memory.wait_until_connected(timeout=0.05)
    with pytest.raises(ClientClosed):
        memory.rules(TASK)


def test_a_token_that_is_revoked_ends_serving(
    memory: Memory, desk: Desk, rule_id: str, token: str, now: datetime
) -> None:
    memory.rules(TASK)
    with desk.database.write() as session:
        session.exec(select(ApiToken).where(ApiToken.token_hash == token_hash(token))).one().revoked_at = now

    def refused() -> bool:
        try:
            memory.rules(TASK)
        except AccessRefused:
            return True
        return False

    wait_until("the client is refused", refused, seconds=5)


def test_refusals_are_typed(memory: Memory, desk: Desk, rule_id: str, address: str, token: str) -> None:
    assert memory.rule(rule_id).version == 1
    with pytest.raises(NotFound):
        memory.rule("nothing")
    desk.revoke(rule_id, reason="it loses orders")
    with pytest.raises(VersionGone, match="revoked") as gone:
        memory.rule(rule_id)
    assert gone.value.reason == "it loses orders"
    with Memory(address, token, "other", events=False) as stranger, pytest.raises(AccessRefused):
        stranger.rules(TASK)


def test_a_session_reports_its_reads_and_learns_what_changed(
    memory: Memory, desk: Desk, rule_id: str, rows: Callable[..., list[Any]]
) -> None:
    with memory.session("run-7", agent="clerk") as session:
        session.rules(TASK)
        session.rules(TASK)
        assert session.check().fine
        desk.revoke(rule_id)
        assert session.check().verdict == "stop"
        assert session.check().stale[0].id == rule_id
    (row,) = rows(ClientSession)
    assert row.ended_at is not None
    assert row.reported == [{"rule": rule_id, "version": 1, "times": 2}]


def test_the_server_learns_which_epoch_a_client_applied(
    memory: Memory, desk: Desk, rule_id: str, rows: Callable[..., list[Any]]
) -> None:
    epoch = desk.revoke(rule_id).epoch
    memory.wait_for_epoch(epoch)
    wait_until(
        "the acknowledgement", lambda: [a.epoch for a in rows(Ack) if a.consumer == memory.client_instance] == [epoch]
    )


def test_without_a_stream_a_revocation_arrives_with_the_next_lease(
    address: str, desk: Desk, rule_id: str, token: str
) -> None:
    with Memory(address, token, SPACE, events=False) as memory:
        memory.rules(TASK)
        epoch = desk.revoke(rule_id).epoch
        memory.wait_for_epoch(epoch, timeout=3)
        assert list(memory.rules(TASK)) == []


def test_the_awaitable_client_does_the_same(address: str, desk: Desk, rule_id: str, token: str) -> None:
    async def run() -> None:
        async with AsyncMemory(address, token, SPACE) as memory:
            await memory.wait_until_connected(timeout=10)
            await memory.wait_for_epoch(1)
            async with memory.session("run-8") as session:
                assert [rule.id for rule in await session.rules(TASK)] == [rule_id]
                began = time.monotonic()
                epoch = (await asyncio.to_thread(desk.revoke, rule_id)).epoch
                await memory.wait_for_epoch(epoch)
                assert time.monotonic() - began < 1.0
                assert list(await session.rules(TASK)) == []
                assert (await session.check()).verdict == "stop"
            with pytest.raises(WaitTimeout):
                await memory.wait_for_epoch(99, timeout=0.01)

    asyncio.run(run())


def test_the_client_works_in_process_through_a_transport(app: FastAPI, desk: Desk, rule_id: str, token: str) -> None:
    async def run() -> None:
        transport = httpx.ASGITransport(app=app)
        async with AsyncMemory("http://testserver", token, SPACE, events=False, transport=transport) as memory:
            assert [rule.id for rule in await memory.rules(TASK)] == [rule_id]

    asyncio.run(run())


def test_many_threads_share_one_client(memory: Memory, desk: Desk, rule_id: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    memory.wait_for_epoch(1)
    with ThreadPoolExecutor(8) as pool:
        before = list(pool.map(lambda n: len(memory.rules(TASK, session_id=f"s{n % 4}")), range(200)))
        memory.wait_for_epoch(desk.revoke(rule_id).epoch)
        after = list(pool.map(lambda n: len(memory.rules(TASK, session_id=f"s{n % 4}")), range(200)))
    assert set(before) == {1}
    assert set(after) == {0}


def test_the_examples_in_the_readme_run(
    root: Path, address: str, make_token: Callable[..., str], rule_id: str, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWWAVE_URL", address)
    monkeypatch.setenv("SLOWWAVE_TOKEN", make_token())
    monkeypatch.setenv("SLOWWAVE_INGEST_TOKEN", make_token("ingest"))
    examples = re.findall(r"```python\n(.*?)```", (root / "client" / "README.md").read_text(), re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        exec(compile(example, "client/README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert "recorded: new" in shown
    assert f"{rule_id} version 1" in shown
    assert "go on" in shown
