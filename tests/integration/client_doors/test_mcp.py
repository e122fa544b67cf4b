"""``slowwave-mcp`` through the real MCP client, on both transports, against a real server."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from mcp import Client, StdioServerParameters

from slowwave_client import AsyncMemory, Memory
from slowwave_client.mcp.config import Config, ConfigWrong, Http, read_config
from slowwave_client.mcp.run import Guarded, make_server, security
from slowwave_client.mcp.tools import Tools
from storage.engine import Database
from storage.settings import Settings
from storage.tables import ClientSession, Episode, Exposure
from support.processes import free_port, wait_until
from support.reviewing import Desk

from .conftest import SPACE, Connected, TokenMaker, serving

TASK = "the customer wants to cancel an order"
STEPS = [{"kind": "user", "text": TASK}, {"kind": "answer", "text": "It is paid, so it stays."}]
Talk = Callable[[Client], Awaitable[None]]


@pytest.fixture
def config(address: str, make_token: TokenMaker) -> Config:
    return Config(address, SPACE, make_token(), make_token("ingest"), agent="clerk")


def talk(server: Any, words: Talk) -> None:
    """Run a conversation of the real client with a server."""

    async def run() -> None:
        async with Client(server, read_timeout_seconds=20) as client:
            await words(client)

    asyncio.run(run())


def within(config: Config, words: Talk, own_session: str | None = "run-1") -> None:
    """The same in this process, without a transport."""

    async def run() -> None:
        async with AsyncMemory(config.url, config.token, config.namespace) as memory:
            tools = Tools(memory, agent=config.agent, ingest_token=config.ingest_token, own_session=own_session)
            async with Client(make_server(tools, config.namespace)) as client:
                await words(client)
            await tools.close()

    asyncio.run(run())


async def said(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """A good answer's structured content; the client has checked it against the published schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return dict(result.structured_content or {})


async def refusal(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """A typed error."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return dict((result.structured_content or {})["error"])


@pytest.mark.processes
def test_over_stdio_a_model_reads_records_and_learns_of_a_revocation(
    config: Config, desk: Desk, rule_id: str, rows: Callable[..., list[Any]]
) -> None:
    environment = {
        "SLOWWAVE_URL": config.url, "SLOWWAVE_NAMESPACE": SPACE, "SLOWWAVE_TOKEN": config.token,
        "SLOWWAVE_INGEST_TOKEN": str(config.ingest_token), "SLOWWAVE_AGENT": "clerk",
    }  # fmt: skip

    async def words(client: Client) -> None:
        found = await said(client, "search_rules", task=TASK)
        assert [rule["id"] for rule in found["rules"]] == [rule_id]
        assert found["rules"][0]["guidance"]
        assert (await said(client, "check_session"))["verdict"] == "fine"
        done = await said(client, "record_episode", task=TASK, steps=STEPS, outcome="failure")
        assert (done["state"], done["session_id"]) == ("new", found["session_id"])
        await asyncio.to_thread(desk.revoke, rule_id, reason="it loses orders")
        assert (await said(client, "check_session"))["verdict"] == "stop"
        gone = await refusal(client, "get_rule", rule_id=rule_id)
        assert (gone["type"], gone["reason"]) == ("rule_withdrawn", "it loses orders")

    talk(StdioServerParameters(command=sys.executable, args=["-m", "slowwave_client.mcp"], env=environment), words)
    (exposure, *_) = rows(Exposure)
    assert exposure.agent == "clerk"
    (session,) = rows(ClientSession)
    assert session.ended_at is not None, "the reads were reported when the client left"
    (episode,) = [row for row in rows(Episode) if row.importer == "canonical" and row.agent == "clerk"]
    assert (episode.session_id, episode.outcome_source) == (exposure.session_id, "self-reported")


@pytest.fixture
def http(config: Config) -> Iterator[str]:
    """The same tools over HTTP on loopback; clients must send a token."""
    where = Http("127.0.0.1", free_port(), token="open-sesame")
    servers: list[uvicorn.Server] = []

    async def serve() -> None:
        async with AsyncMemory(config.url, config.token, config.namespace) as memory:
            tools = Tools(memory, agent=None, ingest_token=None, own_session=None)
            app = make_server(tools, SPACE).streamable_http_app(host=where.host, transport_security=security(where))
            guarded: Any = Guarded(app, str(where.token))
            servers.append(uvicorn.Server(uvicorn.Config(guarded, port=where.port, log_level="warning")))
            await servers[0].serve()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    wait_until("the MCP server listens", lambda: bool(servers) and servers[0].started, seconds=10)
    yield f"http://127.0.0.1:{where.port}/mcp"
    servers[0].should_exit = True
    thread.join(timeout=10)
    assert not thread.is_alive()


def over_http(url: str, words: Talk) -> None:
    """A conversation of the real client over HTTP, with the token."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def run() -> None:
        headers = {"Authorization": "Bearer open-sesame"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=20) as sender,
            Client(streamable_http_client(url, http_client=sender)) as client,
        ):
            await words(client)

    asyncio.run(run())


