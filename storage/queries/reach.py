"""Recent runs of a family: what a candidate's scope is held against to say how far it would reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col

from storage.queries.candidates import OPEN_STATES
from storage.queries.queue import current_revision
from storage.tables import Candidate, CandidateRevision, Episode, RuleVersion


@dataclass(frozen=True)
class RecentRun:
    """A run, and what a scope asks of it. A run without a session counts as one of its own."""

    session_id: str
    episode_id: str
    agent: str
    environment: Mapping[str, Any]
    at: datetime


def recent_runs(
    session: Session, namespace: str, family_id: str | None, since: datetime, limit: int
) -> list[RecentRun]:
    """The newest ``limit`` runs since then of a family, or of the whole namespace where none is named.

    A run without a start counts from when it came in.
    """
    begun = _runs(namespace, family_id).where(col(Episode.started_at) >= since)
    undated = _runs(namespace, family_id).where(col(Episode.started_at).is_(None), col(Episode.ingested_at) >= since)
    rows = [
        *session.execute(begun.order_by(col(Episode.started_at).desc()).limit(limit)),
        *session.execute(undated.order_by(col(Episode.ingested_at).desc()).limit(limit)),
    ]
    found = [
        RecentRun(row.session_id or row.id, row.id, row.agent or "", row.environment, row.started_at or row.ingested_at)
        for row in rows
    ]
    return sorted(found, key=lambda run: (run.at, run.episode_id), reverse=True)[:limit]


def _runs(namespace: str, family_id: str | None) -> sa.Select[Any]:
    statement = sa.select(
        col(Episode.session_id), col(Episode.id), col(Episode.agent), col(Episode.environment),
        col(Episode.started_at), col(Episode.ingested_at),
    )  # fmt: skip
    statement = statement.where(
        col(Episode.namespace) == namespace, col(Episode.is_current), col(Episode.purged_at).is_(None)
    )
    return statement if family_id is None else statement.where(col(Episode.family_id) == family_id)


class Scoped(NamedTuple):
    """What the reach of a waiting candidate is measured by, and what it was when last measured."""

    id: str
    family_id: str | None
    reach: int
    scope: dict[str, Any]


def scopes_waiting(session: Session, namespace: str, after: str, limit: int) -> list[Scoped]:
    """Scopes of everything open in a namespace, by id after ``after``. A proposal to withdraw a rule reaches what the
    rule reaches."""
    statement = (
        sa.select(
            col(Candidate.id), col(Candidate.family_id), col(Candidate.reach), col(CandidateRevision.content)["scope"],
            col(CandidateRevision.content)["removes"], col(RuleVersion.content)["scope"],
        )
        .join(CandidateRevision, current_revision())
        .join(
            RuleVersion,
            sa.and_(
                col(RuleVersion.namespace) == col(Candidate.namespace),
                col(RuleVersion.rule_id) == col(Candidate.replaces_rule_id),
                col(RuleVersion.version) == col(Candidate.replaces_version),
            ),
            isouter=True,
        )
        .where(col(Candidate.namespace) == namespace, col(Candidate.state).in_(OPEN_STATES), col(Candidate.id) > after)
        .order_by(col(Candidate.id))
        .limit(limit)
    )  # fmt: skip
    return [
        Scoped(identity, family, reach, (of_rule if removes else scope) or {})
        for identity, family, reach, scope, removes, of_rule in session.execute(statement)
    ]
