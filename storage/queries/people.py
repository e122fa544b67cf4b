"""Questions about users and their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session, col, select

from storage.tables import ApiToken, User


def user_named(session: Session, name: str) -> User | None:
    """The account of this name, disabled or not: names are never given twice."""
    return session.exec(select(User).where(User.name == name)).first()


def users_all(session: Session) -> Sequence[User]:
    """Every account, by name."""
    return session.exec(select(User).order_by(User.name)).all()


def tokens_all(session: Session) -> Sequence[ApiToken]:
    """Every token, oldest first; only hashes are stored, so none can be shown again."""
    return session.exec(select(ApiToken).order_by(col(ApiToken.id))).all()


def token_by_id(session: Session, token_id: str) -> ApiToken | None:
    """One token."""
    return session.get(ApiToken, token_id)


def token_live(session: Session, digest: str, now: datetime) -> ApiToken | None:
    """The token with this hash that is neither revoked nor expired."""
    statement = select(ApiToken).where(
        ApiToken.token_hash == digest,
        col(ApiToken.revoked_at).is_(None),
        (col(ApiToken.expires_at).is_(None)) | (col(ApiToken.expires_at) > now),
    )
    return session.exec(statement).first()


def person_of(session: Session, token: ApiToken) -> User | None:
    """The person a personal token acts as; None for a machine's token and for a disabled account."""
    user = session.get(User, token.user_id) if token.user_id else None
    return user if user is not None and user.disabled_at is None else None
