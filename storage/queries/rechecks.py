"""What the nights found when they tested the active rules again."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.rules import VersionKey
from storage.tables import Recheck


def rechecks_of(session: Session, namespace: str, rule_id: str, version: int) -> Sequence[Recheck]:
    """Every recheck of one version, oldest first; run ids are in order of time."""
    statement = select(Recheck).where(
        Recheck.namespace == namespace, Recheck.rule_id == rule_id, Recheck.version == version
    )
    return session.exec(statement.order_by(col(Recheck.run_id))).all()


def rechecks_of_run(session: Session, namespace: str, run_id: str) -> Sequence[Recheck]:
    """What one night found, by rule."""
    statement = select(Recheck).where(Recheck.namespace == namespace, Recheck.run_id == run_id)
    return session.exec(statement.order_by(col(Recheck.rule_id), col(Recheck.version))).all()


def latest_rechecks(session: Session, namespace: str, keys: Collection[VersionKey]) -> dict[VersionKey, Recheck]:
    """The newest recheck of each of these versions; one that was never rechecked is absent."""
    if not keys:
        return {}
    wanted = sa.tuple_(col(Recheck.rule_id), col(Recheck.version)).in_(sorted(keys))
    statement = select(Recheck).where(Recheck.namespace == namespace, wanted).order_by(col(Recheck.run_id))
    return {(row.rule_id, row.version): row for row in session.exec(statement)}
