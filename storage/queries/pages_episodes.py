"""What the review pages show of an episode. ``granted`` are the viewer's namespace prefixes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.pages import within
from storage.queries.rules import VersionKey
from storage.tables import (
    Candidate,
    Cluster,
    ClusterEpisode,
    Episode,
    Evidence,
    Exposure,
    Family,
    RuleVersion,
    Run,
    RunEpisode,
    VersionAncestor,
)

MOST_CITING = 200
"""Links of evidence to one episode that are shown."""
MOST_REVISIONS = 20
"""Earlier revisions of one record that are shown."""


def episode_row(session: Session, granted: Sequence[str], namespace: str, episode_id: str) -> Episode | None:
    """One episode, if the viewer may see it."""
    statement = select(Episode).where(
        within(col(Episode.namespace), granted), Episode.namespace == namespace, Episode.id == episode_id
    )
    return session.exec(statement).first()


class Citing(NamedTuple):
    """A link of evidence from a candidate's revision, and the version that was made of it."""

    evidence: Evidence
    candidate: Candidate
    version: RuleVersion | None

    @property
    def stands(self) -> bool:
        """Whether it is of the revision that the candidate has now."""
        return self.evidence.number == self.candidate.number


def citing(session: Session, namespace: str, episode_id: str) -> list[Citing]:
    """What rests on an episode: standing revisions of candidates, and rule versions whatever came after them."""
    statement = (
        select(Evidence, Candidate, RuleVersion)
        .join(
            Candidate,
            sa.and_(
                col(Candidate.namespace) == col(Evidence.namespace), col(Candidate.id) == col(Evidence.candidate_id)
            ),
        )
        .outerjoin(
            RuleVersion,
            sa.and_(
                col(RuleVersion.namespace) == col(Evidence.namespace),
                col(RuleVersion.candidate_id) == col(Evidence.candidate_id),
                col(RuleVersion.candidate_number) == col(Evidence.number),
            ),
        )
        .where(
            Evidence.namespace == namespace,
            Evidence.episode_id == episode_id,
            (col(Evidence.number) == col(Candidate.number)) | col(RuleVersion.version).is_not(None),
        )
        .order_by(col(Candidate.id), col(Evidence.number).desc(), col(Evidence.id))
        .limit(MOST_CITING)
    )
    return [Citing(*row) for row in session.exec(statement)]


def answers_to_session(session: Session, namespace: str, session_id: str) -> dict[VersionKey, datetime]:
    """Rule versions that answers to a session carried, with the time of the first."""
    statement = (
        select(Exposure.rule_id, Exposure.version, sa.func.min(col(Exposure.at)))
        .where(Exposure.namespace == namespace, Exposure.session_id == session_id)
        .group_by(col(Exposure.rule_id), col(Exposure.version))
    )
    return {(rule_id, version): at for rule_id, version, at in session.exec(statement)}


def revoked_above(
    session: Session, namespace: str, keys: Collection[VersionKey]
) -> dict[VersionKey, list[RuleVersion]]:
    """For each of these versions that are revoked or descend from something revoked: which those are."""
    if not keys:
        return {}
    found: dict[VersionKey, list[RuleVersion]] = {}
    itself = select(RuleVersion).where(
        RuleVersion.namespace == namespace,
        RuleVersion.state == "revoked",
        sa.tuple_(col(RuleVersion.rule_id), col(RuleVersion.version)).in_(sorted(keys)),
    )
    for row in session.exec(itself):
        found.setdefault((row.rule_id, row.version), []).append(row)
    above = (
        select(VersionAncestor, RuleVersion)
        .join(
            RuleVersion,
            sa.and_(
                col(RuleVersion.namespace) == col(VersionAncestor.namespace),
                col(RuleVersion.rule_id) == col(VersionAncestor.ancestor_rule_id),
                col(RuleVersion.version) == col(VersionAncestor.ancestor_version),
            ),
        )
        .where(
            VersionAncestor.namespace == namespace,
            RuleVersion.state == "revoked",
            sa.tuple_(col(VersionAncestor.rule_id), col(VersionAncestor.version)).in_(sorted(keys)),
        )
        .order_by(col(RuleVersion.rule_id), col(RuleVersion.version))
    )
    for link, row in session.exec(above):
        found.setdefault((link.rule_id, link.version), []).append(row)
    return found


def earlier_revisions(session: Session, episode: Episode) -> list[Episode]:
    """What an episode took the place of, the latest first."""
    found: list[Episode] = []
    at = episode.supersedes_id
    while at is not None and len(found) < MOST_REVISIONS:
        row = session.get(Episode, (episode.namespace, at))
        if row is None:
            break
        found.append(row)
        at = row.supersedes_id
    return found


def current_revision(session: Session, episode: Episode) -> Episode | None:
    """The revision of the same record that counts now; None where the record has no id of its own, or none counts."""
    if episode.is_current or episode.source_id is None:
        return episode if episode.is_current else None
    statement = select(Episode).where(
        Episode.namespace == episode.namespace,
        # As the index of current records has it, or SQLite would not use it.
        sa.text("episode.is_current"),
        Episode.importer == episode.importer,
        Episode.source_scope == episode.source_scope,
        Episode.source_id == episode.source_id,
    )
    return session.exec(statement).first()


class Place(NamedTuple):
    """Where the nights put an episode."""

    cluster_id: str
    cluster: str
    group: str
    stratum: str | None


def place_of(session: Session, namespace: str, episode_id: str) -> Place | None:
    """The cluster and independence group of an episode; None before a night placed it."""
    statement = (
        select(Cluster.id, Cluster.label, ClusterEpisode.group_id, ClusterEpisode.stratum)
        .join(
            ClusterEpisode,
            sa.and_(
                col(ClusterEpisode.namespace) == col(Cluster.namespace),
                col(ClusterEpisode.cluster_id) == col(Cluster.id),
            ),
        )
        .where(ClusterEpisode.namespace == namespace, ClusterEpisode.episode_id == episode_id)
    )
    found = session.exec(statement).first()
    return None if found is None else Place(*found)


def family_label(session: Session, namespace: str, family_id: str) -> str | None:
    """The label of a family."""
    return session.exec(select(Family.label).where(Family.namespace == namespace, Family.id == family_id)).first()


def consumed_by(session: Session, namespace: str, episode_id: str) -> tuple[Run, str] | None:
    """The run that took an episode up, and why; None while it waits for one."""
    statement = (
        select(Run, RunEpisode.why)
        .join(RunEpisode, col(RunEpisode.run_id) == col(Run.id))
        .where(RunEpisode.namespace == namespace, RunEpisode.episode_id == episode_id)
    )
    return session.exec(statement).first()
