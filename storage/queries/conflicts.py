"""What is asked about conflicts: those of a page, and the stated facts and outcomes that raw episodes hold."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.queries.pages import within
from storage.tables import (
    Candidate,
    ClusterEpisode,
    Conflict,
    Episode,
    Evidence,
    RuleVersion,
    RunEpisode,
    Statement,
    User,
)

MOST_OF_SUBJECT = 2000
"""Newest statements of one subject that are compared: a value that changes by the hour must not cost the night."""


MIXED_OUTCOME = "mixed-outcome"
"""The form of a conflict between runs of one task that made the same calls and ended differently."""
STATED = (
    "subject", "attribute", "value", "said_at", "previous", "denied", "single", "valid_from", "valid_to", "episode_id",
    "step_id", "number", "session", "trust",
)  # fmt: skip


class Leaning(NamedTuple):
    """A candidate whose current revision cites an episode, and the rule that was made of it, if one is served."""

    candidate_id: str
    title: str
    rule_id: str | None


class Stating(NamedTuple):
    """An episode that holds claims, with what its statements take over from it."""

    id: str
    session_id: str | None
    started_at: datetime | None
    ingested_at: datetime


def conflict_by_id(session: Session, namespace: str, conflict_id: str) -> Conflict | None:
    """One conflict."""
    return session.get(Conflict, (namespace, conflict_id), populate_existing=True)


def conflicts_named(session: Session, conflict_id: str, namespace: str | None = None) -> Sequence[Conflict]:
    """Conflicts with this id, in one namespace or in all."""
    statement = select(Conflict).where(Conflict.id == conflict_id)
    if namespace is not None:
        statement = statement.where(Conflict.namespace == namespace)
    return session.exec(statement.order_by(col(Conflict.namespace))).all()


def conflicts_by_ids(session: Session, namespace: str, ids: Collection[str]) -> dict[str, Conflict]:
    """Conflicts by id; unknown ids are absent."""
    statement = select(Conflict).where(Conflict.namespace == namespace, col(Conflict.id).in_(list(ids)))
    return {row.id: row for row in session.exec(statement)}


def conflicts_known(session: Session, namespace: str, but_run: str) -> set[str]:
    """The ids of every conflict that was noted before a run."""
    statement = select(Conflict.id).where(Conflict.namespace == namespace)
    return set(session.exec(statement.where(col(Conflict.run_id).is_(None) | (col(Conflict.run_id) != but_run))))


def conflicts_page(
    session: Session,
    granted: Sequence[str],
    *,
    namespace: str | None = None,
    state: str | None = "open",
    kind: str | None = None,
    run_id: str | None = None,
    offset: int = 0,
    limit: int | None = None,
) -> Sequence[tuple[Conflict, str | None]]:
    """Conflicts with the name of whoever resolved them: the gravest kinds first, then the newest.

    Mixed outcomes come after all others: there is nothing in them to choose between.
    """
    gravity = sa.case({"contradiction": 0, "supersession": 1, "duplicate": 2}, value=col(Conflict.kind), else_=3)
    statement = (
        select(Conflict, User.name)
        .outerjoin(User, col(User.id) == col(Conflict.resolved_by))
        .where(within(col(Conflict.namespace), granted))
        .order_by(
            sa.case((_is_mixed(), 1), else_=0),
            gravity,
            col(Conflict.at).desc(),
            col(Conflict.namespace),
            col(Conflict.id),
        )
        .where(*_shown(namespace, state, kind, run_id))
        .offset(offset)
    )
    return list(session.exec(statement.limit(limit) if limit is not None else statement))


def count_mixed(
    session: Session,
    granted: Sequence[str],
    *,
    namespace: str | None = None,
    state: str | None = "open",
    kind: str | None = None,
    run_id: str | None = None,
) -> int:
    """How many of the conflicts that the same filters leave are mixed outcomes."""
    statement = select(sa.func.count()).select_from(Conflict).where(within(col(Conflict.namespace), granted))
    return session.exec(statement.where(_is_mixed(), *_shown(namespace, state, kind, run_id))).one()


def _is_mixed() -> sa.ColumnElement[bool]:
    return sa.func.coalesce(col(Conflict.sides)["form"].as_string(), "") == MIXED_OUTCOME


def _shown(
    namespace: str | None, state: str | None, kind: str | None, run_id: str | None
) -> list[sa.ColumnElement[bool]]:
    wanted = (
        (col(Conflict.namespace), namespace), (col(Conflict.state), state), (col(Conflict.kind), kind),
        (col(Conflict.run_id), run_id),
    )  # fmt: skip
    return [column == value for column, value in wanted if value is not None]


def conflict_seen(
    session: Session, granted: Sequence[str], namespace: str, conflict_id: str
) -> tuple[Conflict, str | None] | None:
    """One conflict with the name of whoever resolved it, if the viewer may know of it."""
    statement = (
        select(Conflict, User.name)
        .outerjoin(User, col(User.id) == col(Conflict.resolved_by))
        .where(within(col(Conflict.namespace), granted), Conflict.namespace == namespace, Conflict.id == conflict_id)
    )
    return session.exec(statement).one_or_none()


def tasks_of_episodes(session: Session, namespace: str, episode_ids: Collection[str]) -> dict[str, str]:
    """What each of these episodes was asked to do; one that is purged, or unknown, is absent."""
    statement = sa.select(col(Episode.id), col(Episode.task)).where(
        col(Episode.namespace) == namespace,
        col(Episode.id).in_(list(episode_ids)),
        col(Episode.purged_at).is_(None),
    )
    return {row.id: row.task for row in session.execute(statement)}


def leaning_on_episodes(session: Session, namespace: str, episode_ids: Collection[str]) -> dict[str, list[Leaning]]:
    """By episode, the open candidates and active rules that cite it as evidence, by title."""
    current = (
        (col(Candidate.namespace) == col(Evidence.namespace))
        & (col(Candidate.id) == col(Evidence.candidate_id))
        & (col(Candidate.number) == col(Evidence.number))
    )
    served = (
        (col(RuleVersion.namespace) == col(Evidence.namespace))
        & (col(RuleVersion.candidate_id) == col(Evidence.candidate_id))
        & (col(RuleVersion.state) == "active")
    )
    statement = (
        sa.select(col(Evidence.episode_id), col(Candidate.id), col(Candidate.title), col(RuleVersion.rule_id))
        .join(Candidate, current)
        .outerjoin(RuleVersion, served)
        .where(col(Evidence.namespace) == namespace, col(Evidence.episode_id).in_(list(episode_ids)))
        .where(col(Candidate.state).in_(("staged", "approved")) | col(RuleVersion.rule_id).is_not(None))
        .order_by(col(Candidate.title), col(Candidate.id))
        .distinct()
    )
    found: dict[str, list[Leaning]] = {}
    for episode_id, candidate_id, title, rule_id in session.execute(statement):
        found.setdefault(episode_id, []).append(Leaning(candidate_id, title, rule_id))
    return found


def open_of_kind(session: Session, namespace: str, prefix: str) -> Sequence[Conflict]:
    """Open conflicts whose left side's ref begins so."""
    return session.exec(
        select(Conflict).where(
            Conflict.namespace == namespace, Conflict.state == "open", col(Conflict.left_ref).startswith(prefix)
        )
    ).all()


