"""Who was served a rule, and when, as the review pages count it. Every count looks at a bounded part of an index."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import CacheGrant, Exposure

MOST_ANSWERS = 5_000
"""Answers of one span that sessions are counted from; a page says where there were more."""
MOST_IN_ALL = 20_000
"""Answers of one version that sessions are counted from."""


class Served(NamedTuple):
    """How often a version went out in one span of time. With ``capped`` there were at least so many ``readers``."""

    span: int
    version: int
    answers: int
    readers: int
    capped: bool = False


def served_by_span(
    session: Session,
    namespace: str,
    rule_id: str,
    versions: Collection[int],
    edges: Sequence[datetime],
    most: int = MOST_ANSWERS,
) -> list[Served]:
    """Answers and sessions by span and version; span n lies between ``edges[n]`` and ``edges[n + 1]``."""
    row, at = (Exposure.namespace, Exposure.rule_id, Exposure.version, Exposure.session_id), Exposure.at
    return _by_span(session, row, at, (namespace, rule_id, sorted(versions)), edges, most)


def granted_by_span(
    session: Session,
    namespace: str,
    rule_id: str,
    versions: Collection[int],
    edges: Sequence[datetime],
    most: int = MOST_ANSWERS,
) -> list[Served]:
    """Cache grants, and the client instances that they were given to, by span and version."""
    row = (CacheGrant.namespace, CacheGrant.rule_id, CacheGrant.version, CacheGrant.client_instance)
    return _by_span(session, row, CacheGrant.since, (namespace, rule_id, sorted(versions)), edges, most)


def _by_span(
    session: Session, row: Any, at: Any, of: tuple[str, str, list[int]], edges: Sequence[datetime], most: int
) -> list[Served]:
    """One seek into the index a span, so that the cost follows the window and not the store. What went out is counted
    in the index alone; readers take a look at the rows, so they are counted from ``most`` of them.
    """
    if not of[2] or len(edges) < 2:
        return []
    counts: list[Any] = []
    readers: list[Any] = []
    for span, (start, end) in enumerate(pairwise(edges)):
        inside = (col(row[0]) == of[0], col(row[1]) == of[1], col(row[2]).in_(of[2]), col(at) >= start, col(at) < end)
        named: Any = sa.literal(span).label("span")
        version: Any = col(row[2]).label("version")
        counts.append(sa.select(named, version, sa.func.count().label("number")).where(*inside).group_by(version))
        some = sa.select(version, col(row[3]).label("reader")).where(*inside).limit(most).subquery()
        distinct = sa.func.count(sa.distinct(some.c.reader)).label("number")
        readers.append(sa.select(named, some.c.version, distinct).group_by(some.c.version))
    answers = {(span, version): number for span, version, number in session.execute(sa.union_all(*counts))}
    seen = {(span, version): number for span, version, number in session.execute(sa.union_all(*readers))}
    whole = [sum(number for (each, _version), number in answers.items() if each == span) for span in range(len(edges))]
    return [
        Served(span, version, number, seen.get((span, version), 0), whole[span] > most)
        for (span, version), number in sorted(answers.items())
    ]


def served_in_all(
    session: Session, namespace: str, rule_id: str, versions: Collection[int], most: int = MOST_IN_ALL
) -> dict[int, Served]:
    """By version: all answers that carried it, and the sessions behind them; of many answers, behind the first."""
    counted = (
        select(Exposure.version, sa.func.count())
        .where(Exposure.namespace == namespace, Exposure.rule_id == rule_id)
        .group_by(col(Exposure.version))
    )
    answers = dict(session.exec(counted).all())
    found = {}
    for version in sorted(set(versions) & set(answers)):
        inside = (
            sa.select(col(Exposure.session_id))
            .where(
                col(Exposure.namespace) == namespace,
                col(Exposure.rule_id) == rule_id,
                col(Exposure.version) == version,
            )
            .limit(most)
            .subquery()
        )
        readers = session.execute(sa.select(sa.func.count(sa.distinct(inside.c.session_id)))).scalar_one()
        found[version] = Served(0, version, answers[version], readers, answers[version] > most)
    return found


def caches_of(session: Session, namespace: str, rule_id: str) -> dict[int, int]:
    """Per version: client instances that were allowed to answer with it from their cache."""
    statement = (
        select(CacheGrant.version, sa.func.count(sa.distinct(col(CacheGrant.client_instance))))
        .where(CacheGrant.namespace == namespace, CacheGrant.rule_id == rule_id)
        .group_by(col(CacheGrant.version))
    )
    return dict(session.exec(statement).all())
