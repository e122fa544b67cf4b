"""People at the review page: who a name or token is, whose cookie this is, how often a login failed."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import ApiToken, LoginAttempt, User, WebSession


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
        .where(
            WebSession.id == digest,
            WebSession.expires_at > now,
            col(User.disabled_at).is_(None),
            col(WebSession.token_id).is_(None) | _is_live(now),
        )
    )
    return session.exec(statement).first()


def failed_logins(session: Session, name_hash: str, address: str, since: datetime) -> int:
    """How often this name failed from this address since then."""
    statement = select(sa.func.count()).where(
        LoginAttempt.name_hash == name_hash, LoginAttempt.address == address, LoginAttempt.at >= since
    )
    return session.exec(statement).one()


def user_names(session: Session, user_ids: list[str]) -> dict[str, str]:
    """Names by user id."""
    if not user_ids:
        return {}
    return {user.id: user.name for user in session.exec(select(User).where(col(User.id).in_(user_ids)))}


def _is_live(now: datetime) -> sa.ColumnElement[bool]:
    expires = col(ApiToken.expires_at)
    return sa.and_(col(ApiToken.revoked_at).is_(None), expires.is_(None) | (expires > now))
