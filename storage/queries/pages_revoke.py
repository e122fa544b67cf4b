"""What a revocation would reach, as its preview tells it: sessions, recorded runs, rules that stay."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.rules import VersionKey
from storage.tables import Candidate, ClientSession, Episode, Rule, RuleVersion

BATCH = 5_000
"""Most ids in one statement: what both databases take."""


def sessions_standing(session: Session, namespace: str, session_ids: Sequence[str]) -> dict[str, bool]:
    """Whether each of these sessions is still open; one that never said which client it reads through is absent."""
    found: dict[str, bool] = {}
    for start in range(0, len(session_ids), BATCH):
        statement = select(ClientSession.session_id, ClientSession.ended_at).where(
            ClientSession.namespace == namespace, col(ClientSession.session_id).in_(session_ids[start : start + BATCH])
        )
        for name, ended in session.exec(statement):
            found[name] = found.get(name, False) or ended is None
    return found


def runs_made(session: Session, namespace: str, episode_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Of these episodes, by outcome: how many there are, and how many calls they made."""
    found: dict[str, tuple[int, int]] = {}
    for start in range(0, len(episode_ids), BATCH):
        statement = (
            select(Episode.outcome, sa.func.count(), sa.func.sum(Episode.n_calls))
            .where(Episode.namespace == namespace, col(Episode.id).in_(episode_ids[start : start + BATCH]))
            .group_by(Episode.outcome)
        )
        for outcome, runs, calls in session.exec(statement):
            before = found.get(outcome, (0, 0))
            found[outcome] = (before[0] + runs, before[1] + int(calls or 0))
    return found


def episodes_shown(session: Session, namespace: str, episode_ids: Sequence[str]) -> list[Episode]:
    """Some episodes, by id; ask for a page of them."""
    statement = select(Episode).where(Episode.namespace == namespace, col(Episode.id).in_(episode_ids))
    return list(session.exec(statement.order_by(col(Episode.id))))


def titles_of(session: Session, namespace: str, keys: Collection[VersionKey]) -> dict[VersionKey, str]:
    """Titles of the rules that these versions are of."""
    statement = select(Rule.id, Rule.title).where(
        Rule.namespace == namespace, col(Rule.id).in_(sorted({rule_id for rule_id, _ in keys}))
    )
    titles = dict(session.exec(statement).all())
    return {key: titles[key[0]] for key in keys if key[0] in titles}


def families_of_versions(session: Session, namespace: str, keys: Collection[VersionKey]) -> set[str]:
    """The families that these versions were found in."""
    found: set[str] = set()
    for batch in _batches(keys):
        statement = (
            select(Candidate.family_id)
            .join(
                RuleVersion,
                sa.and_(
                    col(RuleVersion.namespace) == col(Candidate.namespace),
                    col(RuleVersion.candidate_id) == col(Candidate.id),
                ),
            )
            .where(
                RuleVersion.namespace == namespace,
                sa.tuple_(col(RuleVersion.rule_id), col(RuleVersion.version)).in_(batch),
            )
        )
        found.update(family for family in session.exec(statement.distinct()) if family is not None)
    return found


def active_beside(
    session: Session, namespace: str, families: Collection[str], withdrawn: Collection[VersionKey]
) -> list[tuple[Rule, RuleVersion]]:
    """Active rules of these families that are none of ``withdrawn``, by rule id."""
    statement = (
        select(Rule, RuleVersion)
        .join(
            RuleVersion,
            sa.and_(col(RuleVersion.namespace) == col(Rule.namespace), col(RuleVersion.rule_id) == col(Rule.id)),
        )
        .join(
            Candidate,
            sa.and_(
                col(Candidate.namespace) == col(RuleVersion.namespace),
                col(Candidate.id) == col(RuleVersion.candidate_id),
            ),
        )
        .where(
            Rule.namespace == namespace,
            RuleVersion.state == "active",
            RuleVersion.kind == "rule",
            col(Candidate.family_id).in_(sorted(families)),
        )
        .order_by(col(Rule.id))
    )
    gone = set(withdrawn)
    return [(rule, row) for rule, row in session.exec(statement) if (row.rule_id, row.version) not in gone]


def count_in_families(session: Session, namespace: str, families: Collection[str]) -> int:
    """How many current episodes these families hold."""
    statement = select(sa.func.count()).where(
        Episode.namespace == namespace, col(Episode.family_id).in_(sorted(families)), col(Episode.is_current)
    )
    return session.exec(statement).one()


def _batches(keys: Collection[Any]) -> list[list[Any]]:
    ordered = sorted(keys)
    return [ordered[start : start + BATCH] for start in range(0, len(ordered), BATCH)]