def stating_of_run(session: Session, namespace: str, run_id: str) -> list[Stating]:
    """The episodes a run consumed that hold claims: told by their rows, so that no other body is read."""
    statement = (
        sa.select(col(Episode.id), col(Episode.session_id), col(Episode.started_at), col(Episode.ingested_at))
        .join(RunEpisode, _consumed())
        .where(col(Episode.namespace) == namespace, col(RunEpisode.run_id) == run_id, col(Episode.purged_at).is_(None))
        .where(col(Episode.details)["claims"].as_string().is_not(None))
        .order_by(col(Episode.id))
    )
    return [Stating._make(row) for row in session.execute(statement)]


def statements_of_subjects(session: Session, namespace: str, keys: Collection[str]) -> list[sa.Row[Any]]:
    """What current, unpurged episodes state of these subjects, the newest of each: rows of ``STATED``."""
    place = sa.func.row_number().over(
        partition_by=col(Statement.subject_key),
        order_by=(col(Statement.said_at).desc(), col(Statement.episode_id), col(Statement.step_id)),
    )
    ranked = (
        sa.select(*(col(getattr(Statement, name)) for name in STATED), place.label("place"))
        .join(
            Episode,
            (col(Episode.namespace) == col(Statement.namespace)) & (col(Episode.id) == col(Statement.episode_id)),
        )
        .where(col(Statement.namespace) == namespace, col(Statement.subject_key).in_(list(keys)))
        .where(col(Episode.is_current), col(Episode.purged_at).is_(None))
        .subquery()
    )
    kept = sa.select(*(ranked.c[name] for name in STATED)).where(ranked.c.place <= MOST_OF_SUBJECT)
    return list(session.execute(kept))


