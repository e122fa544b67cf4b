"""The queue: what waits for a person, filtered and in order. ``granted`` are the viewer's namespace prefixes.

Each order has an index that holds what is filtered by, so a page is found without a look at the rows that it leaves
out, however far down it lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.pages import among, within
from storage.tables import (
    Candidate,
    CandidateRevision,
    Conflict,
    Decision,
    Reservation,
    User,
)
from storage.tables.review import CLOSED, PARKED, WAITING

Standing = Literal["waiting", "parked", "promoted", "rejected", "void"]
Order = Literal["worth", "oldest", "newest", "reach", "doubts"]
Checks = Literal["failing", "warning", "clean"]
Age = Literal["day", "week", "month", "older"]
AGES: Mapping[Age, timedelta] = {"day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30)}
"""``older`` is all that is older than a month."""
INDEXED: Mapping[Standing, str] = {
    "waiting": WAITING,
    "parked": PARKED,
    "promoted": f"{CLOSED} AND state = 'promoted'",
    "rejected": f"{CLOSED} AND state = 'rejected'",
    "void": f"{CLOSED} AND state = 'void'",
}
PREFIX = "candidate:"
NEVER = datetime.max.replace(tzinfo=UTC)
"""Now, where no age is asked for."""


@dataclass(frozen=True)
class Asked:
    """Which candidates. None leaves a filter open; ``now`` is what ages are counted from."""

    now: datetime
    granted: tuple[str, ...] = ()
    standing: Standing = "waiting"
    namespace: str | None = None
    tier: str | None = None
    kind: str | None = None
    checks: Checks | None = None
    age: Age | None = None
    conflicts: bool | None = None

    @property
    def is_open(self) -> bool:
        """Whether these still wait for something; the others were closed at ``updated_at``."""
        return self.standing in ("waiting", "parked")


def queue_page(
    session: Session, asked: Asked, order: Order = "worth", offset: int = 0, limit: int = 50
) -> list[Candidate]:
    """One page in order. The keys are read from an index alone, the rows only of those on the page."""
    keys = _ordered(_keys(asked), asked, order).offset(offset).limit(limit).subquery()
    same = (col(Candidate.namespace) == keys.c.namespace) & (col(Candidate.id) == keys.c.id)
    return list(session.exec(_ordered(select(Candidate).join(keys, same), asked, order)))


def queue_pairs(
    session: Session,
    namespace: str,
    order: Order = "worth",
    *,
    standing: Standing = "waiting",
    tier: str | None = None,
    kind: str | None = None,
) -> list[tuple[Candidate, CandidateRevision]]:
    """Every candidate of one namespace with its whole standing revision, in order."""
    asked = Asked(NEVER, standing=standing, namespace=namespace, tier=tier, kind=kind)
    statement = (
        select(Candidate, CandidateRevision).join(CandidateRevision, current_revision()).where(*filters_of(asked))
    )
    return [(row[0], row[1]) for row in session.execute(_ordered(statement, asked, order))]


def free_keys(session: Session, asked: Asked, order: Order, user_id: str, batch: int = 50) -> list[tuple[str, str]]:
    """(namespace, id) of the next few candidates that nobody reads, and that this person may still decide on.

    Left out is what they wrote or edited, and what they approved already. Looked through in order, a batch at a time.
    """
    statement, offset = _ordered(_keys(asked), asked, order), 0
    while keys := [(row.namespace, row.id) for row in session.execute(statement.offset(offset).limit(batch))]:
        taken = _not_free(session, keys, user_id, asked.now)
        if free := [key for key in keys if key not in taken]:
            return free
        offset += batch
    return []


def _not_free(session: Session, keys: Sequence[tuple[str, str]], user_id: str, now: datetime) -> set[tuple[str, str]]:
    ids = [candidate_id for _, candidate_id in keys]
    wrote = sa.select(col(CandidateRevision.namespace), col(CandidateRevision.candidate_id)).where(
        col(CandidateRevision.namespace).in_({namespace for namespace, _ in keys}),
        col(CandidateRevision.candidate_id).in_(ids),
        col(CandidateRevision.author) == user_id,
    )
    voted = (
        sa.select(col(Decision.namespace), col(Decision.candidate_id))
        .join(Candidate, _same(Decision))
        .where(col(Candidate.namespace).in_({namespace for namespace, _ in keys}), col(Candidate.id).in_(ids))
        .where(col(Decision.reviewer_id) == user_id, col(Decision.voided_at).is_(None))
        .where(col(Decision.content_hash) == col(Candidate.content_hash))
    )
    found = {(row[0], row[1]) for statement in (wrote, voted) for row in session.execute(statement)}
    return found | set(reservations_on(session, keys, now))


def index_of(asked: Asked) -> str:
    """The condition of the index, word for word: with a parameter in its place no database would take it."""
    return INDEXED[asked.standing]


def time_of(asked: Asked, table: Any = None) -> Any:
    """What ages are told by: when it came, or when it was closed."""
    columns = Candidate if table is None else table.c
    return columns.created_at if asked.is_open else columns.updated_at


def filters_of(asked: Asked, where: str = "") -> list[sa.ColumnElement[bool]]:
    """Conditions for all that is asked; ``where`` takes the place of the standing."""
    filters: list[Any] = [sa.text(where or index_of(asked)), within(col(Candidate.namespace), asked.granted)]
    for name in ("tier", "kind"):
        if getattr(asked, name) is not None:
            filters.append(getattr(Candidate, name) == getattr(asked, name))
    if asked.namespace is not None:
        # As an expression, so that the index of the order is read and not that of the namespaces, which is in no order.
        filters.append(col(Candidate.namespace) + "" == asked.namespace)
    failing, warning = col(Candidate.failing), col(Candidate.warning)
    if asked.checks is not None:
        clean = (failing == 0) & (warning == 0)
        filters.append(
            {"failing": failing > 0, "warning": (failing == 0) & (warning > 0), "clean": clean}[asked.checks]
        )
    filters += age_filter(asked)
    if asked.conflicts is not None:
        found = disputed().subquery()
        if asked.conflicts:
            key = sa.tuple_(col(Candidate.namespace), col(Candidate.id))
            filters.append(key.in_(sa.select(found.c.namespace, found.c.id)))
        else:  # one text: of a pair, a database that allows for nulls would look through all of them for each row
            joined = found.c.namespace + ":" + found.c.id
            filters.append((col(Candidate.namespace) + ":" + col(Candidate.id)).not_in(sa.select(joined)))
    return filters


def age_filter(asked: Asked, table: Any = None) -> list[sa.ColumnElement[bool]]:
    """The condition for the age that is asked for, if one is."""
    if asked.age is None:
        return []
    at = time_of(asked, table)
    return [at < asked.now - AGES["month"] if asked.age == "older" else at >= asked.now - AGES[asked.age]]


def disputed() -> sa.CompoundSelect[Any]:
    """(namespace, id) of every candidate that a conflict is open about, each once."""
    sides = [
        sa.select(col(Conflict.namespace).label("namespace"), sa.func.substr(ref, len(PREFIX) + 1).label("id")).where(
            sa.text("state = 'open'"), sa.func.substr(ref, 1, len(PREFIX)) == PREFIX
        )
        for ref in (col(Conflict.left_ref), col(Conflict.right_ref))
    ]
    return sa.union(*sides)


def _keys(asked: Asked) -> sa.Select[str, str]:
    keys = (col(Candidate.namespace), col(Candidate.id))
    return sa.select(*keys).where(*filters_of(asked))


def _ordered(statement: Any, asked: Asked, order: Order) -> Any:
    """In an order that one index gives, read forwards or backwards: all of its columns go the same way."""
    ties = [col(Candidate.namespace), col(Candidate.id)]
    forwards = {
        "oldest": [time_of(asked), *ties],
        "doubts": [col(Candidate.failing), col(Candidate.warning), col(Candidate.created_at), *ties],
    }
    backwards = {
        "worth": [col(Candidate.rank), *ties],
        "newest": [time_of(asked), *ties],
        "reach": [col(Candidate.reach), col(Candidate.rank), *ties],
    }
    if order in forwards:
        return statement.order_by(*forwards[order])
    return statement.order_by(*(column.desc() for column in backwards[order]))


def current_revision() -> sa.ColumnElement[bool]:
    """Joins a candidate to the revision that stands."""
    return sa.and_(_same(CandidateRevision), col(CandidateRevision.number) == col(Candidate.number))


def _same(table: Any) -> sa.ColumnElement[bool]:
    return sa.and_(col(table.namespace) == col(Candidate.namespace), col(table.candidate_id) == col(Candidate.id))


def open_conflict_counts(session: Session, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Open conflicts by (namespace, candidate id), whichever side a candidate is on."""
    counts = dict.fromkeys(keys, 0)
    if not keys:
        return {}
    spaces, refs = among(session, {space for space, _ in keys}), among(session, {PREFIX + name for _, name in keys})
    sides = [
        sa.select(col(Conflict.namespace), side)
        .where(spaces(col(Conflict.namespace)), refs(side))
        .where(col(Conflict.state) == "open", col(Conflict.left_ref) != col(Conflict.right_ref))
        for side in (col(Conflict.left_ref), col(Conflict.right_ref))
    ]
    for namespace, ref in session.execute(sa.union_all(*sides)):
        key = (namespace, ref.removeprefix(PREFIX))
        if key in counts:
            counts[key] += 1
    return counts


class Held(NamedTuple):
    """A reservation that stands, with the name of whoever has it."""

    reservation: Reservation
    name: str


def reservations_on(session: Session, keys: Sequence[tuple[str, str]], now: datetime) -> dict[tuple[str, str], Held]:
    """Who reads which of these candidates now."""
    if not keys:
        return {}
    statement = (
        select(Reservation, User.name)
        .join(User, col(User.id) == col(Reservation.user_id))
        .where(among(session, {candidate_id for _, candidate_id in keys})(col(Reservation.candidate_id)))
        .where(among(session, {namespace for namespace, _ in keys})(col(Reservation.namespace)))
        .where(col(Reservation.until) > now)
    )
    found = {(row.namespace, row.candidate_id): Held(row, name) for row, name in session.exec(statement)}
    return {key: found[key] for key in keys if key in found}
