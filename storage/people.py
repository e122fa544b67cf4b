"""Writes on users, tokens and namespaces. Tokens and passwords are stored as hashes only."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, col

from storage.ids import token_hash, uuid7
from storage.queries.people import user_named
from storage.tables import ApiToken, User, WebSession

TOKEN_PREFIX = "sw_"  # noqa: S105 - what a token looks like, so that scanners can find a leaked one


class NameTaken(ValueError):
    """An account of this name exists; names are never given twice, so that the audit log stays unambiguous."""


def add_user(
    session: Session, *, name: str, role: str, namespaces: Sequence[str], password_hash: str | None, now: datetime
) -> User:
    """A new account.

    Raises:
        NameTaken: if there is one of that name.
    """
    if user_named(session, name) is not None:
        raise NameTaken(f"there is an account {name!r} already; choose another name, or: slowwave user token {name}")
    user = User(
        id=uuid7(), name=name, role=role, namespaces=list(namespaces), password_hash=password_hash, created_at=now
    )
    session.add(user)
    session.flush()
    return user


def add_token(
    session: Session,
    *,
    role: str,
    namespaces: Sequence[str],
    now: datetime,
    label: str = "",
    user_id: str | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """A new token and its secret, which is not stored: show it once."""
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = ApiToken(
        id=uuid7(),
        token_hash=token_hash(secret),
        label=label,
        role=role,
        namespaces=list(namespaces),
        user_id=user_id,
        created_at=now,
        expires_at=expires_at,
    )
    session.add(token)
    session.flush()
    return token, secret


def revoke_token(session: Session, token: ApiToken, now: datetime) -> None:
    """A token stops working at once; again is a no-op."""
    token.revoked_at = token.revoked_at or now
    session.add(token)


def set_password(session: Session, user: User, password_hash: str) -> None:
    """A new password ends the person's page sessions."""
    user.password_hash = password_hash
    session.add(user)
    end_sessions(session, user.id)


def disable_user(session: Session, user: User, now: datetime) -> None:
    """The account, its page sessions and its personal tokens stop working at once; what it decided stays."""
    user.disabled_at = user.disabled_at or now
    session.add(user)
    mine = (col(ApiToken.user_id) == user.id) & col(ApiToken.revoked_at).is_(None)
    session.execute(sa.update(ApiToken).where(mine).values(revoked_at=now))
    end_sessions(session, user.id)


def enable_user(session: Session, user: User) -> None:
    """The account may be used again, with its password or a new token: its old tokens stay revoked."""
    user.disabled_at = None
    session.add(user)


def end_sessions(session: Session, user_id: str, *, only: Collection[str] = (), but: str = "") -> int:
    """End a person's page sessions, or ``only`` these of them, all ``but`` one; how many were ended."""
    mine = [col(WebSession.user_id) == user_id, col(WebSession.id) != but]
    if only:
        mine.append(col(WebSession.id).in_(list(only)))
    return int(session.execute(sa.delete(WebSession).where(*mine)).rowcount)  # type: ignore[attr-defined]