def test_over_http_two_callers_that_name_no_session_are_not_taken_for_one(http: str, rule_id: str) -> None:
    async def words(client: Client) -> None:
        first = await said(client, "search_rules", task=TASK)
        other = await said(client, "search_rules", task=TASK)
        assert [rule["id"] for rule in first["rules"]] == [rule_id]
        assert first["session_id"] != other["session_id"]
        again = await said(client, "search_rules", task=TASK, session_id=first["session_id"])
        assert again["session_id"] == first["session_id"]
        assert (await refusal(client, "record_episode", task=TASK, steps=STEPS))["type"] == "access_refused"

    over_http(http, words)


ELSEWHERE: tuple[tuple[dict[str, str], int], ...] = (
    ({"Authorization": "Bearer guess"}, 401),
    ({}, 401),
    ({"Authorization": "Bearer open-sesame", "Origin": "https://evil.example"}, 403),
    ({"Authorization": "Bearer open-sesame", "Origin": "http://127.0.0.1.evil.example"}, 403),
    ({"Authorization": "Bearer open-sesame", "Host": "evil.example"}, 421),
    ({"Authorization": "Bearer open-sesame", "Host": "127.0.0.1.evil.example:80"}, 421),
)


def test_http_answers_nobody_without_the_token_or_from_elsewhere(http: str) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = {"Accept": "application/json, text/event-stream"}
    got = [httpx.post(http, json=asked, headers={**accept, **headers}).status_code for headers, _ in ELSEWHERE]
    assert got == [status for _, status in ELSEWHERE]


def test_each_tool_says_what_it_may_change(config: Config) -> None:
    async def words(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        hints = {name: tool.annotations for name, tool in tools.items()}
        assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == {
            "search_rules", "get_rule", "startup_rules", "check_session",
        }  # fmt: skip
        assert all(hint and hint.destructive_hint is False and hint.idempotent_hint for hint in hints.values())
        assert all(tool.output_schema and tool.description for tool in tools.values())
        assert not any("namespace" in tool.input_schema["properties"] for tool in tools.values())
        assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())

    within(config, words)


CALLS: dict[str, dict[str, Any]] = {
    "search_rules": {"task": TASK},
    "get_rule": {"rule_id": "anything"},
    "startup_rules": {},
    "record_episode": {"task": TASK, "steps": STEPS},
    "check_session": {},
}


