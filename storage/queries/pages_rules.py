"""What the review pages show of rules. ``granted`` are the viewer's namespace prefixes."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlmodel import Session, col, select

from storage.queries.pages import within
from storage.tables import (
    AuditEntry,
    Candidate,
    Exposure,
    OutboxEvent,
    Recheck,
    Rule,
    RuleVersion,
    Run,
    VersionAncestor,
)

WORDS = 8
"""Most words of a search that are looked for."""
RuleKey = tuple[str, str]
"""Namespace and rule id."""


def rules_page(
    session: Session,
    granted: Sequence[str],
    *,
    namespace: str | None = None,
    states: Sequence[str] = (),
    tier: str | None = None,
    due_by: datetime | None = None,
    words: str = "",
    offset: int = 0,
    limit: int = 50,
) -> list[tuple[Rule, RuleVersion]]:
    """Rules with their newest version, the latest promoted first. Ask for one more to know of a next page.

    ``due_by`` leaves the active ones whose re-check is due by then, the longest overdue first. ``words`` all have to
    occur, each in a rule's title, id or text.
    """
    statement = (
        select(Rule, RuleVersion)
        .join(
            RuleVersion,
            sa.and_(col(RuleVersion.namespace) == col(Rule.namespace), col(RuleVersion.rule_id) == col(Rule.id)),
        )
        .where(within(col(Rule.namespace), granted), col(RuleVersion.version) == _newest())
    )
    if namespace:
        statement = statement.where(Rule.namespace == namespace)
    if states:
        statement = statement.where(col(RuleVersion.state).in_(list(states)))
    if tier:
        statement = statement.where(RuleVersion.tier == tier)
    for word in words.split()[:WORDS]:
        statement = statement.where(_mentions(word))
    order: Any = col(RuleVersion.promoted_at).desc()
    if due_by is not None:
        statement = statement.where(RuleVersion.state == "active", col(RuleVersion.recheck_at) <= due_by)
        order = col(RuleVersion.recheck_at)
    statement = statement.order_by(order, col(Rule.namespace), col(Rule.id)).offset(offset).limit(limit)
    return list(session.exec(statement))


def _newest() -> Any:
    return (
        select(sa.func.max(col(RuleVersion.version)))
        .where(RuleVersion.namespace == Rule.namespace, RuleVersion.rule_id == Rule.id)
        .correlate(Rule)
        .scalar_subquery()
    )


def _mentions(word: str) -> sa.ColumnElement[bool]:
    """Title, id or text hold a word. SQLite keeps other scripts escaped inside a list, PostgreSQL as they are."""
    content: Any = col(RuleVersion.content)
    guidance = content["guidance"].as_string()
    forms = {json.dumps(word)[1:-1], json.dumps(word, ensure_ascii=False)[1:-1]}
    held = [
        column.icontains(word, autoescape=True)
        for column in (col(Rule.title), col(Rule.id), content["when_to_use"].as_string())
    ]
    return sa.or_(*held, *(guidance.icontains(form, autoescape=True) for form in sorted(forms)))


def rechecks_due(session: Session, granted: Sequence[str], by: datetime) -> int:
    """How many active versions are due for a re-check."""
    statement = select(sa.func.count()).where(
        within(col(RuleVersion.namespace), granted), RuleVersion.state == "active", col(RuleVersion.recheck_at) <= by
    )
    return session.exec(statement).one()


def answers_since(session: Session, keys: Collection[RuleKey], since: datetime) -> dict[RuleKey, int]:
    """How many answers carried each of these rules, in any version; a rule that none carried is absent."""
    if not keys:
        return {}
    of = (col(RuleVersion.namespace), col(RuleVersion.rule_id))
    known = sa.select(*of, col(RuleVersion.version)).where(sa.tuple_(*of).in_(sorted(keys)))
    versions: dict[RuleKey, list[int]] = {}
    for namespace, rule_id, version in session.execute(known):
        versions.setdefault((namespace, rule_id), []).append(version)
    # A seek into the index for each: as one join, SQLite would count every answer there ever was.
    counts: list[Any] = [
        sa.select(sa.literal(namespace), sa.literal(rule_id), sa.func.count()).where(
            col(Exposure.namespace) == namespace,
            col(Exposure.rule_id) == rule_id,
            col(Exposure.version).in_(numbers),
            col(Exposure.at) >= since,
        )
        for (namespace, rule_id), numbers in versions.items()
    ]
    found = session.execute(sa.union_all(*counts)) if counts else ()
    return {(namespace, rule_id): count for namespace, rule_id, count in found if count}


def last_rechecks(session: Session, keys: Collection[tuple[str, str, int]]) -> dict[tuple[str, str, int], Recheck]:
    """The newest recheck of each (namespace, rule id, version); one that was never rechecked is absent."""
    if not keys:
        return {}
    of: Any = (col(Recheck.namespace), col(Recheck.rule_id), col(Recheck.version))
    newest = (
        sa.select(*of, sa.func.max(col(Recheck.run_id)).label("run_id"))
        .where(sa.tuple_(*of).in_(sorted(keys)))
        .group_by(*of)
        .subquery()
    )
    same = [column == newest.c[column.key] for column in (*of, col(Recheck.run_id))]
    return {
        (row.namespace, row.rule_id, row.version): row
        for row in session.exec(select(Recheck).join(newest, sa.and_(*same)))
    }


def rechecks_newest(session: Session, namespace: str, rule_id: str, limit: int) -> Sequence[Recheck]:
    """The newest rechecks of any version of a rule, the latest first; run ids are in order of time."""
    statement = select(Recheck).where(Recheck.namespace == namespace, Recheck.rule_id == rule_id)
    return session.exec(statement.order_by(col(Recheck.run_id).desc()).limit(limit)).all()


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


class Kin(NamedTuple):
    """A version of another rule in the lineage: ``mine`` is the version of the rule asked about."""

    mine: int
    rule_id: str
    version: int
    state: str
    title: str
    state_at: datetime


def ancestors_shown(session: Session, namespace: str, rule_id: str, limit: int) -> list[Kin]:
    """Versions of other rules that a rule's versions lean on."""
    mine = (col(VersionAncestor.rule_id), col(VersionAncestor.version))
    other = (col(VersionAncestor.ancestor_rule_id), col(VersionAncestor.ancestor_version))
    return _kin(session, namespace, rule_id, mine, other, limit)


