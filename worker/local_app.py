"""The composition root: both web apps behind one address. The one place that knows both sides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from read_api.app import create_app as read_app
from read_api.notifier import Notifier
from read_api.server import StreamServer
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
    """Serve until SIGTERM or Ctrl-C. Event streams are ended first, or stopping would wait for them."""
    app, notifier = _parts(settings, database, which)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        lifespan="on",
    )
    server = StreamServer(config, notifier) if notifier is not None else uvicorn.Server(config)
    server.run()


def _parts(settings: Settings, database: Database, which: Which) -> tuple[ASGIApp, Notifier | None]:
    review = review_app(settings, database) if which != "read" else None
    if which == "review":
        assert review is not None
        return review, None
    read = read_app(settings, database)
    notifier: Notifier = read.state.site.notifier
    return (read if review is None else Both(review, read)), notifier
