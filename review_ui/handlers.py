"""What a request is answered that was refused, went nowhere or failed: a page in the reader's language."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.exc import InterfaceError, OperationalError
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match

from review_ui import links
from review_ui.errors import LoginNeeded, PageRefused, TooManyTries
from review_ui.reader import answering, reader_of
from review_ui.shield import HEADERS
from review_ui.site import Site
from review_ui.words import N_, _
from storage.trouble import trouble_of

log = logging.getLogger("slowwave.review_ui")
Handler = Callable[[Request, Any], Response]
METHODS = ("DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT")

TROUBLES = {
    "full": N_("The database has no room left: its disk or quota is full"),
    "busy": N_("The database is busy: something else has held it for too long"),
    "read-only": N_("The database cannot be written to"),
    "damaged": N_("The database is damaged, or is no database"),
    "lost": N_("The database does not answer"),
    "failed": N_("The database refused what was asked of it"),
}
"""Titles for the kinds of ``storage.trouble``."""


def handlers(site: Site) -> dict[type[Exception], Handler]:
    """The answer to each kind of error."""

    def message(request: Request, status: int, title: str, what: str, now: str) -> Response:
        return site.page(
            "message.html", status=status, who=getattr(request.state, "viewer", None), active="", title=title,
            what=what, now=now, link="/queue", link_words=_("Go to the queue"),
        )  # fmt: skip

    def on_refused(request: Request, error: PageRefused) -> Response:
        answer = message(request, error.status, _(error.title), error.what, error.now)
        if isinstance(error, TooManyTries):
            answer.headers["Retry-After"] = "900"
        return answer

    def on_http(request: Request, error: HTTPException) -> Response:
        if error.status_code == 404:
            return message(request, 404, _("Not found"), _("There is no page at this address."), _("Check it."))
        if error.status_code == 405:
            what = _("This address does not take that kind of request.")
            answer = message(request, 405, _("That did not work"), what, _("Open the page and use its form."))
            answer.headers["Allow"] = ", ".join(methods_of(request))
            return answer
        return message(request, error.status_code, _("That did not work"), str(error.detail), "")

    def on_invalid(request: Request, error: RequestValidationError) -> Response:
        named = ", ".join(str(problem["loc"][-1]) for problem in error.errors())
        what = _("A value is missing or malformed: {names}.").format(names=named)
        return message(request, 422, _("That did not work"), what, _("Go back and check it."))

    def on_database(request: Request, error: OperationalError) -> Response:
        log.error("database.failed", exc_info=error)
        now = _("Wait a moment and reload. If it stays, an operator can run: {command}").format(
            command="slowwave doctor"
        )
        title = _(TROUBLES[trouble_of(error).kind])
        return message(request, 503, title, _("Nothing was changed by this request."), now)

    def on_crash(request: Request, error: Exception) -> Response:
        log.error("page.failed", exc_info=error)
        # The outermost handler answers outside of what tells the reader and of the shield.
        with answering(reader_of(request.cookies, request.headers.get("accept-language", ""))):
            what, now = _("The fault is ours and was logged."), _("Go back, or try once more.")
            answer = message(request, 500, _("This page failed"), what, now)
        answer.headers.update(HEADERS)
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


def methods_of(request: Request) -> list[str]:
    """What this address takes. Each route knows only of its own methods, and one address may have several."""
    routes = request.app.router.routes
    asked = [
        method for method in METHODS if any(_takes(route, {**request.scope, "method": method}) for route in routes)
    ]
    return sorted({*asked, "HEAD"} if "GET" in asked else asked)


def _takes(route: BaseRoute, scope: dict[str, Any]) -> bool:
    return route.matches(scope)[0] is Match.FULL


def on_login_needed(request: Request, _error: LoginNeeded) -> Response:
    """To the login page, and back after it. A request for a part of a page takes the whole page there."""
    if request.headers.get("hx-request") == "true":
        open_now = links.local(request.headers.get("hx-current-url", ""))
        return Response(status_code=401, headers={"HX-Redirect": _login_link(open_now)})
    if request.method != "GET":
        return RedirectResponse("/login", status_code=303)
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(_login_link(request.url.path + query), status_code=303)


def _login_link(wanted: str) -> str:
    return f"/login?next={quote(wanted, safe='')}" if wanted not in ("", "/queue") else "/login"
