"""Bearer tokens: hashed before they are looked up, never logged. Roles and namespaces by whole segments."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import Session

from read_api.errors import Forbidden, Unauthenticated, Unknown, Unprocessable
from read_api.site import Site, SiteDep, bearer_of
from storage.ids import token_hash
from storage.namespaces import NamespaceMalformed, namespace_allows, parse_namespace
from storage.queries.readers import epoch_and_holdout
from storage.queries.tokens import token_by_hash
from storage.serving import touch_token
from storage.tables import ApiToken, User

log = logging.getLogger("slowwave.read_api")

READING = frozenset({"agent", "reviewer", "admin", "auditor"})
HISTORY = frozenset({"reviewer", "admin", "auditor"})
INGESTING = frozenset({"ingest", "admin"})
TOUCH_EVERY = timedelta(minutes=1)
WHERE = "Authorization header"
ASK = "ask the operator for a new one: slowwave token create --role agent --namespace NS"


@dataclass(frozen=True)
class Principal:
    """The token behind a request."""

    token_id: str
    role: str
    namespaces: tuple[str, ...]
    token_hash: str = ""

    def enter(self, namespace: str) -> str:
        """``namespace``, if the token covers it.

        Raises:
            Unprocessable: it is malformed.
            Forbidden: the token does not cover it, whether it exists or not.
        """
        try:
            parse_namespace(namespace)
        except NamespaceMalformed as problem:
            raise Unprocessable(str(problem), "namespace", "correct the namespace") from None
        if not namespace_allows(self.namespaces, namespace):
            raise Forbidden(
                f"this token does not cover namespace {namespace!r}",
                "namespace",
                "use one of the token's namespaces, or ask the operator for a token that covers this one",
            )
        return namespace


def allowed(roles: frozenset[str]) -> Callable[..., Principal]:
    """A dependency: whoever holds a live token of one of these roles."""

    def principal(request: Request, site: SiteDep) -> Principal:
        address = request.client.host if request.client else ""
        now = site.clock()
        try:
            token = _bearer(request)
            digest = token_hash(token)
            is_known = site.rates.admit(digest, address)
            with site.database.read() as session:
                row = _live(session, token, now)
        except Unauthenticated:
            site.rates.bad(address)
            raise
        if not is_known:
            site.rates.good(digest)
        if row.role not in roles:
            raise Forbidden(
                f"a token of role {row.role!r} may not do this",
                f"{request.method} {request.url.path}",
                f"use a token of role {' or '.join(sorted(roles))}",
            )
        _note_use(site, row, now)
        return Principal(row.id, row.role, tuple(row.namespaces), row.token_hash)

    return principal


Reading = Annotated[Principal, Depends(allowed(READING))]
Ingesting = Annotated[Principal, Depends(allowed(INGESTING))]


def known_epoch(session: Session, namespace: str) -> int:
    """The epoch of a namespace that exists, read now.

    Raises:
        Unknown: nothing was ever ingested into it.
    """
    return known(session, namespace)[0]


def known(session: Session, namespace: str) -> tuple[int, float]:
    """The epoch and the holdout of a namespace that exists, read now.

    Raises:
        Unknown: nothing was ever ingested into it.
    """
    found = epoch_and_holdout(session, namespace)
    if found is None:
        raise Unknown(
            f"namespace {namespace!r} is unknown: nothing was ever ingested into it",
            "namespace",
            "check its spelling, or ingest episodes into it first",
        )
    return found


def _bearer(request: Request) -> str:
    token = bearer_of(request)
    if not token:
        raise _unauthenticated("no bearer token was sent", "send `Authorization: Bearer TOKEN`")
    return token


def _live(session: Session, token: str, now: datetime) -> ApiToken:
    found = token_by_hash(session, token_hash(token))
    if found is None:
        raise _unauthenticated("this token is unknown", ASK)
    row, person = found
    ended = _ended(row, person, now)
    if ended:
        raise _unauthenticated(ended, ASK)
    return row


def _ended(row: ApiToken, person: User | None, now: datetime) -> str:
    if row.revoked_at is not None:
        return f"this token was revoked at {row.revoked_at.isoformat(timespec='seconds')}"
    if row.expires_at is not None and row.expires_at <= now:
        return f"this token expired at {row.expires_at.isoformat(timespec='seconds')}"
    if person is not None and person.disabled_at is not None:
        return "the account this token acts for is disabled"
    return ""


def _unauthenticated(what: str, what_now: str) -> Unauthenticated:
    return Unauthenticated(what, WHERE, what_now, headers={"WWW-Authenticate": "Bearer"})


def _note_use(site: Site, row: ApiToken, now: datetime) -> None:
    if row.last_used_at is not None and now - row.last_used_at < TOUCH_EVERY:
        return
    try:
        with site.database.write() as session:
            touch_token(session, row.id, now)
    except SQLAlchemyError as problem:  # a store that cannot be written may still be read
        log.warning("token.use_not_noted kind=%s", type(problem).__name__)
