"""The agents' side: what is active, at which epoch, and what changed since."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.rules import VersionKey
from storage.tables import ClientSession, Episode, Exposure, Namespace, OutboxEvent, RuleVersion


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


class ActiveText(NamedTuple):
    """What an index needs of an active version; no object of the session stands behind it."""

    rule_id: str
    version: int
    tier: str
    content: dict[str, Any]
    evidence: dict[str, Any]
    candidate_id: str


_TEXT = tuple(getattr(RuleVersion, name) for name in ActiveText._fields)
_ACTIVE = sa.text("rule_version.state = 'active'")
"""In these words: a database takes the index of active versions only where it sees them."""
_KEYS = 200
"""Versions named in one statement."""


def active_page(session: Session, namespace: str, kind: str, after: str, limit: int) -> list[ActiveText]:
    """Active versions past a rule id, by rule id."""
    statement = sa.select(*_TEXT).where(
        col(RuleVersion.namespace) == namespace, _ACTIVE, col(RuleVersion.rule_id) > after
    )
    # The kind is looked at afterwards: there are few exemplars, and the order is the index's.
    statement = statement.where(col(RuleVersion.kind) == kind).order_by(col(RuleVersion.rule_id)).limit(limit)
    return [ActiveText(*row) for row in session.execute(statement)]


def active_texts(session: Session, namespace: str, kind: str, keys: Collection[VersionKey]) -> list[ActiveText]:
    """Those of these versions that are active now."""
    key, wanted = sa.tuple_(col(RuleVersion.rule_id), col(RuleVersion.version)), sorted(keys)
    found: list[ActiveText] = []
    for begins in range(0, len(wanted), _KEYS):
        statement = sa.select(*_TEXT).where(
            col(RuleVersion.namespace) == namespace, _ACTIVE, col(RuleVersion.kind) == kind,
            key.in_(wanted[begins : begins + _KEYS]),
        )  # fmt: skip
        found += [ActiveText(*row) for row in session.execute(statement)]
    return found


def active_of_candidates(session: Session, namespace: str, candidate_ids: Collection[str]) -> dict[str, VersionKey]:
    """The active version that was promoted from each of these candidates, where there is one."""
    if not candidate_ids:
        return {}
    statement = sa.select(col(RuleVersion.candidate_id), col(RuleVersion.rule_id), col(RuleVersion.version)).where(
        col(RuleVersion.namespace) == namespace, _ACTIVE, col(RuleVersion.candidate_id).in_(candidate_ids)
    )
    return {str(name): (str(rule_id), int(number)) for name, rule_id, number in session.execute(statement)}


def active_among(session: Session, namespace: str, keys: Collection[VersionKey]) -> set[VersionKey]:
    """Those of these versions that are active now."""
    key = sa.tuple_(col(RuleVersion.rule_id), col(RuleVersion.version))
    statement = sa.select(col(RuleVersion.rule_id), col(RuleVersion.version)).where(
        col(RuleVersion.namespace) == namespace, _ACTIVE, key.in_(sorted(keys))
    )
    return {(str(rule_id), int(number)) for rule_id, number in session.execute(statement)} if keys else set()


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


_EPOCH = sa.select(col(Namespace.epoch), col(Namespace.policy)).where(col(Namespace.path) == sa.bindparam("namespace"))


def epoch_and_holdout(session: Session, namespace: str) -> tuple[int, float] | None:
    """The namespace's epoch and its holdout, read now in one statement; None if there is no such namespace."""
    row = session.connection().execute(_EPOCH, {"namespace": namespace}).one_or_none()
    return None if row is None else (row[0], float((row[1] or {}).get("holdout_fraction") or 0))


def instances_of(session: Session, namespace: str, session_id: str) -> Sequence[ClientSession]:
    """The client instances that a session reads through."""
    statement = select(ClientSession).where(
        ClientSession.namespace == namespace, ClientSession.session_id == session_id
    )
    return session.exec(statement).all()
