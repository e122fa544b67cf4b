"""How a reader wants the pages: kept in cookies of this browser, for whoever is or is not logged in."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from review_ui import links
from review_ui.reader import LANGUAGE_COOKIE, LANGUAGES, SHORTCUTS_COOKIE
from review_ui.routes.login import local_path
from review_ui.site import SiteDep

router = APIRouter()
YEAR = 365 * 86_400


@router.post("/preferences")
def keep_preferences(
    request: Request, site: SiteDep, language: Annotated[str, Form()] = "", shortcuts: Annotated[str, Form()] = "off"
) -> Response:
    """Keep a language and whether single keys act, then go back to the page that was open."""
    back = local_path(links.local(request.headers.get("referer", "")))
    answer = RedirectResponse(back, status_code=303)
    chosen = {SHORTCUTS_COOKIE: "on" if shortcuts == "on" else "off"}
    if language in LANGUAGES:
        chosen[LANGUAGE_COOKIE] = language
    for name, value in chosen.items():
        answer.set_cookie(
            name, value, max_age=YEAR, path="/", httponly=True, samesite="lax", secure=site.settings.secure_cookies
        )
    return answer
