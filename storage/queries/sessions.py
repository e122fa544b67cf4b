"""People at the review page: who a name or token is, whose cookie this is, how often a login failed."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import ApiToken, LoginAttempt, User, WebSession

DEVICE = "device:"
"""How the place of a failed login begins that was no address, but a browser that is known for the name."""


def user_by_name(session: Session, name: str) -> User | None:
    """The account of this name that may still be used."""
    return session.exec(select(User).where(User.name == name, col(User.disabled_at).is_(None))).first()


def personal_token(session: Session, digest: str, user_id: str, now: datetime) -> ApiToken | None:
    """The live personal token with this hash, if it is this person's."""
    statement = select(ApiToken).where(ApiToken.token_hash == digest, ApiToken.user_id == user_id, _is_live(now))
    return session.exec(statement).first()


def live_session(session: Session, digest: str, now: datetime) -> tuple[WebSession, User] | None:
    """The page session whose cookie hashes to ``digest``, with its person.

    None once it ended, its person was disabled, or the token that opened it was revoked or ran out.
    """
    statement = (
        select(WebSession, User)
        .join(User, col(User.id) == col(WebSession.user_id))
        .outerjoin(ApiToken, col(ApiToken.id) == col(WebSession.token_id))
        .where(WebSession.id == digest, *_may_go_on(now))
    )
    return session.exec(statement).first()


def open_sessions(session: Session, user_ids: Collection[str], now: datetime) -> list[WebSession]:
    """Page sessions of these people that still live, the last seen first."""
    statement = (
        select(WebSession)
        .join(User, col(User.id) == col(WebSession.user_id))
        .outerjoin(ApiToken, col(ApiToken.id) == col(WebSession.token_id))
        .where(col(WebSession.user_id).in_(list(user_ids)), *_may_go_on(now))
        .order_by(col(WebSession.last_seen_at).desc(), col(WebSession.id))
    )
    return list(session.exec(statement))


def failed_logins(
    session: Session, since: datetime, *, name_hash: str | None = None, address: str | None = None
) -> int:
    """How often a login failed since then: of this name, from this address, or of this name from there.

    Without an address, those from browsers that logged in as this name before are not counted: they are its person's.
    """
    statement = select(sa.func.count()).select_from(LoginAttempt).where(LoginAttempt.at >= since)
    if name_hash is not None:
        statement = statement.where(LoginAttempt.name_hash == name_hash)
    if address is not None:
        return session.exec(statement.where(LoginAttempt.address == address)).one()
    return session.exec(statement.where(~col(LoginAttempt.address).startswith(DEVICE))).one()


def user_names(session: Session, user_ids: list[str]) -> dict[str, str]:
    """Names by user id."""
    if not user_ids:
        return {}
    return {user.id: user.name for user in session.exec(select(User).where(col(User.id).in_(user_ids)))}


def _is_live(now: datetime) -> sa.ColumnElement[bool]:
    expires = col(ApiToken.expires_at)
    return sa.and_(col(ApiToken.revoked_at).is_(None), expires.is_(None) | (expires > now))


def live_grants(session: Session, digests: Collection[str], now: datetime) -> dict[str, tuple[str, ...]]:
    """By page session that still lives, the namespaces its person reviews (none listed: all)."""
    statement = (
        select(WebSession.id, User.namespaces)
        .join(User, col(User.id) == col(WebSession.user_id))
        .outerjoin(ApiToken, col(ApiToken.id) == col(WebSession.token_id))
        .where(col(WebSession.id).in_(list(digests)), *_may_go_on(now))
    )
    return {digest: tuple(namespaces) for digest, namespaces in session.exec(statement)}


def _may_go_on(now: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        col(WebSession.expires_at) > now,
        col(User.disabled_at).is_(None),
        col(WebSession.token_id).is_(None) | _is_live(now),
    )
