"""The reviewers' pages as one ASGI app. Nothing is read from the environment here: parts are arguments."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.exc import InterfaceError, OperationalError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from review_ui.errors import LoginNeeded, PageRefused, TooManyTries
from review_ui.reader import Readers
from review_ui.routes import audit, candidates, conflicts, episodes, health, login, preferences, queue, rules, runs
from review_ui.shield import HEADERS, Shield
from review_ui.site import Clock, Site
from review_ui.templating import STATIC, make_templates
from storage.engine import Database
from storage.settings import Settings
from storage.trouble import trouble_of

log = logging.getLogger("slowwave.review_ui")
Handler = Callable[[Request, Any], Response]


def create_app(settings: Settings, database: Database, clock: Clock = lambda: datetime.now(UTC)) -> FastAPI:
    """The review pages over one database. ``clock`` gives aware datetimes."""
    app = FastAPI(title="Slowwave review", docs_url=None, redoc_url=None, openapi_url=None)
    site = Site(settings, database, clock, make_templates(), settings.secret())
    app.state.site = site
    app.add_middleware(Shield, origins=settings.public_origins)
    app.add_middleware(Readers)
    # Forms carry a masked token, another one each time, so that the length of a page tells nothing of it.
    app.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=6)
    app.mount("/static", CachedFiles(directory=STATIC), name="static")
    for topic in (health, login, preferences, queue, candidates, conflicts, rules, episodes, runs, audit):
        app.include_router(topic.router)
    for error, handler in _handlers(site).items():
        app.add_exception_handler(error, handler)
    return app


class CachedFiles(StaticFiles):
    """Static files; their addresses carry a stamp of their content, so a browser may keep them."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """The file, to be kept for a day."""
        answer = super().file_response(*args, **kwargs)
        answer.headers["Cache-Control"] = "public, max-age=86400"
        return answer


def _handlers(site: Site) -> dict[type[Exception], Handler]:
    def message(status: int, title: str, what: str, now: str) -> Response:
        return site.page(
            "message.html", status=status, who=None, active="", title=title, what=what, now=now,
            link="/queue", link_words="Go to the queue",
        )  # fmt: skip

    def on_login_needed(request: Request, _: LoginNeeded) -> Response:
        if request.method != "GET":
            return RedirectResponse("/login", status_code=303)
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/login?next={quote(wanted, safe='')}" if wanted != "/queue" else "/login", 303)

    def on_refused(_: Request, error: PageRefused) -> Response:
        answer = message(error.status, error.title, error.what, error.now)
        if isinstance(error, TooManyTries):
            answer.headers["Retry-After"] = "900"
        return answer

    def on_http(_: Request, error: HTTPException) -> Response:
        if error.status_code == 404:
            return message(404, "Not found", "There is no page at this address.", "Check it, or go to the queue.")
        return message(error.status_code, "That did not work", str(error.detail), "")

    def on_invalid(_: Request, error: RequestValidationError) -> Response:
        named = ", ".join(str(problem["loc"][-1]) for problem in error.errors())
        return message(422, "That did not work", f"A value is missing or malformed: {named}.", "Go back and check it.")

    def on_database(_: Request, error: OperationalError) -> Response:
        log.error("database.failed", exc_info=error)
        return message(
            503,
            f"The database {trouble_of(error).what}",
            "Nothing was changed by this request.",
            "Wait a moment and reload; if it stays, an operator can run: slowwave doctor",
        )

    def on_crash(_: Request, error: Exception) -> Response:
        log.error("page.failed", exc_info=error)
        answer = message(500, "This page failed", "The fault is ours and was logged.", "Go back, or try once more.")
        answer.headers.update(HEADERS)  # the outermost handler answers outside the shield
        return answer

    return {
        LoginNeeded: on_login_needed,
        PageRefused: on_refused,
        HTTPException: on_http,
        RequestValidationError: on_invalid,
        OperationalError: on_database,
        InterfaceError: on_database,
        Exception: on_crash,
    }
