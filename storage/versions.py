"""Writes on rule versions: every change of state is one conditional UPDATE, so that a race has one winner."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col

from storage.lifecycle import VERSION_MOVES
from storage.queries.rules import VersionKey, ancestors_of, versions_by_keys, versions_of
from storage.tables import Candidate, CandidateRevision, Rule, RuleVersion, VersionAncestor

WITHDRAWN = frozenset({"revoked", "quarantined"})
"""States of what was taken away from readers because it, or what it leans on, was wrong."""


def move_versions(
    session: Session,
    namespace: str,
    keys: Collection[VersionKey],
    *,
    to: str,
    reason: str,
    epoch: int,
    now: datetime,
    sources: Collection[str] | None = None,
) -> list[VersionKey]:
    """Move those of ``keys`` that may go there (from ``sources``, if named); returns which moved, in order."""
    if not keys:
        return []
    allowed = {state for state, targets in VERSION_MOVES.items() if to in targets}
    wanted = sa.tuple_(col(RuleVersion.rule_id), col(RuleVersion.version)).in_(sorted(keys))
    return _move(session, namespace, wanted, allowed & set(sources or allowed), to, reason, epoch, now)


def quarantine_descendants(
    session: Session, namespace: str, keys: Collection[VersionKey], *, reason: str, epoch: int, now: datetime
) -> list[VersionKey]:
    """The barrier: one UPDATE over the stored closure withdraws whatever is served and descends from ``keys``."""
    if not keys:
        return []
    parent = sa.tuple_(col(VersionAncestor.ancestor_rule_id), col(VersionAncestor.ancestor_version))
    descending = sa.select(col(VersionAncestor.rule_id), col(VersionAncestor.version)).where(
        col(VersionAncestor.namespace) == namespace, parent.in_(sorted(keys))
    )
    wanted = sa.tuple_(col(RuleVersion.rule_id), col(RuleVersion.version)).in_(descending)
    return _move(session, namespace, wanted, {"active"}, "quarantined", reason, epoch, now)


def add_version(
    session: Session,
    candidate: Candidate,
    revision: CandidateRevision,
    *,
    rule_id: str,
    evidence: dict[str, Any],
    recheck_at: datetime | None,
    reason: str,
    epoch: int,
    now: datetime,
) -> RuleVersion:
    """The next version of a rule, active, made of one revision; the rule's row is made with its first version.

    Whatever was active of the rule must have been moved away before: the store allows one active version.
    """
    namespace = candidate.namespace
    if session.get(Rule, (namespace, rule_id)) is None:
        predicate_id, title = candidate.predicate_id, candidate.title
        session.add(Rule(namespace=namespace, id=rule_id, predicate_id=predicate_id, title=title, created_at=now))
        session.flush()
    earlier = versions_of(session, namespace, rule_id)
    row = RuleVersion(
        namespace=namespace,
        rule_id=rule_id,
        version=earlier[0].version + 1 if earlier else 1,
        state="active",
        kind=candidate.kind,
        tier=candidate.tier,
        content=revision.content,
        content_hash=revision.content_hash,
        evidence=evidence,
        candidate_id=candidate.id,
        candidate_number=revision.number,
        promoted_at=now,
        promoted_epoch=epoch,
        state_at=now,
        state_epoch=epoch,
        state_reason=reason,
        recheck_at=recheck_at,
    )
    session.add(row)
    session.flush()
    return row


def restore_version(
    session: Session,
    namespace: str,
    key: VersionKey,
    *,
    reason: str,
    epoch: int,
    now: datetime,
    lineage: Collection[VersionKey],
) -> bool:
    """Serve a quarantined version again, on a lineage taken anew; False if it is not quarantined any more.

    What is revoked or quarantined is left out of ``lineage``: the version was found to stand without it.
    """
    if any(row.state == "active" for row in versions_of(session, namespace, key[0])):
        return False
    moved = move_versions(
        session, namespace, [key], to="active", reason=reason, epoch=epoch, now=now, sources=("quarantined",)
    )
    if not moved:
        return False
    whole = set(lineage) | ancestors_of(session, namespace, lineage)
    withdrawn = {(r.rule_id, r.version) for r in versions_by_keys(session, namespace, whole) if r.state in WITHDRAWN}
    set_ancestors(session, namespace, key, whole - withdrawn)
    return True


def set_ancestors(session: Session, namespace: str, key: VersionKey, ancestors: Collection[VersionKey]) -> None:
    """Write the closure of one version's lineage anew."""
    rule_id, number = key
    session.execute(
        sa.delete(VersionAncestor).where(
            col(VersionAncestor.namespace) == namespace,
            col(VersionAncestor.rule_id) == rule_id,
            col(VersionAncestor.version) == number,
        )
    )
    session.add_all(
        VersionAncestor(
            namespace=namespace, rule_id=rule_id, version=number, ancestor_rule_id=ancestor, ancestor_version=n
        )
        for ancestor, n in sorted(set(ancestors) - {key})
    )
    session.flush()


def _move(
    session: Session,
    namespace: str,
    wanted: sa.ColumnElement[bool],
    sources: Collection[str],
    to: str,
    reason: str,
    epoch: int,
    now: datetime,
) -> list[VersionKey]:
    statement = (
        sa.update(RuleVersion)
        .where(col(RuleVersion.namespace) == namespace, wanted, col(RuleVersion.state).in_(sorted(sources)))
        .values(state=to, state_reason=reason, state_epoch=epoch, state_at=now)
        .returning(col(RuleVersion.rule_id), col(RuleVersion.version))
        .execution_options(synchronize_session=False)
    )
    return sorted((row.rule_id, row.version) for row in session.execute(statement))
