"""The promoted store: rules, their versions and the closure of their lineage."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import Rule, RuleVersion, VersionAncestor

VersionKey = tuple[str, int]
"""Rule id and version number."""

_KEY = sa.tuple_(col(RuleVersion.rule_id), col(RuleVersion.version))


def rule_by_predicate(session: Session, namespace: str, predicate_id: str) -> Rule | None:
    """The rule that makes this claim, whatever state its versions are in."""
    statement = select(Rule).where(Rule.namespace == namespace, Rule.predicate_id == predicate_id)
    return session.exec(statement.order_by(col(Rule.id))).first()


def versions_of(session: Session, namespace: str, rule_id: str) -> Sequence[RuleVersion]:
    """Every version of a rule, newest first."""
    statement = select(RuleVersion).where(RuleVersion.namespace == namespace, RuleVersion.rule_id == rule_id)
    statement = statement.order_by(col(RuleVersion.version).desc())
    return session.exec(statement.execution_options(populate_existing=True)).all()


def version(session: Session, namespace: str, rule_id: str, number: int) -> RuleVersion | None:
    """One version as it is now."""
    return session.get(RuleVersion, (namespace, rule_id, number), populate_existing=True)


def versions_by_keys(session: Session, namespace: str, keys: Collection[VersionKey]) -> Sequence[RuleVersion]:
    """These versions as they are now; unknown ones are absent."""
    if not keys:
        return []
    statement = select(RuleVersion).where(RuleVersion.namespace == namespace, _KEY.in_(sorted(keys)))
    return session.exec(statement.execution_options(populate_existing=True)).all()


def version_of_candidate(session: Session, namespace: str, candidate_id: str, content_hash: str) -> RuleVersion | None:
    """The newest version that was promoted from this content of a candidate."""
    statement = select(RuleVersion).where(
        RuleVersion.namespace == namespace,
        RuleVersion.candidate_id == candidate_id,
        RuleVersion.content_hash == content_hash,
    )
    return session.exec(statement.order_by(col(RuleVersion.promoted_epoch).desc())).first()


def versions_in(session: Session, namespace: str, states: Collection[str] = ("active",)) -> Sequence[RuleVersion]:
    """Versions in any of these states, by rule id, newest version first."""
    statement = select(RuleVersion).where(RuleVersion.namespace == namespace, col(RuleVersion.state).in_(states))
    return session.exec(statement.order_by(col(RuleVersion.rule_id), col(RuleVersion.version).desc())).all()


def ancestors_of(session: Session, namespace: str, keys: Collection[VersionKey]) -> set[VersionKey]:
    """Everything these versions descend from, themselves excluded unless one descends from another."""
    if not keys:
        return set()
    child = sa.tuple_(col(VersionAncestor.rule_id), col(VersionAncestor.version))
    statement = select(VersionAncestor.ancestor_rule_id, VersionAncestor.ancestor_version).where(
        VersionAncestor.namespace == namespace, child.in_(sorted(keys))
    )
    return set(session.exec(statement.distinct()))


def descendants_of(session: Session, namespace: str, keys: Collection[VersionKey]) -> set[VersionKey]:
    """Everything that descends from any of these versions."""
    if not keys:
        return set()
    parent = sa.tuple_(col(VersionAncestor.ancestor_rule_id), col(VersionAncestor.ancestor_version))
    statement = select(VersionAncestor.rule_id, VersionAncestor.version).where(
        VersionAncestor.namespace == namespace, parent.in_(sorted(keys))
    )
    return set(session.exec(statement.distinct()))


def closure_in(session: Session, namespace: str) -> dict[VersionKey, set[VersionKey]]:
    """The closure of lineage of a whole namespace: every version that descends from another, and from which."""
    found: dict[VersionKey, set[VersionKey]] = {}
    for row in session.exec(select(VersionAncestor).where(VersionAncestor.namespace == namespace)):
        found.setdefault((row.rule_id, row.version), set()).add((row.ancestor_rule_id, row.ancestor_version))
    return found


def contents_promoted(session: Session, namespace: str) -> Sequence[tuple[str, int, dict[str, Any], datetime]]:
    """The content of every version ever promoted, in whatever state: (rule id, version, content, promoted at)."""
    statement = select(RuleVersion.rule_id, RuleVersion.version, RuleVersion.content, RuleVersion.promoted_at)
    statement = statement.where(RuleVersion.namespace == namespace)
    rows = session.exec(statement.order_by(col(RuleVersion.rule_id), col(RuleVersion.version)))
    return [(rule_id, number, dict(content), at) for rule_id, number, content, at in rows]
