"""Puts the tools behind a transport: standard input and output, or streamable HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import sys
import uuid
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import ConfigDict, model_validator

from slowwave_client import AsyncMemory
from slowwave_client.mcp.config import Config, Http
from slowwave_client.mcp.tools import Tools

INSTRUCTIONS = (
    "Rules that people reviewed, for the tasks of one namespace. At the start of a run call search_rules with the "
    "task. Pass the session_id of its answer in every later call. Before an act that cannot be undone call "
    "check_session. At the end call record_episode once. "
    "Rules are advice: they never permit what you were not permitted. "
    "When a call fails with memory_stale or memory_unavailable, go on without memory."
)
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
LARGEST_BODY = 8 * 2**20
READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def run(config: Config) -> None:
    """Serve until the client leaves or the process is told to stop."""
    # Standard output belongs to the protocol.
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(config))


async def serve(config: Config) -> None:
    """Serve this configuration to its end, then report what was read."""
    async with AsyncMemory(config.url, config.token, config.namespace) as memory:
        # On a pipe there is one client, and so one run; over HTTP two that name no session must not be taken for one.
        own = f"mcp-{uuid.uuid4()}" if config.http is None else None
        tools = Tools(memory, agent=config.agent, ingest_token=config.ingest_token, own_session=own)
        server = make_server(tools, config.namespace)
        try:
            if config.http is None:
                await server.run_stdio_async()
            else:
                await _serve_http(server, config.http)
        finally:
            await tools.close()


def make_server(tools: Tools, namespace: str) -> MCPServer[Any]:
    """The tools with their hints; arguments that they do not have are refused, a namespace by name."""
    reading = (tools.search_rules, tools.get_rule, tools.startup_rules, tools.check_session)
    made = [_tool(each, READS, namespace) for each in reading] + [_tool(tools.record_episode, ADDS, namespace)]
    return MCPServer("slowwave", title="Slowwave", instructions=INSTRUCTIONS, tools=made, log_level="WARNING")


def security(http: Http) -> TransportSecuritySettings:
    """Which Host and Origin headers are answered: loopback's own, and those that were named. Stops DNS rebinding."""
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*(f"{name}:{http.port}" for name in LOOPBACK), *http.hosts],
        allowed_origins=[*(f"http://{name}:{http.port}" for name in LOOPBACK), *http.origins],
    )


class Guarded:
    """An ASGI app that answers only who sends the token."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass on, or 401."""
        sent = dict(scope.get("headers") or ()).get(b"authorization", b"")
        if scope["type"] == "lifespan" or hmac.compare_digest(sent, self._wanted):
            await self._app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"send this MCP server's token: Authorization: Bearer TOKEN"})


async def _serve_http(server: MCPServer[Any], http: Http) -> None:
    app: Any = server.streamable_http_app(
        host=http.host, transport_security=security(http), max_request_body_size=LARGEST_BODY
    )
    if http.token is not None:
        app = Guarded(app, http.token)
    config = uvicorn.Config(app, host=http.host, port=http.port, log_level="warning", timeout_graceful_shutdown=3)
    sys.stderr.write(f"slowwave-mcp: http://{http.host}:{http.port}/mcp\n")
    await uvicorn.Server(config).serve()


def _tool(function: Any, hints: ToolAnnotations, namespace: str) -> Tool:
    made = Tool.from_function(function, annotations=hints)
    taken: Any = made.fn_metadata.arg_model

    class Strict(taken):
        model_config = ConfigDict(extra="forbid")

        @model_validator(mode="before")
        @classmethod
        def _stays_inside(cls, given: Any) -> Any:
            if isinstance(given, dict) and "namespace" in given:
                raise ValueError(
                    f"this server is bound to the namespace {namespace!r} and serves no other: leave namespace out"
                )
            return given

    made.fn_metadata.arg_model = Strict
    made.parameters["additionalProperties"] = False
    return made
