"""What the review pages show of candidates, rules and episodes. ``granted`` are the viewer's namespace prefixes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import (
    CacheGrant,
    Candidate,
    CandidateRevision,
    Conflict,
    Decision,
    Episode,
    Evidence,
    Exposure,
    Namespace,
    Rule,
    RuleVersion,
    User,
    VersionAncestor,
)


def within(column: Any, granted: Sequence[str]) -> sa.ColumnElement[bool]:
    """A namespace column lies in a grant: itself or below it, by whole segments. No grant listed means all."""
    if not granted:
        return sa.true()
    below = [column.startswith(f"{prefix}/", autoescape=True) for prefix in granted]
    return sa.or_(column.in_(list(granted)), *below)


def visible_namespaces(session: Session, granted: Sequence[str]) -> list[str]:
    """Paths of the namespaces that a viewer may know of."""
    return list(
        session.exec(select(Namespace.path).where(within(col(Namespace.path), granted)).order_by(Namespace.path))
    )


def queue_page(
    session: Session,
    granted: Sequence[str],
    *,
    namespace: str | None = None,
    tier: str | None = None,
    states: Sequence[str] = ("staged", "approved"),
    offset: int = 0,
    limit: int = 50,
) -> list[tuple[Candidate, CandidateRevision]]:
    """One page of candidates with their current revisions, the highest rank first."""
    statement = (
        select(Candidate, CandidateRevision)
        .join(
            CandidateRevision,
            sa.and_(
                col(CandidateRevision.namespace) == col(Candidate.namespace),
                col(CandidateRevision.candidate_id) == col(Candidate.id),
                col(CandidateRevision.number) == col(Candidate.number),
            ),
        )
        .where(*_queue_filters(granted, namespace, tier, states))
        .order_by(col(Candidate.rank).desc(), col(Candidate.namespace), col(Candidate.id))
        .offset(offset)
        .limit(limit)
    )
    return list(session.exec(statement))


def queue_size(
    session: Session,
    granted: Sequence[str],
    *,
    namespace: str | None = None,
    tier: str | None = None,
    states: Sequence[str] = ("staged", "approved"),
) -> int:
    """How many candidates the same filters leave."""
    statement = select(sa.func.count()).select_from(Candidate)
    return session.exec(statement.where(*_queue_filters(granted, namespace, tier, states))).one()


def _queue_filters(
    granted: Sequence[str], namespace: str | None, tier: str | None, states: Sequence[str]
) -> list[sa.ColumnElement[bool]]:
    filters = [within(col(Candidate.namespace), granted), col(Candidate.state).in_(list(states))]
    if namespace:
        filters.append(col(Candidate.namespace) == namespace)
    if tier:
        filters.append(col(Candidate.tier) == tier)
    return filters


def open_conflict_counts(session: Session, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Open conflicts by (namespace, candidate id), counted on both of their sides."""
    counts: dict[tuple[str, str], int] = dict.fromkeys(pairs, 0)
    if not pairs:
        return {}
    namespaces, refs = {namespace for namespace, _ in pairs}, [f"candidate:{candidate}" for _, candidate in pairs]
    statement = select(Conflict).where(
        col(Conflict.namespace).in_(namespaces),
        Conflict.state == "open",
        col(Conflict.left_ref).in_(refs) | col(Conflict.right_ref).in_(refs),
    )
    for conflict in session.exec(statement):
        for ref in {conflict.left_ref, conflict.right_ref}:
            key = (conflict.namespace, ref.removeprefix("candidate:"))
            if key in counts:
                counts[key] += 1
    return counts


def candidate_with_revision(
    session: Session, granted: Sequence[str], namespace: str, candidate_id: str
) -> tuple[Candidate, CandidateRevision] | None:
    """A candidate and the revision that stands now, if the viewer may see it."""
    statement = (
        select(Candidate, CandidateRevision)
        .join(
            CandidateRevision,
            sa.and_(
                col(CandidateRevision.namespace) == col(Candidate.namespace),
                col(CandidateRevision.candidate_id) == col(Candidate.id),
                col(CandidateRevision.number) == col(Candidate.number),
            ),
        )
        .where(
            within(col(Candidate.namespace), granted), Candidate.namespace == namespace, Candidate.id == candidate_id
        )
    )
    return session.exec(statement).first()


def evidence_counts(session: Session, namespace: str, candidate_id: str, number: int) -> dict[str, int]:
    """How many links a revision has, by stance."""
    statement = (
        select(Evidence.stance, sa.func.count())
        .where(Evidence.namespace == namespace, Evidence.candidate_id == candidate_id, Evidence.number == number)
        .group_by(Evidence.stance)
    )
    return dict(session.exec(statement).all())


def evidence_page(
    session: Session, namespace: str, candidate_id: str, number: int, stance: str, offset: int, limit: int
) -> list[tuple[Evidence, Episode]]:
    """Links of one stance with their episodes, one of each independence group before a second of any."""
    nth = (
        sa.func.row_number()
        .over(partition_by=col(Evidence.group_id), order_by=col(Evidence.id))
        .label("nth")
    )  # fmt: skip
    statement = (
        select(Evidence, Episode)
        .join(
            Episode,
            sa.and_(col(Episode.namespace) == col(Evidence.namespace), col(Episode.id) == col(Evidence.episode_id)),
        )
        .where(
            Evidence.namespace == namespace,
            Evidence.candidate_id == candidate_id,
            Evidence.number == number,
            Evidence.stance == stance,
        )
        .order_by(nth, col(Evidence.stratum), col(Evidence.id))
        .offset(offset)
        .limit(limit)
    )
    return list(session.exec(statement))


