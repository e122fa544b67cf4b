"""A store with three namespaces, two of them alike in name, in which every text says where it is from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlmodel import Session, col

from storage.engine import Database
from storage.ids import token_hash
from storage.people import add_token
from storage.tables import (
    AuditEntry,
    CacheGrant,
    ClientSession,
    Conflict,
    DeadLetter,
    Exposure,
    OutboxEvent,
    RuleVersion,
    SearchMiss,
)
from support import rows

MINE, BELOW, STRANGER = "ann", "ann/shop", "ann1"
SPACES = (MINE, BELOW, STRANGER)
TWO_FACED = {"exemplar": {"episode_id": "shown"}, "when_to_use": "as an example"}


def mark(space: str) -> str:
    """A word that stands in every text of a namespace."""
    return f"mark-of-{space.replace('/', '-')}."


@dataclass(frozen=True)
class Store:
    """The owner's connection, and the tokens that were given out."""

    owner: Database
    tokens: dict[str, str]

    def url(self, role: str) -> dict[str, Any]:
        """What psycopg takes to connect as another role."""
        url = sa.make_url(self.owner.url)
        return {"host": str(url.query["host"]), "dbname": url.database, "user": role}


@pytest.fixture
def store(postgres_database: Database, granted: object) -> Store:
    """Rules, examples, candidates, episodes and people in each namespace; written by the owner."""
    tokens = {}
    with postgres_database.write() as session:
        for space in SPACES:
            _fill(session, space)
            _, tokens[space] = add_token(session, role="agent", namespaces=[space], now=rows.AT)
        _, tokens["everywhere"] = add_token(session, role="auditor", namespaces=[], now=rows.AT)
        token, tokens["revoked"] = add_token(session, role="agent", namespaces=[MINE], now=rows.AT)
        token.revoked_at = rows.AT
        ran_out, yesterday = {"role": "agent", "namespaces": [MINE]}, rows.AT - timedelta(days=900)
        _, tokens["expired"] = add_token(session, **ran_out, now=rows.AT, expires_at=yesterday)  # type: ignore[arg-type]
        _, tokens["ingest"] = add_token(session, role="ingest", namespaces=[MINE], now=rows.AT)
        gone = rows.user("gone")
        gone.disabled_at = rows.AT
        rows.add(session, gone)
        _, tokens["disabled"] = add_token(session, role="agent", namespaces=[MINE], now=rows.AT, user_id=gone.id)
    return Store(postgres_database, tokens)


def _fill(session: Session, space: str) -> None:
    said = mark(space)
    rows.promoted(session, ["one", "two"], space=space)
    here = col(RuleVersion.namespace) == space
    session.execute(sa.update(RuleVersion).where(here).values(content={"when_to_use": f"{said} active"}))
    rows.add(session, rows.rule("old", space=space))
    rows.add(session, rows.version("old", 1, "revoked", space=space, content={"when_to_use": f"{said} withdrawn"}))
    rows.add(session, rows.rule("example", space=space))
    rows.add(session, rows.version("example", 1, space=space, kind="exemplar", content=TWO_FACED))
    rows.add(session, rows.candidate("waiting", space=space))
    rows.add(session, rows.revision("waiting", space=space, content={"when_to_use": f"{said} staged"}))
    for name in ("shown", "hidden"):
        rows.with_body(session, name, {"steps": [{"text": f"{said} {name}"}]}, space=space)
    for number, (left, right) in enumerate([("one@1", "two@1"), ("one@1", "old@1")]):
        sides = {"left": f"{said} side"}
        rows.add(session, Conflict(namespace=space, id=f"c{number}", kind="opposite", left_ref=f"rule:{left}",
            right_ref=f"rule:{right}", detail=f"{said} conflict", sides=sides, at=rows.AT))  # fmt: skip
    rows.add(
        session,
        OutboxEvent(namespace=space, epoch=1, changes=[{"event": "promoted", "rule": "one", "version": 1}],
            created_at=rows.AT, last_error=f"{said} error"),
        Exposure(namespace=space, id=f"x-{space}", session_id=said, token_id="t", rule_id="one", version=1, epoch=1,
            position=0, request_id="r", at=rows.AT),
        CacheGrant(namespace=space, id=f"g-{space}", client_instance=said, token_id="t", rule_id="one", version=1,
            epoch=1, since=rows.AT, until=rows.AT),
        ClientSession(namespace=space, session_id=said, client_instance=said, token_id="t", started_at=rows.AT),
        SearchMiss(id=f"m-{space}", namespace=space, task=f"{said} asked", session_id="s", at=rows.AT),
        DeadLetter(id=f"d-{space}", namespace=space, record_hash="h", file="f", reason=f"{said} refused",
            principal="p", at=rows.AT, tried_at=rows.AT),
    )  # fmt: skip
    seq = SPACES.index(space) + 1
    rows.add(session, AuditEntry(seq=seq, at=rows.AT, actor=said, action="a", previous_hash="", hash=""))


Ask = Callable[..., list[tuple[Any, ...]]]


@contextmanager
def connected(store: Store, role: str, **said: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of a role, in a transaction that says these settings."""
    with psycopg.connect(**store.url(role)) as connection:
        for name, value in said.items():
            connection.execute("SELECT set_config(%s, %s, false)", (f"slowwave.{name}", value))
        connection.commit()
        yield connection


@pytest.fixture
def reader(store: Store) -> Iterator[psycopg.Connection[Any]]:
    """What an attacker has who took over the agents' side while it answered the token of one namespace."""
    with connected(store, "slowwave_reader", token=token_hash(store.tokens[MINE])) as connection:
        yield connection
