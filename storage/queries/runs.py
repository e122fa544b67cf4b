"""Questions about runs and their steps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import Heartbeat, Namespace, Run, RunStep, Schedule


def run_by_id(session: Session, run_id: str) -> Run | None:
    """One run, fresh from the database."""
    return session.get(Run, run_id, populate_existing=True)


def run_open_night(session: Session, namespace: str) -> Run | None:
    """The night that is running in this namespace; the store allows one."""
    statement = select(Run).where(Run.namespace == namespace, Run.kind == "night", Run.state == "running")
    return session.exec(statement).first()


def run_newest_of_key(session: Session, namespace: str, kind: str, key: str) -> Run | None:
    """The latest run of one night, or of one repair."""
    statement = select(Run).where(Run.namespace == namespace, Run.kind == kind, Run.key == key)
    return session.exec(statement.order_by(col(Run.seq).desc()).limit(1)).first()


def newest_run_id(session: Session, namespace: str) -> str | None:
    """The greatest id of a namespace's runs, of whatever kind."""
    return session.exec(select(sa.func.max(col(Run.id))).where(Run.namespace == namespace)).one()


def nights_closed_before(session: Session, namespace: str, run_id: str | None = None) -> Sequence[Run]:
    """Closed nights of a namespace from the newest back, older than ``run_id`` where one is named."""
    statement = select(Run).where(Run.namespace == namespace, Run.kind == "night", Run.state != "running")
    if run_id is not None:
        statement = statement.where(Run.id < run_id)
    return session.exec(statement.order_by(col(Run.id).desc()).limit(30)).all()


def night_ran_since(session: Session, namespace: str, night: str, since: datetime) -> bool:
    """Whether a run of this night started at ``since`` or after."""
    statement = select(Run.id).where(
        Run.namespace == namespace, Run.kind == "night", Run.key == night, Run.started_at >= since
    )
    return session.exec(statement.limit(1)).first() is not None


def runs_recent(session: Session, namespace: str | None = None, limit: int = 50) -> Sequence[Run]:
    """The newest runs, of one namespace or of all."""
    statement = select(Run).order_by(col(Run.id).desc()).limit(limit)
    if namespace is not None:
        statement = statement.where(Run.namespace == namespace)
    return session.exec(statement).all()


def runs_open(session: Session) -> Sequence[Run]:
    """Every run that is not closed, oldest first."""
    return session.exec(select(Run).where(Run.state == "running").order_by(col(Run.id))).all()


def repairs_open(session: Session, namespace: str) -> Sequence[Run]:
    """The repairs of a namespace that are not closed, oldest first."""
    statement = select(Run).where(Run.namespace == namespace, Run.kind == "repair", Run.state == "running")
    return session.exec(statement.order_by(col(Run.id))).all()


def steps_of_run(session: Session, run_id: str) -> Sequence[RunStep]:
    """Every step of a run in the order it was planned, fresh from the database."""
    statement = select(RunStep).where(RunStep.run_id == run_id).order_by(col(RunStep.id))
    return session.exec(statement.execution_options(populate_existing=True)).all()


def step_by_id(session: Session, step_id: str) -> RunStep | None:
    """One step."""
    return session.get(RunStep, step_id)


def steps_to_enqueue(session: Session, run_id: str) -> Sequence[RunStep]:
    """Pending steps of a run that no message was sent for."""
    statement = select(RunStep).where(
        RunStep.run_id == run_id, RunStep.state == "pending", col(RunStep.enqueued_at).is_(None)
    )
    return session.exec(statement.order_by(col(RunStep.id))).all()


def steps_absent(session: Session, now: datetime, sent_before: datetime) -> Sequence[RunStep]:
    """Steps that should be worked on and may have no message.

    Pending ones never sent, or sent before ``sent_before``; and those whose lease ended after their last message.
    """
    sent, until = col(RunStep.enqueued_at), col(RunStep.lease_until)
    unsent = sent.is_(None) | (sent < sent_before)
    waiting = (col(RunStep.state) == "pending") & unsent
    abandoned = (col(RunStep.state) == "leased") & (until < now) & (unsent | (sent < until))
    statement = select(RunStep).join(Run, col(Run.id) == col(RunStep.run_id)).where(Run.state == "running")
    return session.exec(statement.where(waiting | abandoned).order_by(col(RunStep.id))).all()


def steps_leased(session: Session) -> Sequence[RunStep]:
    """Steps that some worker holds."""
    return session.exec(select(RunStep).where(RunStep.state == "leased")).all()


def namespace_exists(session: Session, namespace: str) -> bool:
    """Whether anything was ever ingested into, or planned for, this namespace."""
    return session.exec(select(Namespace.path).where(Namespace.path == namespace)).first() is not None


def namespaces_all(session: Session) -> Sequence[str]:
    """Every namespace, by name."""
    return session.exec(select(Namespace.path).order_by(Namespace.path)).all()


def schedules_on(session: Session) -> Sequence[Schedule]:
    """Every schedule that is not switched off."""
    return session.exec(select(Schedule).where(sa.true() == Schedule.enabled).order_by(Schedule.namespace)).all()


def schedule_of(session: Session, namespace: str) -> Schedule | None:
    """The schedule of one namespace."""
    return session.get(Schedule, namespace)


def heartbeats(session: Session) -> Sequence[Heartbeat]:
    """When each background component last made progress."""
    return session.exec(select(Heartbeat).order_by(Heartbeat.component)).all()


def heartbeat_of(session: Session, component: str) -> Heartbeat | None:
    """When one component last made progress."""
    return session.get(Heartbeat, component, populate_existing=True)
