"""The agents' side: what is active, at which epoch, and what changed since."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import ClientSession, Conflict, Episode, Exposure, Namespace, OutboxEvent, RuleVersion


def epoch_of(session: Session, namespace: str) -> int | None:
    """The namespace's epoch, read now; None if there is no such namespace."""
    return session.exec(select(Namespace.epoch).where(Namespace.path == namespace)).one_or_none()


def epochs_of(session: Session, namespaces: Collection[str]) -> dict[str, int]:
    """Epochs by namespace; unknown ones are absent."""
    statement = select(Namespace.path, Namespace.epoch).where(col(Namespace.path).in_(namespaces))
    return dict(session.exec(statement).all())


def events_after(session: Session, namespace: str, epoch: int, limit: int) -> Sequence[OutboxEvent]:
    """Events past ``epoch``, oldest first. Commit order is epoch order, so what is missing here never was."""
    statement = select(OutboxEvent).where(OutboxEvent.namespace == namespace, col(OutboxEvent.epoch) > epoch)
    return session.exec(statement.order_by(col(OutboxEvent.epoch)).limit(limit)).all()


def active_rules(session: Session, namespace: str, kind: str = "rule") -> Sequence[RuleVersion]:
    """Every active version that is a rule, or an ``exemplar``."""
    statement = select(RuleVersion).where(
        RuleVersion.namespace == namespace, RuleVersion.state == "active", RuleVersion.kind == kind
    )
    return session.exec(statement.order_by(col(RuleVersion.rule_id))).all()


def episodes_replaced(session: Session, namespace: str, ids: Collection[str]) -> set[str]:
    """Those of these episodes of which a newer revision came in."""
    statement = select(Episode.id).where(Episode.namespace == namespace, col(Episode.id).in_(ids))
    return set(session.exec(statement.where(~col(Episode.is_current))).all())


def sessions_served(session: Session, namespace: str, since: datetime) -> dict[str, int]:
    """How many sessions each rule was served to since then, by rule; those that were served to none are absent."""
    sessions = sa.func.count(sa.distinct(col(Exposure.session_id)))
    statement = sa.select(col(Exposure.rule_id), sessions).where(
        col(Exposure.namespace) == namespace, col(Exposure.at) >= since
    )
    found = session.execute(statement.group_by(col(Exposure.rule_id)))
    return {str(rule_id): int(count) for rule_id, count in found}


def holdout_of(session: Session, namespace: str) -> float:
    """The part of the sessions from which a rule is withheld at random, by policy; 0 if it says nothing."""
    policy = session.exec(select(Namespace.policy).where(Namespace.path == namespace)).one_or_none() or {}
    return float(policy.get("holdout_fraction") or 0)


def open_conflicts(session: Session, namespace: str, refs: Collection[str]) -> Sequence[Conflict]:
    """Open conflicts in which any of these texts is a side."""
    if not refs:
        return []
    statement = select(Conflict).where(
        Conflict.namespace == namespace,
        Conflict.state == "open",
        sa.or_(col(Conflict.left_ref).in_(refs), col(Conflict.right_ref).in_(refs)),
    )
    return session.exec(statement.order_by(col(Conflict.id))).all()


def instances_of(session: Session, namespace: str, session_id: str) -> Sequence[ClientSession]:
    """The client instances that a session reads through."""
    statement = select(ClientSession).where(
        ClientSession.namespace == namespace, ClientSession.session_id == session_id
    )
    return session.exec(statement).all()
