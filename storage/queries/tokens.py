"""Who a bearer token is."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import ApiToken, User


def token_by_hash(session: Session, digest: str) -> tuple[ApiToken, User | None] | None:
    """The token with this hash, whatever its state, and the person it acts as."""
    statement = (
        select(ApiToken, User)
        .outerjoin(User, col(User.id) == col(ApiToken.user_id))
        .where(ApiToken.token_hash == digest)
    )
    found = session.exec(statement).first()
    return None if found is None else (found[0], found[1])


def live_tokens(session: Session, ids: Collection[str], now: datetime) -> dict[str, list[str]]:
    """Those of these tokens that may still be used, by id, with the namespaces that each covers."""
    if not ids:
        return {}
    statement = (
        select(ApiToken.id, ApiToken.namespaces)
        .outerjoin(User, col(User.id) == col(ApiToken.user_id))
        .where(
            col(ApiToken.id).in_(ids),
            col(ApiToken.revoked_at).is_(None),
            sa.or_(col(ApiToken.expires_at).is_(None), col(ApiToken.expires_at) > now),
            col(User.disabled_at).is_(None),
        )
    )
    return {token_id: list(namespaces) for token_id, namespaces in session.exec(statement)}
