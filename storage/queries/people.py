"""Questions about users and their tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import ApiToken, Namespace, User


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


def user_by_id(session: Session, user_id: str, *, lock: bool = False) -> User | None:
    """One account, disabled or not; with ``lock`` its row is held until commit."""
    statement = select(User).where(User.id == user_id).execution_options(populate_existing=True)
    return session.exec(statement.with_for_update() if lock else statement).one_or_none()


def admins_locked(session: Session) -> Sequence[User]:
    """Every enabled admin, each row held until commit: two of them cannot disable one another in the same moment."""
    statement = select(User).where(User.role == "admin", col(User.disabled_at).is_(None)).order_by(col(User.id))
    return session.exec(statement.with_for_update().execution_options(populate_existing=True)).all()


def tokens_after(session: Session, *, before: str | None = None, limit: int = 200) -> Sequence[ApiToken]:
    """Tokens, the newest first; ``before`` is the id that they come after in this order."""
    statement = select(ApiToken).order_by(col(ApiToken.id).desc()).limit(limit)
    return session.exec(statement.where(col(ApiToken.id) < before) if before else statement).all()


def tokens_of(session: Session, user_id: str) -> Sequence[ApiToken]:
    """A person's own tokens, the newest first, revoked and expired ones too."""
    return session.exec(select(ApiToken).where(ApiToken.user_id == user_id).order_by(col(ApiToken.id).desc())).all()


def tokens_used(session: Session, user_ids: Collection[str]) -> dict[str, datetime]:
    """When a token of each of these people was last used; whose never was is absent."""
    statement = (
        select(ApiToken.user_id, sa.func.max(col(ApiToken.last_used_at)))
        .where(col(ApiToken.user_id).in_(list(user_ids)), col(ApiToken.last_used_at).is_not(None))
        .group_by(col(ApiToken.user_id))
    )
    return {str(user_id): at for user_id, at in session.exec(statement) if at is not None}


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


def policy_of(session: Session, namespace: str) -> dict[str, Any]:
    """What a namespace's policy says; nothing for one that is unknown."""
    return dict(session.exec(select(Namespace.policy).where(Namespace.path == namespace)).one_or_none() or {})
