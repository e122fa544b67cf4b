"""Who is looking: page sessions and their forms. The cookie's value is never stored, only its hash."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Literal

import sqlalchemy as sa
from fastapi import Depends, Form, Request
from sqlmodel import col

from review_ui import sign_on
from review_ui.errors import ForeignForm, LoginNeeded, NotYours
from review_ui.site import Site, SiteDep
from review_ui.words import N_, _
from storage import audit
from storage.ids import keyed_hash, token_hash
from storage.namespaces import namespace_allows
from storage.queries import sessions
from storage.settings import Settings
from storage.tables import ApiToken, User, WebSession
from tasks.promote.people import DECIDING_ROLES, Reviewer

COOKIE = "slowwave_session"
READING_ROLES = frozenset({N_("reviewer"), N_("admin"), N_("auditor")})
SEEN_EVERY = timedelta(minutes=5)
MOST_SESSIONS = 20
"""Open page sessions of one person."""


@dataclass(frozen=True)
class Viewer:
    """The person behind a page session."""

    user_id: str
    name: str
    role: str
    namespaces: tuple[str, ...]
    session_id: str
    csrf_token: str
    token_id: str | None = None

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
        LoginNeeded: if nobody is, or if the proxy that signed this session on names somebody else by now.
    """
    cookie = request.cookies.get(cookie_name(site.settings, COOKIE), "")
    now = site.clock()
    digest = token_hash(cookie)
    with site.database.read() as session:
        found = sessions.live_session(session, digest, now) if cookie else None
    if found is None or found[1].role not in READING_ROLES:
        raise LoginNeeded("Nobody is logged in.")
    page_session, user = found
    if not _holds(request, site, page_session, user):
        close_session(site, digest, why="the proxy no longer vouches for it")
        raise LoginNeeded("The session was somebody else's.")
    if now - page_session.last_seen_at > SEEN_EVERY:
        with site.database.write() as session:
            session.execute(sa.update(WebSession).where(col(WebSession.id) == digest).values(last_seen_at=now))
    who = Viewer(
        user.id, user.name, user.role, tuple(user.namespaces), digest, page_session.csrf_token, page_session.token_id
    )
    request.state.viewer = who  # for the page of an error, which is outside of what depends on this
    return who


def _holds(request: Request, site: Site, page_session: WebSession, user: User) -> bool:
    """Whether a session was opened in the way that is in force, and a proxy's still names the same person."""
    if not sign_on.is_on(site.settings):
        return page_session.via == "login"
    return page_session.via == "proxy" and sign_on.proxied_name(request, site.settings) == user.name


def cookie_name(settings: Settings, name: str) -> str:
    """A cookie's name in the browser. Behind HTTPS no other host of the domain can put one of its own in its place."""
    return f"__Host-{name}" if settings.secure_cookies else name


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
        raise ForeignForm(_("The form was made for another session."), _("Go back, reload the page and send it again."))
    return who


CheckedViewer = Annotated[Viewer, Depends(checked_viewer)]


def deciding_viewer(who: CheckedViewer) -> Viewer:
    """Whoever is logged in, sent a form of theirs, and has a role that decides.

    Raises:
        NotYours: for a role that only reads.
    """
    if not who.decides:
        raise NotYours(
            _("The role {role} reads and does not decide.").format(role=_(who.role)),
            _("Ask a reviewer, or an admin for the role."),
        )
    return who


DecidingViewer = Annotated[Viewer, Depends(deciding_viewer)]


def open_session(
    site: Site, user: User, *, token: ApiToken | None = None, via: Literal["login", "proxy"] = "login", before: str = ""
) -> str:
    """A new page session; returns the cookie's value, which exists nowhere else.

    ``before`` is the cookie that this browser had: that session ends. A person has at most ``MOST_SESSIONS``; the
    ones seen longest ago make room.
    """
    cookie, now = secrets.token_urlsafe(32), site.clock()
    row = WebSession(
        id=token_hash(cookie),
        user_id=user.id,
        token_id=token.id if token else None,
        via=via,
        csrf_token=secrets.token_urlsafe(32),
        created_at=now,
        last_seen_at=now,
        expires_at=now + timedelta(hours=site.settings.session_hours),
    )
    with site.database.write() as session:
        session.execute(sa.delete(WebSession).where(col(WebSession.expires_at) < now))
        older = [one.id for one in sessions.open_sessions(session, [user.id], now)][MOST_SESSIONS - 1 :]
        session.execute(sa.delete(WebSession).where(col(WebSession.id).in_([*older, token_hash(before)])))
        session.add(row)
        audit.record(
            session, actor=f"user:{user.id}", action="login", target=f"user:{user.id}", detail={"via": via}, now=now
        )
    return cookie


def close_session(site: Site, digest: str, *, why: str = "") -> None:
    """End a page session; with ``why`` it was not its person who ended it, and that is written down."""
    with site.database.write() as session:
        ended = session.execute(
            sa.delete(WebSession).where(col(WebSession.id) == digest).returning(col(WebSession.user_id))
        ).scalar_one_or_none()
        if ended is not None and why:
            audit.record(
                session, actor="review-page", action="session.ended", target=f"user:{ended}", detail={"why": why},
                now=site.clock(),
            )  # fmt: skip
