"""Who is looking: page sessions, personal tokens, login limits. The cookie's value is never stored, only its hash."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import sqlalchemy as sa
from fastapi import Depends, Form, Request
from sqlmodel import Session, col

from review_ui.errors import ForeignForm, LoginNeeded, NotYours, TooManyTries
from review_ui.site import Site, SiteDep
from storage import audit
from storage.ids import keyed_hash, token_hash, uuid7
from storage.namespaces import namespace_allows
from storage.passwords import verify_password
from storage.queries import sessions
from storage.tables import ApiToken, LoginAttempt, User, WebSession
from tasks.promote.people import DECIDING_ROLES, Reviewer

COOKIE = "slowwave_session"
DEVICE_COOKIE = "slowwave_device"
READING_ROLES = frozenset({"reviewer", "admin", "auditor"})
WINDOW = timedelta(minutes=15)
TRIES = 8
SEEN_EVERY = timedelta(minutes=5)


@dataclass(frozen=True)
class Viewer:
    """The person behind a page session."""

    user_id: str
    name: str
    role: str
    namespaces: tuple[str, ...]
    session_id: str
    csrf_token: str

    @property
    def csrf(self) -> str:
        """The token for a form, masked anew each time: what a compressed page holds must not be the same twice."""
        return masked(self.csrf_token, secrets.token_hex(8))

    @property
    def decides(self) -> bool:
        """Whether the role may approve, reject and revoke at all."""
        return self.role in DECIDING_ROLES

    @property
    def sees_all(self) -> bool:
        """Whether no namespace is hidden from this person."""
        return not self.namespaces

    def sees(self, namespace: str) -> bool:
        """Whether a namespace is this person's."""
        return namespace_allows(self.namespaces, namespace)

    def reviewer(self) -> Reviewer:
        """The same person as a decision names them."""
        return Reviewer(self.user_id, self.name, self.role, self.namespaces)


def viewer(request: Request, site: SiteDep) -> Viewer:
    """Whoever is logged in.

    Raises:
        LoginNeeded: if nobody is.
    """
    cookie = request.cookies.get(COOKIE, "")
    now = site.clock()
    digest = token_hash(cookie)
    with site.database.read() as session:
        found = sessions.live_session(session, digest, now) if cookie else None
    if found is None:
        raise LoginNeeded("Nobody is logged in.")
    page_session, user = found
    if now - page_session.last_seen_at > SEEN_EVERY:
        with site.database.write() as session:
            session.execute(sa.update(WebSession).where(col(WebSession.id) == digest).values(last_seen_at=now))
    return Viewer(user.id, user.name, user.role, tuple(user.namespaces), digest, page_session.csrf_token)


def masked(token: str, nonce: str) -> str:
    """A session's token under a nonce, which leads it."""
    return f"{nonce}.{keyed_hash(token.encode(), 'csrf', nonce, length=32)}"


ViewerDep = Annotated[Viewer, Depends(viewer)]


def checked_viewer(who: ViewerDep, csrf: Annotated[str, Form()] = "") -> Viewer:
    """Whoever is logged in and sent a form made for this session.

    Raises:
        ForeignForm: if the form's token is not this session's.
    """
    if not hmac.compare_digest(csrf.encode(), masked(who.csrf_token, csrf.partition(".")[0]).encode()):
        raise ForeignForm("The form was made for another session.", "Go back, reload the page and send it again.")
    return who


CheckedViewer = Annotated[Viewer, Depends(checked_viewer)]


def deciding_viewer(who: CheckedViewer) -> Viewer:
    """Whoever is logged in, sent a form of theirs, and has a role that decides.

    Raises:
        NotYours: for a role that only reads.
    """
    if not who.decides:
        raise NotYours(f"The role {who.role} reads and does not decide.", "Ask a reviewer, or an admin for the role.")
    return who


DecidingViewer = Annotated[Viewer, Depends(deciding_viewer)]


@dataclass(frozen=True)
class Opened:
    """A new page session: the cookie's value, which exists nowhere else."""

    cookie: str
    device: str


def log_in(site: Site, name: str, secret: str, address: str, device: str) -> Opened | None:
    """Open a session for a name with its password or personal token; None if they do not fit.

    Failures count by name and address together, so nobody can lock another out; a browser that logged in as this
    name before has a count of its own, so not even from the same address.

    Raises:
        TooManyTries: after ``TRIES`` failures in ``WINDOW``.
        NotYours: if the account's role has no pages.
    """
    now = site.clock()
    bucket = _bucket(site, name, address, device)
    name_hash = keyed_hash(site.secret, "login-name", name)
    with site.database.read() as session:
        failures = sessions.failed_logins(session, name_hash, bucket, now - WINDOW)
        user = sessions.user_by_name(session, name)
        token = _fitting_token(session, user, secret, now) if user is not None else None
    if failures >= TRIES:
        minutes = int(WINDOW.total_seconds() // 60)
        raise TooManyTries(
            f"Login failed {failures} times for this name from here.", f"Wait {minutes} minutes, then try again."
        )
    stored = user.password_hash if user else None
    if user is None or not (token or verify_password(stored, secret)):
        with site.database.write() as session:
            session.execute(sa.delete(LoginAttempt).where(col(LoginAttempt.at) < now - WINDOW))
            session.add(LoginAttempt(id=uuid7(), name_hash=name_hash, address=bucket, at=now))
        return None
    if user.role not in READING_ROLES:
        raise NotYours(f"An account with the role {user.role} has no pages.", "Log in as a reviewer, admin or auditor.")
    return _open(site, user, token, now)


def _fitting_token(session: Session, user: User, secret: str, now: datetime) -> ApiToken | None:
    """A personal token opens a session only if it allows all that its person may do: a session never widens it."""
    token = sessions.personal_token(session, token_hash(secret), user.id, now)
    if token is None or token.role != user.role:
        return None
    if not user.namespaces:
        return None if token.namespaces else token
    return token if all(namespace_allows(token.namespaces, path) for path in user.namespaces) else None


def _open(site: Site, user: User, token: ApiToken | None, now: datetime) -> Opened:
    cookie = secrets.token_urlsafe(32)
    row = WebSession(
        id=token_hash(cookie),
        user_id=user.id,
        token_id=token.id if token else None,
        csrf_token=secrets.token_urlsafe(32),
        created_at=now,
        last_seen_at=now,
        expires_at=now + timedelta(hours=site.settings.session_hours),
    )
    with site.database.write() as session:
        session.execute(sa.delete(WebSession).where(col(WebSession.expires_at) < now))
        session.add(row)
        audit.record(session, actor=f"user:{user.id}", action="login", target=f"user:{user.id}", now=now)
    nonce = secrets.token_urlsafe(16)
    return Opened(cookie, f"{nonce}.{_device_mark(site, user.name, nonce)}")


def close_session(site: Site, digest: str) -> None:
    """End a page session."""
    with site.database.write() as session:
        session.execute(sa.delete(WebSession).where(col(WebSession.id) == digest))


def _bucket(site: Site, name: str, address: str, device: str) -> str:
    nonce, _, mark = device.partition(".")
    known = bool(nonce) and hmac.compare_digest(mark.encode(), _device_mark(site, name, nonce).encode())
    return f"device:{nonce}" if known else address


def _device_mark(site: Site, name: str, nonce: str) -> str:
    return keyed_hash(site.secret, "device", name, nonce, length=32)


def login_mark(site: Site, nonce: str) -> str:
    """The token of a login form: no session exists yet, so it is bound to a cookie set with the form."""
    return keyed_hash(site.secret, "login-form", nonce, length=32)
