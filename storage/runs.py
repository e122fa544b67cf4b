"""Writes on runs beside the ledger's own: opening, locking, closing, and what was sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.engine import database_now
from storage.ids import uuid7_after
from storage.outbox import lock_namespace
from storage.queries.runs import newest_run_id, run_newest_of_key, steps_leased
from storage.tables import ClusterEpisode, Heartbeat, Run, RunEpisode, RunStep, Schedule


def insert_run(session: Session, *, namespace: str, kind: str, key: str, requested_by: str, now: datetime) -> Run:
    """A new run after the newest of its key; its id sorts after every run's of its namespace.

    Arrival is ordered by run ids, so a clock that was set back must not turn it round. The namespace's lock is held
    until commit, so that a night and a repair that open at the same time follow one another.

    Raises:
        NamespaceUnknown: if the namespace has no row.
        sqlalchemy.exc.IntegrityError: if another process opened one at the same time; read again.
    """
    lock_namespace(session, namespace)
    newest = run_newest_of_key(session, namespace, kind, key)
    run = Run(
        id=uuid7_after(newest_run_id(session, namespace)),
        namespace=namespace,
        kind=kind,
        key=key,
        seq=newest.seq + 1 if newest else 1,
        requested_by=requested_by,
        started_at=now,
    )
    session.add(run)
    session.flush()
    return run


def inherit_unclustered(session: Session, run: Run) -> None:
    """Hand a new night what a failed one consumed and never clustered; else no run would look at it again."""
    clustered = sa.exists().where(
        col(ClusterEpisode.namespace) == col(RunEpisode.namespace),
        col(ClusterEpisode.episode_id) == col(RunEpisode.episode_id),
    )
    statement = sa.update(RunEpisode).where(col(RunEpisode.namespace) == run.namespace, ~clustered)
    session.execute(statement.values(run_id=run.id).execution_options(synchronize_session=False))


def lock_run(session: Session, run_id: str) -> Run:
    """The run under its row lock, as it is now: whoever plans or closes it does so alone."""
    statement = select(Run).where(Run.id == run_id).with_for_update()
    return session.exec(statement.execution_options(populate_existing=True)).one()


def close_run(session: Session, run: Run, *, state: str, stats: dict[str, Any], problems: list[dict[str, Any]]) -> None:
    """Close a locked run. Once only: a closed run stays as it is."""
    if run.state != "running":
        return
    run.state, run.stats, run.problems = state, stats, problems
    run.finished_at = database_now(session)
    session.flush()


def mark_enqueued(session: Session, step_ids: Iterable[str]) -> None:
    """Note that a message was sent for these steps. A hint for the reconciler, no promise."""
    statement = sa.update(RunStep).where(col(RunStep.id).in_(list(step_ids)))
    session.execute(statement.values(enqueued_at=database_now(session)))


def release_dead(session: Session, is_dead: Callable[[str], bool]) -> list[RunStep]:
    """Free the steps whose holder is known to be dead, without waiting for their leases to end.

    Attempts stay counted. If the holder lives after all, its fencing token is stale as soon as the step is claimed.
    """
    now, freed = database_now(session), []
    for step in steps_leased(session):
        if step.owner and step.lease_until and step.lease_until > now and is_dead(step.owner):
            step.lease_until, step.enqueued_at = now - timedelta(milliseconds=1), None
            freed.append(step)
    session.flush()
    return freed


def beat_heart(session: Session, component: str, detail: dict[str, Any] | None = None) -> None:
    """Record that a component made progress just now, by the database's clock."""
    session.merge(Heartbeat(component=component, at=database_now(session), detail=detail or {}))


def forget_hearts(session: Session, before: datetime) -> None:
    """Drop the heartbeats of workers that are long gone, so that hosts that come and go leave no rows behind."""
    session.execute(sa.delete(Heartbeat).where(col(Heartbeat.at) < before, col(Heartbeat.component).like("worker:%")))


def set_schedule(session: Session, namespace: str, at: str, enabled: bool, now: datetime) -> Schedule:
    """Set the nightly hour of a namespace. A due time before ``now`` is not caught up."""
    return session.merge(Schedule(namespace=namespace, at=at, enabled=enabled, updated_at=now))
