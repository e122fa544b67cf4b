"""Searching the audit log: by namespace, actor, act, target, time. ``granted`` are the viewer's namespace prefixes.

The newest first by time and then by number, a page by its neighbour's number: however long the log is, a page is read
from an index (``ix_audit_entry_*``) and stops where it is full.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.namespaces import namespace_allows
from storage.queries.pages import visible_namespaces, within
from storage.tables import AuditEntry, UtcDateTime

MOST_APART = 40
"""Namespaces of a viewer that are each read from their own stretch of the index; past it the log is read along time."""


@dataclass(frozen=True)
class Wanted:
    """What to look for; what is empty or None asks for nothing. ``actors`` are alternatives.

    ``target`` is the whole of it, ``text`` a part of it in whatever case. ``since`` counts in, ``until`` does not.
    """

    namespace: str = ""
    actors: tuple[str, ...] = ()
    action: str = ""
    target: str = ""
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None


def audit_page(
    session: Session,
    granted: Sequence[str],
    wanted: Wanted,
    *,
    older: int | None = None,
    newer: int | None = None,
    limit: int = 50,
) -> list[AuditEntry]:
    """Entries, the latest first. Those without a namespace are for whoever sees every namespace.

    ``older`` and ``newer`` are the number of an entry that the page comes after or before.
    """
    up = newer is not None
    edge = _place(session, newer if up else older)
    if edge is None and (older is not None or up):
        return []
    parts = [_part(where, wanted, edge, up, limit) for where in _places(session, granted, wanted)]
    if not parts:
        return []
    found = parts[0] if len(parts) == 1 else sa.union_all(*(sa.select(part.subquery()) for part in parts))
    seqs = [seq for _, seq in sorted(map(tuple, session.execute(found)), reverse=not up)[:limit]]
    rows = session.exec(select(AuditEntry).where(col(AuditEntry.seq).in_(seqs)))
    return sorted(rows, key=lambda row: (row.at, row.seq), reverse=True)


def audit_export(
    session: Session, granted: Sequence[str], wanted: Wanted, *, most: int, batch: int = 1000
) -> Iterator[AuditEntry]:
    """The same entries, the latest first, ``most`` of them at most."""
    last: int | None = None
    while most > 0:
        rows = audit_page(session, granted, wanted, older=last, limit=min(batch, most))
        yield from rows
        most -= len(rows)
        if len(rows) < batch:
            return
        last = rows[-1].seq


def audit_actions(session: Session) -> list[str]:
    """Kinds of act that the log holds. Each is one step in the index: it is not read through."""
    kinds = sa.select(sa.func.min(col(AuditEntry.action)).label("action")).cte("kinds", recursive=True)
    above = (
        sa.select(sa.func.min(col(AuditEntry.action)))
        .where(col(AuditEntry.action) > kinds.c.action)
        .scalar_subquery()
    )  # fmt: skip
    kinds = kinds.union_all(sa.select(above).where(kinds.c.action.is_not(None)))
    return [action for (action,) in session.execute(sa.select(kinds.c.action)) if action is not None]


def acted_since(
    session: Session, actor: str, action: str, *, namespace: str, target: str, since: datetime
) -> list[AuditEntry]:
    """What this actor did of one kind to one target since then."""
    statement = select(AuditEntry).where(
        AuditEntry.target == target,
        AuditEntry.at >= since,
        AuditEntry.actor == actor,
        AuditEntry.action == action,
        AuditEntry.namespace == namespace,
    )
    return list(session.exec(statement))


def latest_acts(session: Session, actors: Collection[str]) -> dict[str, datetime]:
    """When each of these actors last did something that is in the log; who never did is absent."""
    if not actors:
        return {}
    one = [
        sa.select(col(AuditEntry.actor), col(AuditEntry.at))
        .where(col(AuditEntry.actor) == actor)
        .order_by(col(AuditEntry.at).desc())
        .limit(1)
        .subquery()
        for actor in sorted(actors)
    ]
    return dict(tuple(row) for row in session.execute(sa.union_all(*(sa.select(each) for each in one))))


def _place(session: Session, seq: int | None) -> tuple[datetime, int] | None:
    if seq is None:
        return None
    at = session.exec(select(AuditEntry.at).where(AuditEntry.seq == seq)).one_or_none()
    return None if at is None else (at, seq)


def _places(session: Session, granted: Sequence[str], wanted: Wanted) -> list[list[sa.ColumnElement[bool]]]:
    """The namespaces to look in: one condition where an index answers it whole, else one for each namespace."""
    if wanted.namespace:
        allowed = namespace_allows(granted, wanted.namespace)
        return [[col(AuditEntry.namespace) == wanted.namespace]] if allowed else []
    if not granted:
        return [[]]
    visible = visible_namespaces(session, granted)
    if (
        wanted.text or len(visible) > MOST_APART
    ):  # a text may be in none of them: one reading along time has all it needs
        return [[within(col(AuditEntry.namespace), granted)]]
    return [[col(AuditEntry.namespace) == path] for path in visible]


def _part(
    where: Sequence[sa.ColumnElement[bool]], wanted: Wanted, edge: tuple[datetime, int] | None, up: bool, limit: int
) -> sa.Select[datetime, int]:
    """Time and number of the first ``limit`` entries of one place."""
    at, seq = col(AuditEntry.at), col(AuditEntry.seq)
    statement = sa.select(at, seq).where(*where, *_filters(wanted))
    if edge is not None:
        here, there = (
            sa.tuple_(at, seq),
            sa.tuple_(sa.literal(edge[0], UtcDateTime), sa.literal(edge[1], sa.BigInteger)),
        )
        statement = statement.where(here > there if up else here < there)
    order = (at.asc(), seq.asc()) if up else (at.desc(), seq.desc())
    return statement.order_by(*order).limit(limit)


def _filters(wanted: Wanted) -> list[sa.ColumnElement[bool]]:
    filters: list[sa.ColumnElement[bool]] = []
    if wanted.actors:
        filters.append(col(AuditEntry.actor).in_(wanted.actors))
    if wanted.action:
        filters.append(col(AuditEntry.action) == wanted.action)
    if wanted.target:
        filters.append(col(AuditEntry.target) == wanted.target)
    if wanted.text:
        filters.append(col(AuditEntry.target).icontains(wanted.text, autoescape=True))
    if wanted.since is not None:
        filters.append(col(AuditEntry.at) >= wanted.since)
    if wanted.until is not None:
        filters.append(col(AuditEntry.at) < wanted.until)
    return filters
