"""Log in, log out."""

from __future__ import annotations

import hmac
import secrets
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from review_ui import access
from review_ui.access import COOKIE, DEVICE_COOKIE, CheckedViewer
from review_ui.errors import ForeignForm
from review_ui.site import Site, SiteDep

router = APIRouter()
FORM_COOKIE = "slowwave_form"
DEVICE_SECONDS = 180 * 86_400


@router.get("/login")
def show_login(site: SiteDep, next: str = "") -> Response:
    """The login form, bound to a cookie of its own since there is no session yet."""
    return _form(site, next)


@router.post("/login")
def log_in(
    request: Request,
    site: SiteDep,
    name: Annotated[str, Form(max_length=200)],
    secret: Annotated[str, Form(max_length=1000)],
    csrf: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "",
) -> Response:
    """Open a new session for whoever knows the password, or holds the personal token."""
    nonce = request.cookies.get(FORM_COOKIE, "")
    if not nonce or not hmac.compare_digest(csrf.encode(), access.login_mark(site, nonce).encode()):
        raise ForeignForm("The login form was too old or not ours.", "Open the login page again and log in there.")
    address = request.client.host if request.client else ""
    device = request.cookies.get(DEVICE_COOKIE, "")
    opened = access.log_in(site, name.replace("\x00", "").strip(), secret.strip(), address, device)
    if opened is None:
        return _form(site, next, name=name, failed=True)
    answer = RedirectResponse(local_path(next), status_code=303)
    _set(site, answer, COOKIE, opened.cookie, int(site.settings.session_hours * 3600))
    _set(site, answer, DEVICE_COOKIE, opened.device, DEVICE_SECONDS)
    answer.delete_cookie(FORM_COOKIE)
    return answer


@router.post("/logout")
def log_out(site: SiteDep, who: CheckedViewer) -> Response:
    """End this session."""
    access.close_session(site, who.session_id)
    answer = RedirectResponse("/login", status_code=303)
    answer.delete_cookie(COOKIE)
    return answer


def local_path(wanted: str) -> str:
    """Where to go after the login: a path of this site, nothing else."""
    is_local = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return wanted if is_local and "\\" not in wanted else "/queue"


def _form(site: Site, next: str, *, name: str = "", failed: bool = False) -> Response:
    nonce = secrets.token_urlsafe(16)
    answer = site.page(
        "login.html",
        status=401 if failed else 200,
        who=None,
        active="",
        csrf=access.login_mark(site, nonce),
        next=local_path(next),
        name=name,
        failed=failed,
    )
    _set(site, answer, FORM_COOKIE, nonce, 3600)
    return answer


def _set(site: Site, answer: Response, name: str, value: str, seconds: int) -> None:
    answer.set_cookie(
        name, value, max_age=seconds, path="/", httponly=True, samesite="lax", secure=site.settings.secure_cookies
    )