def tallies_of_run(session: Session, namespace: str, run_id: str) -> list[tuple[str, str, str, str, int]]:
    """How often each (family, task, calls made, outcome) was met in independent groups, in the families of a run.

    Outcomes that only the agent itself reported are left out, as they are from every comparison.
    """
    tonight = (
        sa.select(col(Episode.family_id))
        .join(RunEpisode, _consumed())
        .where(col(Episode.namespace) == namespace, col(RunEpisode.run_id) == run_id)
        .distinct()
    )
    task, act = _task(), _act()
    groups = sa.func.count(sa.distinct(col(ClusterEpisode.group_id)))
    statement = (
        sa.select(col(Episode.family_id), task, act, col(Episode.outcome), groups)
        .join(ClusterEpisode, _member())
        .where(col(Episode.namespace) == namespace, col(Episode.family_id).in_(tonight), act.is_not(None))
        .where(*_counted())
        .group_by(col(Episode.family_id), task, act, col(Episode.outcome))
    )
    return [tuple(row) for row in session.execute(statement)]


def episodes_that_did(
    session: Session, namespace: str, family: str, task: str, act: str, limit: int
) -> list[tuple[str, str, str]]:
    """(id, outcome, group) of the episodes of one task that made the same calls, the newest first."""
    statement = (
        sa.select(col(Episode.id), col(Episode.outcome), col(ClusterEpisode.group_id))
        .join(ClusterEpisode, _member())
        .where(col(Episode.namespace) == namespace, col(Episode.family_id) == family, _task() == task, _act() == act)
        .where(*_counted())
        .order_by(col(Episode.ingested_at).desc(), col(Episode.id))
        .limit(limit)
    )
    return [tuple(row) for row in session.execute(statement)]


def _counted() -> tuple[sa.ColumnElement[bool], ...]:
    return (
        col(Episode.is_current).is_(True),
        col(Episode.purged_at).is_(None),
        col(Episode.outcome).in_(("success", "failure")),
        col(Episode.outcome_source) != "self-reported",
    )


def _task() -> sa.ColumnElement[str]:
    return sa.func.coalesce(col(ClusterEpisode.stratum), col(Episode.task_key))


def _act() -> sa.ColumnElement[str]:
    return col(Episode.details)["acts"].as_string()


def _consumed() -> sa.ColumnElement[bool]:
    return (col(RunEpisode.namespace) == col(Episode.namespace)) & (col(RunEpisode.episode_id) == col(Episode.id))


def _member() -> sa.ColumnElement[bool]:
    return (col(ClusterEpisode.namespace) == col(Episode.namespace)) & (
        col(ClusterEpisode.episode_id) == col(Episode.id)
    )
