"""How far each consumer of a namespace's events is, and each step that it took to get there.

``ack`` holds where a consumer is now, ``ack_span`` one row for every step forward: with it an operator sees how long
an event took to reach each of them.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlmodel import Session, col

from storage.serving import insertion
from storage.tables import Ack, AckSpan

KEPT_FOR = timedelta(days=30)
KEPT_EACH = 1000
"""Steps kept of one consumer."""
SWEPT_AT_ONCE = 200


def acknowledge(session: Session, consumer: str, namespace: str, epoch: int, token_id: str, now: datetime) -> bool:
    """A consumer applied everything up to ``epoch``; whether that is news. An acknowledgement never goes back.

    The first word of a consumer covers no event: what came before it connected, it never had to be told.
    """
    if _is_new(session, consumer, namespace, epoch, token_id, now):
        _step(session, consumer, namespace, epoch, epoch, now)
        _sweep(session, namespace, now)
        return True
    mine = (col(Ack.consumer) == consumer) & (col(Ack.namespace) == namespace)
    # With the row's lock: what is read here is what this step goes on from.
    after = int(session.execute(sa.select(col(Ack.epoch)).where(mine).with_for_update()).scalar_one())
    if after >= epoch:
        return False
    session.execute(sa.update(Ack).where(mine, col(Ack.epoch) < epoch).values(epoch=epoch, token_id=token_id, at=now))
    _step(session, consumer, namespace, epoch, after, now)
    _prune(session, consumer, namespace, now)
    return True


def _is_new(session: Session, consumer: str, namespace: str, epoch: int, token_id: str, now: datetime) -> bool:
    """Whether this is the consumer's first word, which is written by it."""
    values = {"consumer": consumer, "namespace": namespace, "epoch": epoch, "token_id": token_id, "at": now}
    statement = insertion(session, Ack).values(values).on_conflict_do_nothing()
    made = session.execute(statement.returning(col(Ack.epoch)))
    return made.first() is not None


def _step(session: Session, consumer: str, namespace: str, epoch: int, after: int, now: datetime) -> None:
    session.execute(
        sa.insert(AckSpan).values(namespace=namespace, consumer=consumer, epoch=epoch, after_epoch=after, at=now)
    )


def _prune(session: Session, consumer: str, namespace: str, now: datetime) -> None:
    """Let go of this consumer's old steps: by its key, some microseconds."""
    mine = (col(AckSpan.namespace) == namespace) & (col(AckSpan.consumer) == consumer)
    beyond = (
        sa.select(col(AckSpan.epoch))
        .where(mine)
        .order_by(col(AckSpan.epoch).desc())
        .offset(KEPT_EACH)
        .limit(1)
        .scalar_subquery()
    )
    session.execute(sa.delete(AckSpan).where(mine, col(AckSpan.epoch) <= beyond))
    session.execute(sa.delete(AckSpan).where(mine, col(AckSpan.at) < now - KEPT_FOR))


def _sweep(session: Session, namespace: str, now: datetime) -> None:
    """Let go of some old steps of consumers that never came back, when a new one comes."""
    key = (col(AckSpan.namespace), col(AckSpan.consumer), col(AckSpan.epoch))
    old = sa.select(*key).where(key[0] == namespace, col(AckSpan.at) < now - KEPT_FOR).limit(SWEPT_AT_ONCE)
    session.execute(sa.delete(AckSpan).where(sa.tuple_(*key).in_(old)))
