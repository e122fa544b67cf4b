"""Log in, log out; or be signed on by a trusted proxy, where the settings say so."""

from __future__ import annotations

import hmac
import logging
import secrets
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from review_ui import access, logins, sign_on
from review_ui.access import COOKIE, READING_ROLES, CheckedViewer, cookie_name
from review_ui.errors import ForeignForm, PageRefused
from review_ui.logins import DEVICE_COOKIE
from review_ui.site import Site, SiteDep
from review_ui.words import _
from storage.queries.sessions import user_by_name

log = logging.getLogger("slowwave.review_ui")
router = APIRouter()
FORM_COOKIE = "slowwave_form"
DEVICE_SECONDS = 180 * 86_400


@router.get("/login")
def show_login(request: Request, site: SiteDep, next: str = "", left: bool = False) -> Response:
    """The login form, bound to a cookie of its own since there is no session yet; or the proxy's word, if it counts."""
    if sign_on.is_on(site.settings):
        return _sign_on(request, site, next, left)
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
    if sign_on.is_on(site.settings):
        raise PageRefused(_("Nobody logs in here with a password: a proxy signs people on."), _("Reload the page."))
    nonce = _cookie(request, site, FORM_COOKIE)
    if not nonce or not hmac.compare_digest(csrf.encode(), logins.login_mark(site, nonce).encode()):
        raise ForeignForm(
            _("The login form was too old or not ours."), _("Open the login page again and log in there.")
        )
    opened = logins.log_in(
        site,
        name.replace("\x00", "").strip(),
        secret.strip(),
        address=sign_on.client_address(request, site.settings),
        device=_cookie(request, site, DEVICE_COOKIE),
        before=_cookie(request, site, COOKIE),
    )
    if opened is None:
        return _form(site, next, name=name, failed=True)
    answer = RedirectResponse(local_path(next), status_code=303)
    _set(site, answer, COOKIE, opened.cookie, int(site.settings.session_hours * 3600))
    _set(site, answer, DEVICE_COOKIE, opened.device, DEVICE_SECONDS)
    _set(site, answer, FORM_COOKIE, "", 0)
    return answer


@router.post("/logout")
def log_out(site: SiteDep, who: CheckedViewer) -> Response:
    """End this session. A proxy that signs people on would open the next one at once, so that is asked for first."""
    access.close_session(site, who.session_id)
    answer = RedirectResponse("/login?left=1" if sign_on.is_on(site.settings) else "/login", status_code=303)
    _set(site, answer, COOKIE, "", 0)
    return answer


def local_path(wanted: str) -> str:
    """Where to go after the login: a path of this site, nothing else."""
    is_local = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return wanted if is_local and "\\" not in wanted else "/queue"


def _sign_on(request: Request, site: Site, next: str, left: bool) -> Response:
    name = sign_on.proxied_name(request, site.settings)
    if left:
        return _told(
            site,
            _("You are logged out here"),
            _("Your sign-on is a proxy's, which still knows you: log out there too."),
            link=("/login", _("Sign on again")),
        )
    if not name:
        log.warning("sign_on.no_name peer=%s", request.client.host if request.client else "")
        return _told(
            site,
            _("Sign on through your proxy"),
            _("A proxy in front of this page signs people on, so no password is asked for here. "
              "This request did not come through it, or it named nobody."),
            now=_("Open the page at its public address. If you did, ask an operator to look at the proxy's settings."),
        )  # fmt: skip
    with site.database.read() as session:
        user = user_by_name(session, name)
    if user is None or user.role not in READING_ROLES:
        log.warning("sign_on.refused known=%s", user is not None)
        return _told(
            site,
            _("No account for you here"),
            _("You are signed on as {name}, and no account of that name may use these pages.").format(name=name),
            now=_("An operator makes one with: {command}").format(command="slowwave user add NAME --role reviewer"),
        )
    cookie = access.open_session(site, user, via="proxy", before=_cookie(request, site, COOKIE))
    answer = RedirectResponse(local_path(next), status_code=303)
    _set(site, answer, COOKIE, cookie, int(site.settings.session_hours * 3600))
    return answer


def _told(site: Site, title: str, what: str, *, now: str = "", link: tuple[str, str] | None = None) -> Response:
    where, words = link or ("/login", _("Try again"))
    return site.page(
        "message.html", status=200 if link else 403, who=None, active="", title=title, what=what, now=now,
        link=where, link_words=words,
    )  # fmt: skip


def _form(site: Site, next: str, *, name: str = "", failed: bool = False) -> Response:
    nonce = secrets.token_urlsafe(16)
    answer = site.page(
        "message.html",
        part="_login.html",
        title=_("Log in"),
        status=401 if failed else 200,
        who=None,
        active="",
        csrf=logins.login_mark(site, nonce),
        next=local_path(next),
        name=name,
        failed=failed,
    )
    _set(site, answer, FORM_COOKIE, nonce, 3600)
    return answer


def _cookie(request: Request, site: Site, name: str) -> str:
    return request.cookies.get(cookie_name(site.settings, name), "")


def _set(site: Site, answer: Response, name: str, value: str, seconds: int) -> None:
    """Keep a cookie for so long; none at all for 0 seconds."""
    answer.set_cookie(
        cookie_name(site.settings, name), value, max_age=seconds, path="/", httponly=True, samesite="lax",
        secure=site.settings.secure_cookies,
    )  # fmt: skip
