"""Logging in with a password or a personal token, and the limits on guessing.

Failures in ``WINDOW`` are counted three times: of a name from one place, of a name from anywhere, of any name from one
place. None of them keeps anybody out: a browser that logged in as a name before has a count of its own for that name,
and a personal token, which nobody guesses, is not counted at all. Each try is written before the password is looked at,
so that many at once count as many.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlmodel import Session, col

from review_ui.access import READING_ROLES, open_session
from review_ui.errors import NotYours, TooManyTries
from review_ui.site import Site
from review_ui.words import _, ngettext
from storage.ids import keyed_hash, token_hash, uuid7
from storage.namespaces import covers
from storage.passwords import verify_password
from storage.queries import sessions
from storage.queries.sessions import DEVICE
from storage.tables import ApiToken, LoginAttempt, User

DEVICE_COOKIE = "slowwave_device"
WINDOW = timedelta(minutes=15)
TRIES = 8
TRIES_OF_NAME = 40
"""Of one name, from wherever: many addresses guess no faster than this."""
TRIES_OF_PLACE = 80
"""From one address, of whatever names: a password that many people have is not tried on all of them."""


@dataclass(frozen=True)
class Opened:
    """A new page session: the cookie's value, which exists nowhere else, and the mark of the browser."""

    cookie: str
    device: str


def log_in(site: Site, name: str, secret: str, *, address: str, device: str = "", before: str = "") -> Opened | None:
    """Open a session for a name with its password or personal token; None if they do not fit.

    ``device`` and ``before`` are the cookies of this browser: the mark of an earlier login, the session it had.

    Raises:
        TooManyTries: after too many failures in ``WINDOW``, before the password is looked at.
        NotYours: if the account's role has no pages.
    """
    now = site.clock()
    with site.database.read() as session:
        user = sessions.user_by_name(session, name)
        token = _fitting_token(session, user, secret, now) if user is not None else None
    if token is None:
        attempt = _begin(site, name, _place(site, name, address, device), now)
        if not verify_password(user.password_hash if user else None, secret) or user is None:
            return None
        with site.database.write() as session:
            session.execute(sa.delete(LoginAttempt).where(col(LoginAttempt.id) == attempt))
    assert user is not None
    if user.role not in READING_ROLES:
        raise NotYours(
            _("An account with the role {role} has no pages.").format(role=user.role),
            _("Log in as a reviewer, admin or auditor."),
        )
    nonce = secrets.token_urlsafe(16)
    cookie = open_session(site, user, token=token, before=before)
    return Opened(cookie, f"{nonce}.{_device_mark(site, user.name, nonce)}")


def login_mark(site: Site, nonce: str) -> str:
    """The token of a login form: no session exists yet, so it is bound to a cookie set with the form."""
    return keyed_hash(site.secret, "login-form", nonce, length=32)


def _begin(site: Site, name: str, place: str, now: datetime) -> str:
    """Write one try as failed, which it is until it proves otherwise; its id.

    Raises:
        TooManyTries: if there were too many before it; nothing is written then.
    """
    row = LoginAttempt(id=uuid7(), name_hash=keyed_hash(site.secret, "login-name", name), address=place, at=now)
    since = now - WINDOW
    with site.database.write() as session:
        session.execute(sa.delete(LoginAttempt).where(col(LoginAttempt.at) < since))
        here = sessions.failed_logins(session, since, name_hash=row.name_hash, address=place)
        if here >= TRIES:
            raise _too_many(
                ngettext(
                    "Login failed {n} time for this name from here.", "Login failed {n} times for this name from here.",
                    here,
                ).format(n=here)
            )  # fmt: skip
        if not place.startswith(DEVICE):
            if sessions.failed_logins(session, since, name_hash=row.name_hash) >= TRIES_OF_NAME:
                raise _too_many(_("Somebody is trying passwords for this name from many places."))
            if sessions.failed_logins(session, since, address=place) >= TRIES_OF_PLACE:
                raise _too_many(_("Too many logins failed from this address."))
        session.add(row)
        return row.id


def _too_many(what: str) -> TooManyTries:
    minutes = int(WINDOW.total_seconds() // 60)
    now = _("Wait {n} minutes, then try again. Your personal token, and a browser that you used before, work at once.")
    return TooManyTries(what, now.format(n=minutes))


def _fitting_token(session: Session, user: User, secret: str, now: datetime) -> ApiToken | None:
    """A personal token opens a session only if it allows all that its person may do: a session never widens it."""
    token = sessions.personal_token(session, token_hash(secret), user.id, now)
    return token if token and token.role == user.role and covers(token.namespaces, user.namespaces) else None


def _place(site: Site, name: str, address: str, device: str) -> str:
    nonce, _dot, mark = device.partition(".")
    known = bool(nonce) and hmac.compare_digest(mark.encode(), _device_mark(site, name, nonce).encode())
    return f"{DEVICE}{nonce}" if known else address


def _device_mark(site: Site, name: str, nonce: str) -> str:
    return keyed_hash(site.secret, "device", name, nonce, length=32)
