"""Who read what: from episodes to rule versions and back.

An episode read a version if its session has an exposure row, if a cache grant of the client instance it read through
covers it (unless the session's own report at its end says otherwise), or if its body claims the read. Claims add
exposures only; what they take away is weight of evidence.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.evidence import episodes_cited, read_by_support
from storage.queries.rules import VersionKey, ancestors_of, versions_by_keys
from storage.tables import CacheGrant, CandidateRevision, ClientSession, Episode, Exposure

BATCH = 500
"""Most ids in one statement."""


def reads_of_episodes(session: Session, namespace: str, episode_ids: Collection[str]) -> dict[str, set[VersionKey]]:
    """The versions each of these episodes may have read; an episode that read none is absent."""
    reads: defaultdict[str, set[VersionKey]] = defaultdict(set)
    for batch in _batches(episode_ids):
        rows = _episodes(session, namespace, col(Episode.id).in_(batch))
        by_session: defaultdict[str, list[str]] = defaultdict(list)
        for episode_id, session_id, claims in rows:
            reads[episode_id] |= claimed_reads(claims)
            if session_id is not None:
                by_session[session_id].append(episode_id)
        for session_id, keys in reads_of_sessions(session, namespace, by_session).items():
            for episode_id in by_session[session_id]:
                reads[episode_id] |= keys
    return {episode_id: keys for episode_id, keys in reads.items() if keys}


def reads_of_sessions(session: Session, namespace: str, session_ids: Collection[str]) -> dict[str, set[VersionKey]]:
    """The versions each of these sessions was served, directly or under a grant."""
    reads: defaultdict[str, set[VersionKey]] = defaultdict(set)
    for batch in _batches(session_ids):
        served = select(Exposure.session_id, Exposure.rule_id, Exposure.version).where(
            Exposure.namespace == namespace, col(Exposure.session_id).in_(batch)
        )
        for session_id, rule_id, number in session.exec(served.distinct()):
            reads[session_id].add((rule_id, number))
        for session_id, key in _granted(session, namespace, col(ClientSession.session_id).in_(batch)):
            reads[session_id].add(key)
    return dict(reads)


def sessions_that_read(session: Session, namespace: str, keys: Collection[VersionKey]) -> set[str]:
    """Sessions that were served any of these versions, directly or under a grant."""
    if not keys:
        return set()
    served = select(Exposure.session_id).where(
        Exposure.namespace == namespace,
        sa.tuple_(col(Exposure.rule_id), col(Exposure.version)).in_(sorted(keys)),
    )
    granted = sa.tuple_(col(CacheGrant.rule_id), col(CacheGrant.version)).in_(sorted(keys))
    return set(session.exec(served.distinct())) | {name for name, _ in _granted(session, namespace, granted)}


def episodes_that_read(session: Session, namespace: str, keys: Collection[VersionKey]) -> set[str]:
    """Episodes that may have read any of these versions, whenever they or their exposures arrived."""
    if not keys:
        return set()
    found: set[str] = set()
    for batch in _batches(sessions_that_read(session, namespace, keys)):
        ran = select(Episode.id).where(Episode.namespace == namespace, col(Episode.session_id).in_(batch))
        found.update(session.exec(ran))
    wanted = set(keys)
    claiming = _episodes(session, namespace, col(Episode.details)["memory_reads"].as_string().is_not(None))
    return found | {episode_id for episode_id, _, claims in claiming if claimed_reads(claims) & wanted}


def lineage_of_episodes(session: Session, namespace: str, episode_ids: Collection[str]) -> set[VersionKey]:
    """What a version resting on these episodes descends from: every known version they read, and its ancestors."""
    return _known_with_ancestors(session, namespace, _read_by(session, namespace, episode_ids))


def lineage_of_candidate(session: Session, namespace: str, candidate_id: str, number: int) -> set[VersionKey]:
    """What a version made of this revision would descend from: what the runs behind it read, cited or not."""
    revision = session.get(CandidateRevision, (namespace, candidate_id, number))
    read = read_by_support(revision.packet) if revision is not None else set()
    cited = episodes_cited(session, namespace, candidate_id, number)
    return _known_with_ancestors(session, namespace, read | _read_by(session, namespace, cited))


def _read_by(session: Session, namespace: str, episode_ids: Collection[str]) -> set[VersionKey]:
    return set().union(*reads_of_episodes(session, namespace, episode_ids).values())


def _known_with_ancestors(session: Session, namespace: str, read: Collection[VersionKey]) -> set[VersionKey]:
    known = {(row.rule_id, row.version) for row in versions_by_keys(session, namespace, read)}
    return known | ancestors_of(session, namespace, known)


def claimed_reads(value: Any) -> set[VersionKey]:
    """The reads an episode's own record claims: ``[[rule, version], ...]``. What is malformed names no version."""
    pairs = json.loads(value) if isinstance(value, str) else value
    if not isinstance(pairs, list):
        return set()
    return {
        (str(pair[0]), pair[1])
        for pair in pairs
        if isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[1], int)
    }


def _episodes(session: Session, namespace: str, condition: Any) -> Iterable[tuple[str, str | None, Any]]:
    claims = col(Episode.details)["memory_reads"].as_string()
    statement = sa.select(col(Episode.id), col(Episode.session_id), claims)
    return [tuple(row) for row in session.execute(statement.where(col(Episode.namespace) == namespace, condition))]


def _granted(session: Session, namespace: str, condition: Any) -> Iterable[tuple[str, VersionKey]]:
    statement = (
        select(ClientSession, CacheGrant)
        .join(
            CacheGrant,
            (col(CacheGrant.namespace) == col(ClientSession.namespace))
            & (col(CacheGrant.client_instance) == col(ClientSession.client_instance)),
        )
        .where(ClientSession.namespace == namespace, condition)
    )
    for reader, grant in session.exec(statement):
        key = (grant.rule_id, grant.version)
        if _overlap(reader.started_at, reader.ended_at, grant) and _may_have_read(reader, key):
            yield reader.session_id, key


def _overlap(started: datetime, ended: datetime | None, grant: CacheGrant) -> bool:
    return grant.until >= started and (ended is None or grant.since <= ended)


def _may_have_read(reader: ClientSession, key: VersionKey) -> bool:
    """A session that ended and reported its reads read those alone; one that did not may have read all it could."""
    if reader.ended_at is None:
        return True
    return any((str(entry.get("rule")), entry.get("version")) == key for entry in reader.reported)


def _batches(ids: Iterable[str]) -> Iterable[list[str]]:
    ordered = sorted(ids)
    return (ordered[start : start + BATCH] for start in range(0, len(ordered), BATCH))
