"""What the review pages show of events: the outbox, and how far each reader is.

Every statement stops after a page or a few hundred rows, whatever the outbox holds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.pages import within
from storage.tables import Ack, AckSpan, CacheGrant, OutboxEvent

EventKey = tuple[datetime, str, int]
"""Where an event lies in the list: when it was written, namespace, epoch."""

MOST_SPANS = 20_000
MOST_BEHIND = 200


@dataclass(frozen=True)
class Span:
    """A step of a consumer: at this time it had applied what came after ``after_epoch``, up to ``epoch``."""

    consumer: str
    after_epoch: int
    epoch: int
    at: datetime


@dataclass(frozen=True)
class Behind:
    """A consumer whose last acknowledged epoch is before an event. ``granted_until``: the end of its last grant."""

    consumer: str
    epoch: int
    at: datetime
    granted_until: datetime | None


def events_page(
    session: Session,
    granted: Sequence[str],
    *,
    namespace: str | None = None,
    older: EventKey | None = None,
    newer: EventKey | None = None,
    limit: int = 50,
) -> list[OutboxEvent]:
    """Events, the latest first; ``older`` and ``newer`` are where the event lies that the page comes after or before.

    Ask for one more to know of a next page.
    """
    created, path, epoch = col(OutboxEvent.created_at), col(OutboxEvent.namespace), col(OutboxEvent.epoch)
    # In one namespace the order of epochs is the order of commits.
    key: tuple[Any, ...] = (epoch,) if namespace else (created, path, epoch)
    statement = select(OutboxEvent).where(within(path, granted))
    if namespace:
        statement = statement.where(path == namespace)
    edge = newer or older
    if edge is not None:
        values = edge[-1:] if namespace else edge
        there = sa.tuple_(*(sa.literal(value, column.type) for value, column in zip(values, key, strict=True)))
        statement = statement.where(sa.tuple_(*key) > there if newer else sa.tuple_(*key) < there)
    order = [column.asc() if newer else column.desc() for column in key]
    found = list(session.exec(statement.order_by(*order).limit(limit)))
    return found[::-1] if newer else found


def event_at(session: Session, granted: Sequence[str], namespace: str, epoch: int) -> OutboxEvent | None:
    """One event, if the viewer may see it."""
    statement = select(OutboxEvent).where(
        within(col(OutboxEvent.namespace), granted), OutboxEvent.namespace == namespace, OutboxEvent.epoch == epoch
    )
    return session.exec(statement).first()


def spans_over(session: Session, namespace: str, lowest: int, highest: int) -> list[Span]:
    """Steps of consumers that went over any epoch from ``lowest`` to ``highest``, the first epochs first."""
    statement = (
        sa.select(col(AckSpan.consumer), col(AckSpan.after_epoch), col(AckSpan.epoch), col(AckSpan.at))
        .where(
            col(AckSpan.namespace) == namespace, col(AckSpan.epoch) >= lowest, col(AckSpan.after_epoch) < highest,
            col(AckSpan.after_epoch) < col(AckSpan.epoch),
        )
        .order_by(col(AckSpan.epoch), col(AckSpan.consumer))
        .limit(MOST_SPANS)
    )  # fmt: skip
    return [Span(*row) for row in session.execute(statement)]


def behind(session: Session, namespace: str, epoch: int, limit: int = MOST_BEHIND) -> list[Behind]:
    """Consumers that have not acknowledged ``epoch``, the nearest to it first."""
    until = (
        sa.select(sa.func.max(col(CacheGrant.until)))
        .where(col(CacheGrant.namespace) == namespace, col(CacheGrant.client_instance) == col(Ack.consumer))
        .correlate(Ack)
        .scalar_subquery()
    )
    statement = (
        sa.select(col(Ack.consumer), col(Ack.epoch), col(Ack.at), until)
        .where(col(Ack.namespace) == namespace, col(Ack.epoch) < epoch)
        .order_by(col(Ack.epoch).desc(), col(Ack.consumer))
        .limit(limit)
    )
    return [Behind(*row) for row in session.execute(statement)]


def propagation(session: Session, epochs: Mapping[str, Collection[int]]) -> dict[str, tuple[list[Span], list[Behind]]]:
    """By namespace, what is known of how these events spread: steps over them, and who has not come so far."""
    return {
        namespace: (spans_over(session, namespace, min(given), max(given)), behind(session, namespace, max(given)))
        for namespace, given in epochs.items()
        if given
    }
