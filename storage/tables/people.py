"""Namespaces, users, tokens, page sessions, schedules."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field

from storage.tables.base import Row, json_field, one_of, time_field

ROLES = ("agent", "ingest", "reviewer", "admin", "auditor")


class Namespace(Row, table=True):
    """A partition. ``epoch`` is taken under this row's lock."""

    path: str = Field(primary_key=True)
    epoch: int = Field(default=0, sa_type=sa.BigInteger)
    policy: dict[str, Any] = json_field()
    created_at: datetime = time_field()


class User(Row, table=True):
    """A person. ``namespaces`` holds path prefixes by whole segment; an empty list means every namespace."""

    __tablename__ = "user_account"
    __table_args__ = (one_of("role", ROLES, "role"),)

    id: str = Field(primary_key=True)
    name: str = Field(unique=True)
    role: str
    namespaces: list[str] = json_field(list)
    password_hash: str | None = None
    created_at: datetime = time_field()
    disabled_at: datetime | None = time_field(nullable=True)


class ApiToken(Row, table=True):
    """A bearer token, stored hashed. ``user_id`` is set on personal tokens, which act as that person."""

    __tablename__ = "api_token"
    __table_args__ = (one_of("role", ROLES, "role"),)

    id: str = Field(primary_key=True)
    token_hash: str = Field(unique=True)
    label: str = ""
    role: str
    namespaces: list[str] = json_field(list)
    user_id: str | None = Field(default=None, foreign_key="user_account.id", index=True)
    created_at: datetime = time_field()
    expires_at: datetime | None = time_field(nullable=True)
    revoked_at: datetime | None = time_field(nullable=True)
    last_used_at: datetime | None = time_field(nullable=True)


class WebSession(Row, table=True):
    """A logged-in browser. ``id`` is the hash of the cookie's value; ``token_id`` is the token that opened it.

    ``via`` is how: ``login`` with a secret of one's own, or ``proxy`` on the word of a trusted proxy.
    """

    __tablename__ = "web_session"

    id: str = Field(primary_key=True)
    user_id: str = Field(foreign_key="user_account.id", index=True)
    token_id: str | None = Field(default=None, foreign_key="api_token.id")
    via: str = "login"
    csrf_token: str
    created_at: datetime = time_field()
    last_seen_at: datetime = time_field()
    expires_at: datetime = time_field()


class LoginAttempt(Row, table=True):
    """Failed logins by name and by address: slows guessing without locking a name for others."""

    __tablename__ = "login_attempt"

    id: str = Field(primary_key=True)
    name_hash: str = Field(index=True)
    address: str = Field(index=True)
    at: datetime = time_field()


class Schedule(Row, table=True):
    """The nightly hour of a namespace, UTC, ``HH:MM``."""

    namespace: str = Field(primary_key=True, foreign_key="namespace.path")
    at: str
    enabled: bool = True
    updated_at: datetime = time_field()


class Heartbeat(Row, table=True):
    """When a background component last made progress."""

    component: str = Field(primary_key=True)
    at: datetime = time_field()
    detail: dict[str, Any] = json_field()