def decisions_on(session: Session, namespace: str, candidate_ids: Sequence[str]) -> list[tuple[Decision, str]]:
    """Every decision on these candidates with the reviewer's name, oldest first."""
    statement = (
        select(Decision, User.name)
        .join(User, col(User.id) == col(Decision.reviewer_id))
        .where(Decision.namespace == namespace, col(Decision.candidate_id).in_(list(candidate_ids)))
        .order_by(col(Decision.at), col(Decision.id))
    )
    return list(session.exec(statement))


def rules_page(
    session: Session,
    granted: Sequence[str],
    *,
    namespace: str | None = None,
    states: Sequence[str] = (),
    offset: int = 0,
    limit: int = 50,
) -> list[tuple[Rule, RuleVersion]]:
    """Rules with their newest version, the latest promoted first. Ask for one more to know of a next page."""
    newest = (
        select(sa.func.max(col(RuleVersion.version)))
        .where(RuleVersion.namespace == Rule.namespace, RuleVersion.rule_id == Rule.id)
        .correlate(Rule)
        .scalar_subquery()
    )
    statement = (
        select(Rule, RuleVersion)
        .join(
            RuleVersion,
            sa.and_(col(RuleVersion.namespace) == col(Rule.namespace), col(RuleVersion.rule_id) == col(Rule.id)),
        )
        .where(within(col(Rule.namespace), granted), col(RuleVersion.version) == newest)
        .order_by(col(RuleVersion.promoted_at).desc(), col(Rule.namespace), col(Rule.id))
        .offset(offset)
        .limit(limit)
    )
    if namespace:
        statement = statement.where(Rule.namespace == namespace)
    if states:
        statement = statement.where(col(RuleVersion.state).in_(list(states)))
    return list(session.exec(statement))


def rule_with_versions(
    session: Session, granted: Sequence[str], namespace: str, rule_id: str
) -> tuple[Rule, list[RuleVersion]] | None:
    """A rule and all its versions, newest first, if the viewer may see it."""
    rule = session.exec(
        select(Rule).where(within(col(Rule.namespace), granted), Rule.namespace == namespace, Rule.id == rule_id)
    ).first()
    if rule is None:
        return None
    statement = select(RuleVersion).where(RuleVersion.namespace == namespace, RuleVersion.rule_id == rule_id)
    return rule, list(session.exec(statement.order_by(col(RuleVersion.version).desc())))


def exposure_counts(session: Session, namespace: str, rule_id: str) -> dict[int, tuple[int, int]]:
    """Per version: answers that carried it, and the sessions behind them."""
    statement = (
        select(Exposure.version, sa.func.count(), sa.func.count(sa.distinct(col(Exposure.session_id))))
        .where(Exposure.namespace == namespace, Exposure.rule_id == rule_id)
        .group_by(col(Exposure.version))
    )
    return {version: (served, sessions) for version, served, sessions in session.exec(statement)}


def grant_counts(session: Session, namespace: str, rule_id: str) -> dict[int, int]:
    """Per version: client instances that were allowed to answer with it from their cache."""
    statement = (
        select(CacheGrant.version, sa.func.count(sa.distinct(col(CacheGrant.client_instance))))
        .where(CacheGrant.namespace == namespace, CacheGrant.rule_id == rule_id)
        .group_by(col(CacheGrant.version))
    )
    return dict(session.exec(statement).all())


def descendants_of(session: Session, namespace: str, rule_id: str) -> list[tuple[int, str, int]]:
    """Versions of other rules that lean on this rule: (version of this rule, their rule id, their version)."""
    statement = (
        select(VersionAncestor.ancestor_version, VersionAncestor.rule_id, VersionAncestor.version)
        .where(
            VersionAncestor.namespace == namespace,
            VersionAncestor.ancestor_rule_id == rule_id,
            VersionAncestor.rule_id != rule_id,
        )
        .order_by(col(VersionAncestor.rule_id), col(VersionAncestor.version))
    )
    return list(session.exec(statement).all())


def episode_row(session: Session, granted: Sequence[str], namespace: str, episode_id: str) -> Episode | None:
    """One episode, if the viewer may see it."""
    statement = select(Episode).where(
        within(col(Episode.namespace), granted), Episode.namespace == namespace, Episode.id == episode_id
    )
    return session.exec(statement).first()


def candidates_citing(session: Session, namespace: str, episode_id: str) -> list[tuple[Candidate, str]]:
    """Candidates whose standing revision cites an episode, with the stance."""
    statement = (
        select(Candidate, Evidence.stance)
        .join(
            Evidence,
            sa.and_(
                col(Evidence.namespace) == col(Candidate.namespace),
                col(Evidence.candidate_id) == col(Candidate.id),
                col(Evidence.number) == col(Candidate.number),
            ),
        )
        .where(Evidence.namespace == namespace, Evidence.episode_id == episode_id)
        .order_by(col(Candidate.id))
        .limit(50)
    )
    return list(session.exec(statement))


def rules_read_in_session(session: Session, namespace: str, session_id: str) -> list[tuple[str, int, str]]:
    """Rule versions that a session was served: (rule id, version, state now)."""
    statement = (
        select(Exposure.rule_id, Exposure.version, RuleVersion.state)
        .join(
            RuleVersion,
            sa.and_(
                col(RuleVersion.namespace) == col(Exposure.namespace),
                col(RuleVersion.rule_id) == col(Exposure.rule_id),
                col(RuleVersion.version) == col(Exposure.version),
            ),
        )
        .where(Exposure.namespace == namespace, Exposure.session_id == session_id)
        .distinct()
        .order_by(col(Exposure.rule_id), col(Exposure.version))
    )
    return list(session.exec(statement).all())