def test_no_call_can_name_another_namespace(config: Config) -> None:
    async def words(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == set(CALLS)
        for tool, arguments in CALLS.items():
            result = await client.call_tool(tool, {**arguments, "namespace": "acme/payroll"})
            assert result.is_error
            assert f"bound to the namespace {SPACE!r}" in str(result.content)
            assert (await client.call_tool(tool, {**arguments, "name_space": "acme/payroll"})).is_error

    within(config, words)


def test_ids_of_a_call_stay_within_the_namespace(
    config: Config, desk: Desk, rule_id: str, rows: Callable[..., list[Any]]
) -> None:
    """Whatever an id holds, it is one part of an address: neither a path nor a parameter of it."""

    async def words(client: Client) -> None:
        for hostile in ("../lease", "..", "x?namespace=acme", "x&namespace=other", "x/../../v1/lease", "a\n b", ""):
            result = await client.call_tool("get_rule", {"rule_id": hostile})
            assert result.is_error, hostile
        for hostile in ("..", "s?namespace=other", "s/../x", "s&namespace=other#"):
            found = await said(client, "search_rules", task=TASK, session_id=hostile)
            assert found["session_id"] == hostile
        smuggled = [{"kind": "answer", "text": "x", "namespace": "acme/payroll"}]
        assert (await refusal(client, "record_episode", task=TASK, steps=smuggled))["type"] == "bad_request"

    within(config, words)
    assert {row.namespace for row in rows(Exposure)} == {SPACE}


def test_an_episode_recorded_twice_is_one_and_is_no_verifiers_word(
    config: Config, rule_id: str, rows: Callable[..., list[Any]]
) -> None:
    before = len(rows(Episode))

    async def words(client: Client) -> None:
        first = await said(client, "record_episode", task=TASK, steps=STEPS, outcome="success", task_key="cancel")
        again = await said(client, "record_episode", task=TASK, steps=STEPS, outcome="success", task_key="cancel")
        assert (first["state"], again["state"], again["id"]) == ("new", "known", first["id"])
        result = await client.call_tool(
            "record_episode", {"task": TASK, "steps": STEPS, "outcome": "success", "outcome_source": "verifier"}
        )
        assert result.is_error

    within(config, words)
    assert len(rows(Episode)) == before + 1


def test_a_refused_recording_leaves_reading_as_it_was(address: str, make_token: TokenMaker, rule_id: str) -> None:
    token = make_token()
    config = Config(address, SPACE, token, ingest_token=token)

    async def words(client: Client) -> None:
        await said(client, "search_rules", task=TASK)
        told = await refusal(client, "record_episode", task=TASK, steps=STEPS)
        assert told["type"] == "access_refused"
        assert "do not try again" in told["what_now"]
        assert len((await said(client, "search_rules", task=TASK))["rules"]) == 1

    within(config, words)


def test_a_session_of_another_token_is_refused_and_a_new_one_reads_on(
    config: Config, make_token: TokenMaker, rule_id: str
) -> None:
    with Memory(config.url, make_token(), SPACE, events=False) as stranger:
        stranger.rules(TASK, session_id="theirs")

    async def words(client: Client) -> None:
        told = await refusal(client, "search_rules", task=TASK, session_id="theirs")
        assert told["type"] == "foreign_session"
        assert len((await said(client, "search_rules", task=TASK))["rules"]) == 1

    within(config, words)


def test_without_a_server_the_tools_fail_closed_and_tell_the_model_what_to_do(
    settings: Settings, database: Database, desk: Desk, rule_id: str, make_token: TokenMaker
) -> None:
    server = serving(settings, Connected(database, database))
    config = Config(server.__enter__(), SPACE, make_token())

    async def words(client: Client) -> None:
        assert len((await said(client, "search_rules", task=TASK))["rules"]) == 1
        await asyncio.to_thread(server.__exit__, None, None, None)
        deadline = time.monotonic() + settings.lease_seconds + 5
        result = await client.call_tool("search_rules", {"task": TASK})
        while not result.is_error:
            assert time.monotonic() < deadline, "served past its lease"
            result = await client.call_tool("search_rules", {"task": TASK})
            await asyncio.sleep(0.05)
        told = dict((result.structured_content or {})["error"])
        assert told["type"] == "memory_stale"
        assert "go on without memory" in told["what_now"]
        assert (await refusal(client, "check_session"))["type"] == "memory_unavailable"

    within(config, words)


def test_the_startup_pack_is_served_with_reasons(config: Config, rule_id: str) -> None:
    async def words(client: Client) -> None:
        result = await client.call_tool("startup_rules", {"token_budget": 500})
        told = dict(result.structured_content or {})
        assert [rule["id"] for rule in told["rules"]] == [rule_id]
        assert told["rules"][0]["reason"]

    within(config, words)


def test_the_command_says_what_is_missing_and_never_prints_a_token(tmp_path: Path) -> None:
    place = tmp_path / "token"
    place.write_text("sw_secret_of_mine with spaces\n")
    done = subprocess.run(
        [sys.executable, "-m", "slowwave_client.mcp", "--url", "http://127.0.0.1:1", "-n", SPACE],
        env={"SLOWWAVE_TOKEN_FILE": str(place)},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2
    assert "SLOWWAVE_TOKEN does not hold a token" in done.stderr
    assert "sw_secret" not in done.stdout + done.stderr


def test_http_beyond_this_machine_needs_a_token_and_a_name() -> None:
    base = {"SLOWWAVE_URL": "http://127.0.0.1:1", "SLOWWAVE_TOKEN": "t", "SLOWWAVE_NAMESPACE": SPACE}
    for host in ("0.0.0.0", "::", "10.0.0.5", "mcp.example.org"):
        with pytest.raises(ConfigWrong, match="can be reached by others"):
            read_config(["--http", "--host", host], base)
        with pytest.raises(ConfigWrong, match="--allow-host"):
            read_config(["--http", "--host", host], {**base, "SLOWWAVE_MCP_TOKEN": "m"})
    for host in ("127.0.0.1", "127.0.0.9", "::1", "localhost"):
        local = read_config(["--http", "--host", host], base).http
        assert local is not None
        assert local.token is None
    wide = read_config(["--http", "--host", "0.0.0.0", "--allow-host", "m:1"], {**base, "SLOWWAVE_MCP_TOKEN": "m"})
    assert wide.http is not None
    assert security(wide.http).allowed_hosts == ["127.0.0.1:8402", "localhost:8402", "[::1]:8402", "m:1"]
    assert "SLOWWAVE_MCP_TOKEN" not in repr(wide)
    assert "token" not in repr(wide)


def test_the_configuration_of_the_guide_is_one(root: Path, tmp_path: Path) -> None:
    page = (root / "docs" / "mcp.md").read_text()
    (block,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    server = json.loads(block)["mcpServers"]["slowwave"]
    (tmp_path / "token").write_text("sw_one\n")
    read = read_config(server["args"], dict.fromkeys(server["env"], str(tmp_path / "token")))
    assert (read.namespace, read.token, read.ingest_token, read.agent) == (SPACE, "sw_one", "sw_one", "clerk")
    named = set(re.findall(r"`(SLOWWAVE_[A-Z_]+|--[a-z-]+)`", page))
    code = (root / "client" / "src" / "slowwave_client" / "mcp" / "config.py").read_text()
    known = set(re.findall(r"SLOWWAVE_[A-Z_]+|--[a-z-]+", code))
    assert named - {name for name in named if name.removesuffix("_FILE") in known} == set()
    assert known <= named