def descendants_shown(session: Session, namespace: str, rule_id: str, limit: int) -> list[Kin]:
    """Versions of other rules that lean on a rule."""
    mine = (col(VersionAncestor.ancestor_rule_id), col(VersionAncestor.ancestor_version))
    other = (col(VersionAncestor.rule_id), col(VersionAncestor.version))
    return _kin(session, namespace, rule_id, mine, other, limit)


def _kin(session: Session, namespace: str, rule_id: str, mine: Any, other: Any, limit: int) -> list[Kin]:
    statement = (
        sa.select(mine[1], other[0], other[1], col(RuleVersion.state), col(Rule.title), col(RuleVersion.state_at))
        .select_from(VersionAncestor)
        .join(
            RuleVersion,
            sa.and_(
                col(RuleVersion.namespace) == col(VersionAncestor.namespace),
                col(RuleVersion.rule_id) == other[0],
                col(RuleVersion.version) == other[1],
            ),
        )
        .join(Rule, sa.and_(col(Rule.namespace) == col(VersionAncestor.namespace), col(Rule.id) == other[0]))
        .where(col(VersionAncestor.namespace) == namespace, mine[0] == rule_id, other[0] != rule_id)
        .order_by(mine[1].desc(), other[0], other[1])
        .limit(limit)
    )
    return [Kin(*row) for row in session.execute(statement)]


def events_naming(session: Session, namespace: str, rule_id: str, limit: int) -> list[OutboxEvent]:
    """Events that tell of a rule, the latest first. Some may only hold its id inside another text."""
    changes = col(OutboxEvent.changes)
    if session.get_bind().dialect.name == "postgresql":
        named = sa.type_coerce(changes, postgresql.JSONB).contains([{"rule": rule_id}])
    else:
        named = sa.cast(changes, sa.Text).contains(json.dumps(rule_id), autoescape=True)
    statement = select(OutboxEvent).where(OutboxEvent.namespace == namespace, named)
    return list(session.exec(statement.order_by(col(OutboxEvent.epoch).desc()).limit(limit)))


def acts_on(session: Session, namespace: str, targets: Collection[str]) -> list[AuditEntry]:
    """Audit entries about these targets, oldest first."""
    statement = select(AuditEntry).where(AuditEntry.namespace == namespace, col(AuditEntry.target).in_(sorted(targets)))
    return list(session.exec(statement.order_by(col(AuditEntry.seq))))


def repair_of(session: Session, namespace: str, rule_id: str) -> Run | None:
    """The newest repair that a revocation of this rule opened."""
    statement = select(Run).where(
        Run.namespace == namespace, Run.kind == "repair", col(Run.key).startswith(f"{rule_id}@", autoescape=True)
    )
    found = session.exec(statement.order_by(col(Run.id).desc()))
    return next((run for run in found if run.key.rpartition("@")[0] == rule_id), None)


def proposals_for(session: Session, namespace: str, rule_id: str) -> list[Candidate]:
    """Candidates that wait for a decision and would replace or withdraw a version of this rule."""
    statement = select(Candidate).where(
        Candidate.namespace == namespace,
        col(Candidate.state).in_(("staged", "approved")),
        Candidate.replaces_rule_id == rule_id,
    )
    return list(session.exec(statement.order_by(col(Candidate.rank).desc(), col(Candidate.id)).limit(20)))
