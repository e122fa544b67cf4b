"""Writes of the agents' side: exposures, cache grants, sessions, searches that found nothing.

A serve **is** the insert of its exposure, conditional on the version being active: no row, no serve.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, SQLModel, col

from storage.ids import uuid7
from storage.queries.bindings import tokens_bound
from storage.queries.rules import VersionKey, versions_by_keys
from storage.tables import ApiToken, CacheGrant, ClientSession, SearchMiss
from storage.tables.base import UtcDateTime

# Written once, for any number of picks: every answer runs it, and building it costs more than running it. PostgreSQL
# wants types said; SQLite keeps the order of a CROSS JOIN, which is a look-up for each pick.
_PICKS = {
    "sqlite": "(SELECT value ->> 0 AS rule_id, value ->> 1 AS version, value ->> 2 AS place, value ->> 3 AS id"
    " FROM json_each(:picks)) AS p",
    "postgresql": "(SELECT e ->> 0 AS rule_id, CAST(e ->> 1 AS integer) AS version, CAST(e ->> 2 AS integer) AS place,"
    " e ->> 3 AS id FROM jsonb_array_elements(CAST(:picks AS jsonb)) AS e) AS p",
}
_GIVEN = {
    "sqlite": ":session_id, :agent, :token_id, :epoch, :request_id, :client_instance, :at",
    "postgresql": "CAST(:session_id AS text), CAST(:agent AS text), CAST(:token_id AS text), CAST(:epoch AS bigint),"
    " CAST(:request_id AS text), CAST(:client_instance AS text), CAST(:at AS timestamptz)",
}
_INSERT = (
    "INSERT INTO exposure (session_id, agent, token_id, epoch, request_id, client_instance, at,"
    " namespace, id, rule_id, version, position)"
    " SELECT {given}, v.namespace, p.id, v.rule_id, v.version, p.place"
    " FROM {picks} CROSS JOIN rule_version AS v WHERE v.namespace = :namespace"
    " AND v.rule_id = p.rule_id AND v.version = p.version AND v.state = 'active' RETURNING rule_id, version"
)
_SERVE = {
    dialect: sa.text(_INSERT.format(given=_GIVEN[dialect], picks=picks)).bindparams(
        sa.bindparam("at", type_=UtcDateTime)
    )
    for dialect, picks in _PICKS.items()
}
_GRANT = sa.insert(CacheGrant)


class ForeignSession(PermissionError):
    """Another token declared this session, or reads through this client instance: only that one may."""


@dataclass(frozen=True)
class Reader:
    """Who reads: a session of an agent, through a token, perhaps from a named cache."""

    namespace: str
    session_id: str
    token_id: str
    agent: str | None = None
    client_instance: str | None = None


def serve(
    session: Session,
    reader: Reader,
    picks: Sequence[VersionKey],
    *,
    epoch: int,
    request_id: str,
    now: datetime,
    grant_until: datetime | None = None,
) -> set[VersionKey]:
    """Write the exposures of those picks that are active at this moment, and return them: only they may be served.

    ``epoch`` is the one read before the picks were chosen. With a client instance and ``grant_until``, each served
    version is also granted to that instance's cache, and the session is tied to it.
    """
    if not picks:
        return set()
    dialect = session.get_bind().dialect.name
    listed = [[rule_id, version, position, uuid7()] for position, (rule_id, version) in enumerate(picks)]
    given = {
        "namespace": reader.namespace, "session_id": reader.session_id, "agent": reader.agent,
        "token_id": reader.token_id, "client_instance": reader.client_instance, "epoch": epoch,
        "request_id": request_id, "at": now, "picks": orjson.dumps(listed).decode(),
    }  # fmt: skip
    served = session.connection().execute(_SERVE[dialect], given)
    keys = {(str(rule_id), int(version)) for rule_id, version in served}
    if reader.client_instance is not None and grant_until is not None:
        _grant(session, reader, keys, epoch, now, grant_until)
    return keys


def declare_session(session: Session, reader: Reader, now: datetime) -> None:
    """Tie a session to its client instance. One that had ended is open again: its report no longer says everything.

    Raises:
        ForeignSession: if either belongs to another token; nothing is written.
    """
    _refuse_foreign(session, reader)
    if reader.client_instance is None:
        return
    values = {
        "namespace": reader.namespace,
        "session_id": reader.session_id,
        "client_instance": reader.client_instance,
        "token_id": reader.token_id,
        "started_at": now,
        "reported": [],
    }
    statement = insertion(session, ClientSession).values(values)
    session.execute(
        statement.on_conflict_do_update(
            index_elements=["namespace", "session_id", "client_instance"],
            set_={"ended_at": None},
            where=col(ClientSession.ended_at).is_not(None),
        )
    )


def report_session(
    session: Session, reader: Reader, reads: Sequence[dict[str, Any]], *, ended: bool, now: datetime
) -> None:
    """Keep what a session says it read through its client instance; ended, that is all it read from the cache.

    Reports add up by version. Versions that do not exist are left out: no report grows past the rules there are.

    Raises:
        ForeignSession: if another token declared the session, or reads through the instance.
    """
    declare_session(session, reader, now)
    key = (reader.namespace, reader.session_id, reader.client_instance)
    row = session.get_one(ClientSession, key, with_for_update=True, populate_existing=True)
    if row.token_id != reader.token_id:  # two tokens declared it in the same moment, and the other was first
        raise _foreign(reader)
    row.reported = _added_up(row.reported, _of_known_versions(session, reader.namespace, reads))
    row.ended_at = now if ended else None
    session.flush()


def _refuse_foreign(session: Session, reader: Reader) -> None:
    if tokens_bound(session, reader.namespace, reader.session_id, reader.client_instance) - {reader.token_id}:
        raise _foreign(reader)


def _foreign(reader: Reader) -> ForeignSession:
    through = f" or its client instance {reader.client_instance!r}" if reader.client_instance else ""
    return ForeignSession(f"session {reader.session_id!r}{through} belongs to another token of {reader.namespace!r}")


def _of_known_versions(session: Session, namespace: str, reads: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = {(str(read["rule"]), int(read["version"])) for read in reads}
    known = {(row.rule_id, row.version) for row in versions_by_keys(session, namespace, keys)}
    return [read for read in reads if (str(read["rule"]), int(read["version"])) in known]


def _added_up(*reports: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry a version, with how often it was read in all."""
    times: Counter[VersionKey] = Counter()
    for read in chain.from_iterable(reports):
        times[str(read["rule"]), int(read["version"])] += int(read.get("times") or 1)
    return [{"rule": rule, "version": version, "times": n} for (rule, version), n in sorted(times.items())]


def record_miss(session: Session, namespace: str, task: str, session_id: str, now: datetime) -> None:
    """A search that found nothing: a reason for tonight."""
    session.add(SearchMiss(id=uuid7(), namespace=namespace, task=task, session_id=session_id, at=now))


def touch_token(session: Session, token_id: str, now: datetime) -> None:
    """The token was used."""
    session.execute(sa.update(ApiToken).where(col(ApiToken.id) == token_id).values(last_used_at=now))


def _grant(session: Session, reader: Reader, keys: set[VersionKey], epoch: int, now: datetime, until: datetime) -> None:
    rows = [
        {
            "namespace": reader.namespace, "id": uuid7(), "client_instance": reader.client_instance,
            "token_id": reader.token_id, "rule_id": rule_id, "version": version, "epoch": epoch, "since": now,
            "until": until,
        }
        for rule_id, version in sorted(keys)
    ]  # fmt: skip
    if rows:
        session.connection().execute(_GRANT, rows)


def insertion(session: Session, table: type[SQLModel]) -> Any:
    """An insert that knows ON CONFLICT, in this database's dialect."""
    name = session.get_bind().dialect.name
    return sqlite.insert(table) if name == "sqlite" else postgresql.insert(table)
