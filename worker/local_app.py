"""The composition root: both web apps behind one address. The one place that knows both sides."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from read_api.app import create_app as read_app
from read_api.server import Streams, StreamServer
from review_ui.app import create_app as review_app
from storage.engine import Database
from storage.settings import Settings

Which = Literal["review", "read", "both"]
GRACE_SECONDS = 3
AGENTS_SIDE = ("/v1", "/health", "/metrics", "/mcp")


class Both:
    """Sends each request to the app whose path it is. Both keep their own middleware and errors."""

    def __init__(self, review: Any, read: Any) -> None:
        self._review = review
        self._read = read
        # Starlette runs start and stop of an app only for the outermost: here both are asked to.
        self._life = Starlette(lifespan=_lifespans((read, review)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, one web socket, or the life of the process."""
        if scope["type"] == "lifespan":
            await self._life(scope, receive, send)
            return
        path = scope["path"]
        is_agents = any(path == prefix or path.startswith(f"{prefix}/") for prefix in AGENTS_SIDE)
        await (self._read if is_agents else self._review)(scope, receive, send)


def _lifespans(apps: Sequence[Any]) -> Any:
    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for app in apps:
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield

    return life


def make(settings: Settings, database: Database, which: Which = "both") -> ASGIApp:
    """The web app of one process: the review pages, the agents' side, or both."""
    return _parts(settings, database, which)[0]


def serve(settings: Settings, database: Database, which: Which, *, host: str, port: int) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    server = make_server(settings, database, which, host=host, port=port)
    settle_memory()
    server.run()


def settle_memory() -> None:
    """Keep what lives as long as the process out of garbage collection: a full one stops every answer for 140 ms."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)


def make_server(settings: Settings, database: Database, which: Which, *, host: str, port: int) -> StreamServer:
    """The server of one process. Told to stop, it ends its event streams first, or stopping would wait for them."""
    app, holders = _parts(settings, database, which)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        lifespan="on",
        # The peer stays the connection's own: sign-on and login limits read what proxies say themselves, and only from
        # those that are listed (review_ui.sign_on).
        proxy_headers=False,
    )
    return StreamServer(config, *holders)


def _parts(settings: Settings, database: Database, which: Which) -> tuple[ASGIApp, list[Streams]]:
    apps: list[Any] = []
    holders: list[Streams] = []
    if which != "read":
        apps.append(review_app(settings, database))
        holders.append(apps[-1].state.watcher)
    if which != "review":
        ingest = Database(settings.ingest_database_url) if settings.ingest_database_url else None
        apps.append(read_app(settings, database, ingest=ingest))
        holders.append(apps[-1].state.site.notifier)
    return (Both(*apps) if which == "both" else apps[0]), holders
