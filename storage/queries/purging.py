"""What a purge asks: which rows an episode has, what rests on it, and every place that may hold words of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, SQLModel, col, select

from storage.queries.rules import VersionKey
from storage.tables import (
    AuditEntry,
    Candidate,
    CandidateRevision,
    Cluster,
    ClusterEpisode,
    Conflict,
    DeadLetter,
    Decision,
    Draft,
    Episode,
    EpisodeBody,
    Evidence,
    Family,
    FollowedFile,
    Inference,
    ModeChoice,
    OutboxEvent,
    Recheck,
    Rule,
    RuleVersion,
    Run,
    RunStep,
    SearchMiss,
)

BATCH = 500
"""Most ids in one statement."""

SAID: dict[type[SQLModel], tuple[str, ...]] = {
    Family: ("label", "signature"),
    Cluster: ("label", "terms", "tools"),
    Inference: ("statement", "predicate", "statistics", "next_step", "ruled_out"),
    Draft: ("content", "packet", "conflicts", "checks"),
    Candidate: ("title", "tier_why", "why_now", "wanted"),
    CandidateRevision: ("content", "packet"),
    Conflict: ("detail", "sides", "reason"),
    Decision: ("reason", "void_reason"),
    Rule: ("title",),
    RuleVersion: ("content", "evidence", "state_reason"),
    Recheck: ("words", "statistics"),
    ModeChoice: ("why", "profile", "scores", "reward_why"),
    Run: ("problems",),
    RunStep: ("result", "error"),
    OutboxEvent: ("changes", "last_error"),
    SearchMiss: ("task",),
    FollowedFile: ("error",),
    DeadLetter: ("reason", "resolution"),
}
"""The columns, table by table, in which words of an episode may be said again. Bytes are looked at by themselves."""


def episodes_and_revisions(session: Session, namespace: str, ids: Collection[str]) -> list[Episode]:
    """These episodes with every other revision of the same source records, by id; unknown ids are absent."""
    rows = {row.id: row for row in episodes_by_ids(session, namespace, ids)}
    for row in list(rows.values()):
        if row.source_id is not None:
            same = select(Episode).where(
                Episode.namespace == namespace, Episode.importer == row.importer,
                Episode.source_scope == row.source_scope, Episode.source_id == row.source_id,
            )  # fmt: skip
            rows |= {one.id: one for one in session.exec(same)}
    return [rows[name] for name in sorted(rows)]


def episodes_by_ids(session: Session, namespace: str, ids: Collection[str]) -> list[Episode]:
    """These episodes, by id; unknown ids are absent."""
    ordered = sorted(ids)
    found: list[Episode] = []
    for start in range(0, len(ordered), BATCH):
        part = col(Episode.id).in_(ordered[start : start + BATCH])
        found += session.exec(select(Episode).where(Episode.namespace == namespace, part))
    return sorted(found, key=lambda row: row.id)


def ids_of(session: Session, namespace: str, *, session_id: str | None = None, agent: str | None = None) -> list[str]:
    """Episodes of a session, or by an agent, that were not purged."""
    statement = select(Episode.id).where(Episode.namespace == namespace, col(Episode.purged_at).is_(None))
    if session_id is not None:
        statement = statement.where(Episode.session_id == session_id)
    if agent is not None:
        statement = statement.where(Episode.agent == agent)
    return list(session.exec(statement.order_by(col(Episode.id))))


def with_body(session: Session, namespace: str, ids: Collection[str]) -> list[str]:
    """Of these episodes those whose text is still there, by id."""
    ordered = sorted(ids)
    found: list[str] = []
    for start in range(0, len(ordered), BATCH):
        part = col(EpisodeBody.episode_id).in_(ordered[start : start + BATCH])
        found += session.exec(select(EpisodeBody.episode_id).where(EpisodeBody.namespace == namespace, part))
    return sorted(found)


def tombstones(session: Session, namespace: str) -> list[tuple[str, dict[str, Any]]]:
    """Every episode that was purged, with what was noted of the purge."""
    statement = select(Episode.id, Episode.details).where(
        Episode.namespace == namespace, col(Episode.purged_at).is_not(None)
    )
    return [(name, dict((details or {}).get("purge") or {})) for name, details in session.exec(statement)]


class Leaning(NamedTuple):
    """A version that may rest on episodes: its row, its packet, and those it cites in support with their groups."""

    version: RuleVersion
    packet: dict[str, Any]
    cited: dict[str, str]
    family_id: str | None


def versions_leaning(session: Session, namespace: str, ids: Collection[str]) -> list[Leaning]:
    """Versions of any state whose comparison was among these episodes' families, or that cite one in support."""
    found: dict[VersionKey, Leaning] = {}
    ordered = sorted(ids)
    families = {row.family_id for row in episodes_by_ids(session, namespace, ids) if row.family_id is not None}
    for row, packet, family in session.exec(_versions(namespace).where(col(Candidate.family_id).in_(families))):
        found[row.rule_id, row.version] = Leaning(row, dict(packet), {}, family)
    for start in range(0, len(ordered), BATCH):
        linked = (
            (col(Evidence.namespace) == col(RuleVersion.namespace))
            & (col(Evidence.candidate_id) == col(RuleVersion.candidate_id))
            & (col(Evidence.number) == col(RuleVersion.candidate_number))
        )
        part = col(Evidence.episode_id).in_(ordered[start : start + BATCH])
        citing = _versions(namespace).join(Evidence, linked).where(Evidence.stance == "support", part)
        columns = (col(Evidence.episode_id), col(Evidence.group_id))
        for row, packet, family, episode_id, group in session.execute(citing.add_columns(*columns)):
            held = found.setdefault((row.rule_id, row.version), Leaning(row, dict(packet), {}, family))
            held.cited[episode_id] = group
    return [found[key] for key in sorted(found)]


