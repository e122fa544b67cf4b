"""What a candidate came from, and what came of it: every step of its lineage, counted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.rules import VersionKey
from storage.tables import Candidate, Episode, Evidence, Exposure, RuleVersion

MOST_TAKEN = 50


class CitedRuns(NamedTuple):
    """Episodes of one outcome that a revision cites for one stance, and the independence groups they make up."""

    stance: str
    outcome: str
    episodes: int
    groups: int


def runs_cited(session: Session, namespace: str, candidate_id: str, number: int) -> list[CitedRuns]:
    """What a revision cites, by stance and outcome, support first."""
    statement = (
        select(
            Evidence.stance,
            Episode.outcome,
            sa.func.count(sa.distinct(col(Evidence.episode_id))),
            sa.func.count(sa.distinct(col(Evidence.group_id))),
        )
        .join(
            Episode,
            (col(Episode.namespace) == col(Evidence.namespace)) & (col(Episode.id) == col(Evidence.episode_id)),
        )
        .where(Evidence.namespace == namespace, Evidence.candidate_id == candidate_id, Evidence.number == number)
        .group_by(col(Evidence.stance), col(Episode.outcome))
        .order_by(col(Evidence.stance).desc(), col(Episode.outcome))
    )
    return [CitedRuns(*row) for row in session.exec(statement)]


def versions_from(session: Session, namespace: str, candidate_id: str) -> Sequence[RuleVersion]:
    """Every version that was promoted from a candidate, whatever its text was then, oldest first."""
    statement = select(RuleVersion).where(RuleVersion.namespace == namespace, RuleVersion.candidate_id == candidate_id)
    return session.exec(statement.order_by(col(RuleVersion.promoted_epoch), col(RuleVersion.version))).all()


def sessions_served(session: Session, namespace: str, keys: Collection[VersionKey]) -> dict[VersionKey, int]:
    """How many sessions each of these versions was served to; one that reached none is absent."""
    if not keys:
        return {}
    statement = (
        select(Exposure.rule_id, Exposure.version, sa.func.count(sa.distinct(col(Exposure.session_id))))
        .where(Exposure.namespace == namespace, _is_of(keys))
        .group_by(col(Exposure.rule_id), col(Exposure.version))
    )
    return {(rule_id, number): sessions for rule_id, number, sessions in session.exec(statement)}


def runs_after(session: Session, namespace: str, keys: Collection[VersionKey]) -> dict[str, int]:
    """How many episodes ran in sessions that were served any of these versions, by outcome."""
    if not keys:
        return {}
    served = select(Exposure.session_id).where(Exposure.namespace == namespace, _is_of(keys))
    statement = (
        select(Episode.outcome, sa.func.count())
        .where(Episode.namespace == namespace, col(Episode.is_current), col(Episode.session_id).in_(served))
        .group_by(col(Episode.outcome))
        .order_by(col(Episode.outcome))
    )
    return dict(session.exec(statement).all())


def _is_of(keys: Collection[VersionKey]) -> sa.ColumnElement[bool]:
    return sa.tuple_(col(Exposure.rule_id), col(Exposure.version)).in_(sorted(keys))


def tasks_of(session: Session, namespace: str, episode_ids: Collection[str]) -> dict[str, str]:
    """What was asked in each of these episodes; unknown ids are absent."""
    if not episode_ids:
        return {}
    statement = select(Episode.id, Episode.task).where(
        Episode.namespace == namespace, col(Episode.id).in_(list(episode_ids))
    )
    return dict(session.exec(statement).all())


def taken_by(session: Session, namespace: str, candidate_id: str) -> list[tuple[str, str]]:
    """Candidates whose place another one took, as (id, title): what was merged into it, or split into it and others."""
    statement = select(Candidate).where(
        Candidate.namespace == namespace,
        Candidate.state == "void",
        sa.cast(col(Candidate.taken_by), sa.String).contains(f'"{candidate_id}"', autoescape=True),
    )
    # In an order that no index gives: with one that is, all of the namespace would be read, and not what is void.
    rows = session.exec(statement.order_by(col(Candidate.id) + "").limit(MOST_TAKEN))
    return [(row.id, row.title) for row in rows if candidate_id in row.taken_by]
