"""The reviewers' pages as one ASGI app. Nothing is read from the environment here: parts are arguments."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from review_ui.counts import Counts
from review_ui.document import RESPONSES, document
from review_ui.figures import Figures
from review_ui.handlers import handlers
from review_ui.reader import Readers
from review_ui.routes import (
    audit,
    candidates,
    changes,
    conflicts,
    episodes,
    events,
    health,
    login,
    parts,
    people,
    policy,
    preferences,
    queue,
    rules,
    runs,
)
from review_ui.shield import Shield
from review_ui.site import Clock, Site
from review_ui.templating import STATIC, make_templates
from review_ui.watch import Watcher
from storage.engine import Database
from storage.settings import Settings

TOPICS = (
    health, login, preferences, queue, changes, parts, candidates, conflicts, rules, episodes, runs, events, audit,
    people, policy,
)  # fmt: skip


def create_app(
    settings: Settings,
    database: Database,
    clock: Clock = lambda: datetime.now(UTC),
    watcher: Watcher | None = None,
) -> FastAPI:
    """The review pages over one database. ``clock`` gives aware datetimes.

    The watcher's thread runs while somebody watches a run, and is closed with the app; whoever serves the app calls
    ``app.state.watcher.end_streams()`` before it waits for open connections.
    """
    watching = watcher or Watcher(database, clock)

    counts, figures = Counts(database), Figures(database)
    site = Site(settings, database, clock, make_templates(), settings.secret(), counts, figures)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        site.counts.close()
        await run_in_threadpool(watching.close)

    app = FastAPI(
        title="Slowwave review",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        default_response_class=HTMLResponse,
        responses=RESPONSES,
    )
    app.state.watcher = watching
    app.state.site = site
    app.add_middleware(Shield, origins=settings.public_origins)
    app.add_middleware(Readers)
    # Forms carry a masked token, another one each time, so that the length of a page tells nothing of it.
    app.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=6)
    app.mount("/static", CachedFiles(directory=STATIC), name="static")
    for topic in TOPICS:
        app.include_router(topic.router)
    for error, handler in handlers(site).items():
        app.add_exception_handler(error, handler)
    document(app, settings)
    return app


class CachedFiles(StaticFiles):
    """Static files; their addresses carry a stamp of their content, so a browser may keep them."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """The file, to be kept for a day."""
        answer = super().file_response(*args, **kwargs)
        answer.headers["Cache-Control"] = "public, max-age=86400"
        return answer
