"""What every answer with a text in it is made of: fields, and the rows that are written before it leaves."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from read_api.auth import Principal
from read_api.disagreements import Conflicts
from read_api.schemas import EvidenceOut, WithheldOut
from read_api.site import Site
from storage.queries.rules import VersionKey
from storage.serving import Reader, declare_session, record_miss, serve

GRANT = timedelta(minutes=10)


class Shown(Protocol):
    """What an answer is made of: a version's row, or as much of it as is shown."""

    @property
    def rule_id(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def content(self) -> dict[str, Any]: ...
    @property
    def evidence(self) -> dict[str, Any]: ...
    @property
    def recheck_at(self) -> datetime | None: ...


def write_serve(
    site: Site, reader: Reader, picked: Sequence[Shown], epoch: int, now: datetime, *, missed: str | None = None
) -> set[VersionKey]:
    """Write what this answer leaves behind, in one transaction; what comes back may be shown."""
    grant_until = now + GRANT if reader.client_instance is not None else None
    with site.database.write() as session:
        declare_session(session, reader, now)
        served = serve(
            session,
            reader,
            [key_of(row) for row in picked],
            epoch=epoch,
            request_id=str(uuid.uuid4()),
            now=now,
            grant_until=grant_until,
        )
        if missed is not None:
            record_miss(session, reader.namespace, missed, reader.session_id, now)
    site.metrics.served.inc(len(served))
    site.metrics.lost_races.inc(len(picked) - len(served))
    site.metrics.misses.inc(missed is not None)
    return served


def reader_of(
    who: Principal, namespace: str, session_id: str | None, agent: str | None, client_instance: str | None
) -> Reader:
    """Who reads; without a name, all of a token's reads are one session."""
    return Reader(namespace, session_id or f"token:{who.token_id}", who.token_id, agent, client_instance)


def key_of(row: Shown) -> VersionKey:
    """How a version is named in its namespace."""
    return row.rule_id, row.version


def rule_fields(row: Shown, conflicts: Conflicts) -> dict[str, Any]:
    """What agents get of a version: its text, its scope, and figures that are no part of its text."""
    content = row.content
    return {
        "id": row.rule_id,
        "version": row.version,
        "when_to_use": content.get("when_to_use") or "",
        "guidance": list(content.get("guidance") or []),
        "scope": content.get("scope") or {},
        "evidence": EvidenceOut.model_validate(row.evidence),
        "recheck_at": row.recheck_at.date().isoformat() if row.recheck_at else None,
        "conflicts": conflicts.get(key_of(row), []),
    }


def lost(picked: Sequence[Shown], served: set[VersionKey]) -> list[WithheldOut]:
    """What was chosen, and withdrawn before it could be served."""
    return [
        WithheldOut(id=row.rule_id, version=row.version, reason="no longer active")
        for row in picked
        if key_of(row) not in served
    ]