def _versions(namespace: str) -> Any:
    revision = (
        (col(CandidateRevision.namespace) == col(RuleVersion.namespace))
        & (col(CandidateRevision.candidate_id) == col(RuleVersion.candidate_id))
        & (col(CandidateRevision.number) == col(RuleVersion.candidate_number))
    )
    candidate = (col(Candidate.namespace) == col(RuleVersion.namespace)) & (
        col(Candidate.id) == col(RuleVersion.candidate_id)
    )
    statement = select(RuleVersion, CandidateRevision.packet, Candidate.family_id)
    joined = statement.join(CandidateRevision, revision).join(Candidate, candidate)
    return joined.where(RuleVersion.namespace == namespace)


def groups_of(session: Session, namespace: str, ids: Collection[str]) -> dict[str, str]:
    """The independence groups of these episodes, as far as a night gave them one."""
    ordered = sorted(ids)
    found: dict[str, str] = {}
    for start in range(0, len(ordered), BATCH):
        part = col(ClusterEpisode.episode_id).in_(ordered[start : start + BATCH])
        statement = select(ClusterEpisode.episode_id, ClusterEpisode.group_id)
        found.update(session.exec(statement.where(ClusterEpisode.namespace == namespace, part)).all())
    return found


def groups_that_live(session: Session, namespace: str, groups: Collection[str], without: Collection[str]) -> set[str]:
    """Which of these groups have an episode that is neither purged nor among ``without``."""
    if not groups:
        return set()
    gone = set(without)
    statement = (
        select(ClusterEpisode.group_id, ClusterEpisode.episode_id)
        .join(
            Episode,
            (col(Episode.namespace) == col(ClusterEpisode.namespace))
            & (col(Episode.id) == col(ClusterEpisode.episode_id)),
        )
        .where(ClusterEpisode.namespace == namespace, col(ClusterEpisode.group_id).in_(sorted(groups)))
        .where(col(Episode.purged_at).is_(None))
    )
    return {group for group, episode_id in session.exec(statement) if episode_id not in gone}


def candidates_of_examples(session: Session, namespace: str, ids: Collection[str]) -> list[Candidate]:
    """Exemplars that are made of one of these episodes, as candidates of any state."""
    cited = select(Evidence.candidate_id).where(
        Evidence.namespace == namespace, col(Evidence.episode_id).in_(sorted(ids))
    )
    statement = select(Candidate).where(
        Candidate.namespace == namespace, Candidate.kind == "exemplar", col(Candidate.id).in_(cited)
    )
    return list(session.exec(statement.order_by(col(Candidate.id))))


def candidate(session: Session, namespace: str, candidate_id: str) -> Candidate | None:
    """One candidate as it is now."""
    return session.get(Candidate, (namespace, candidate_id), populate_existing=True)


def versions_of_candidates(session: Session, namespace: str, candidates: Collection[str]) -> list[RuleVersion]:
    """Versions of any state that were made of these candidates."""
    statement = select(RuleVersion).where(
        RuleVersion.namespace == namespace, col(RuleVersion.candidate_id).in_(sorted(candidates))
    )
    return list(session.exec(statement.order_by(col(RuleVersion.rule_id), col(RuleVersion.version))))


def rows_of(session: Session, table: Any, namespace: str, size: int) -> Iterator[list[Any]]:
    """The rows of one table in a namespace, some at a time, in the order of their keys: whole rows, not attached."""
    keys = [column for column in sa.inspect(table).primary_key if column.name != "namespace"]
    statement = select(table).where(table.namespace == namespace).order_by(*keys).limit(size)
    after: tuple[Any, ...] | None = None
    while True:
        part = statement if after is None else statement.where(sa.tuple_(*keys) > sa.tuple_(*map(sa.literal, after)))
        rows = list(session.exec(part))
        session.expunge_all()
        if not rows:
            return
        yield rows
        after = tuple(getattr(rows[-1], column.name) for column in keys)


def survivors(session: Session, namespace: str, family_id: str | None, size: int) -> Iterator[list[Episode]]:
    """Unpurged episodes, of every revision, of one family or (None) of the whole namespace, some at a time."""
    after = ""
    while True:
        statement = select(Episode).where(
            Episode.namespace == namespace, col(Episode.purged_at).is_(None), col(Episode.id) > after
        )
        if family_id is not None:
            statement = statement.where(Episode.family_id == family_id)
        rows = list(session.exec(statement.order_by(col(Episode.id)).limit(size)))
        if not rows:
            return
        yield rows
        after = rows[-1].id


def night_open(session: Session, namespace: str) -> str | None:
    """The night that runs in this namespace now: it may hold in memory what is being erased."""
    statement = select(Run.id).where(Run.namespace == namespace, Run.kind == "night", Run.state == "running")
    return session.exec(statement).first()


def exports_holding(session: Session, namespace: str, keys: Collection[VersionKey]) -> list[AuditEntry]:
    """Copies of the namespace's rules that were made with any of these versions in them, oldest first."""
    statement = select(AuditEntry).where(AuditEntry.namespace == namespace, AuditEntry.action == "export.made")
    wanted = {tuple(key) for key in keys}
    made = session.exec(statement.order_by(col(AuditEntry.seq))) if wanted else ()
    return [row for row in made if not wanted.isdisjoint(tuple(key) for key in row.detail.get("versions") or ())]
