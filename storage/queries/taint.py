"""Taint: a query, not a mark, so that episodes and exposures which arrive late are caught."""

from __future__ import annotations

from collections.abc import Collection

from sqlmodel import Session, col, select

from storage.queries.lineage import episodes_that_read, reads_of_episodes
from storage.queries.rules import VersionKey, descendants_of
from storage.tables import RuleVersion


def tainted_versions(session: Session, namespace: str) -> set[VersionKey]:
    """Revoked versions and whatever descends from them.

    A version that was restored on independent evidence no longer descends from what was revoked: its lineage was taken
    anew from the evidence it stands on.
    """
    statement = select(RuleVersion.rule_id, RuleVersion.version).where(
        RuleVersion.namespace == namespace, col(RuleVersion.state) == "revoked"
    )
    revoked = set(session.exec(statement))
    return revoked | descendants_of(session, namespace, revoked)


def tainted_episode_ids(session: Session, namespace: str) -> set[str]:
    """Episodes that may have run under a tainted version: they count as evidence for nothing."""
    return episodes_that_read(session, namespace, tainted_versions(session, namespace))


def tainted_among(session: Session, namespace: str, episode_ids: Collection[str]) -> set[str]:
    """Which of these episodes are tainted; cost follows the episodes asked about, not the store."""
    tainted = tainted_versions(session, namespace)
    if not tainted:
        return set()
    reads = reads_of_episodes(session, namespace, episode_ids)
    return {episode_id for episode_id, keys in reads.items() if keys & tainted}
