"""Figures of the store for whoever watches it: counts, ages and last results; no name and no namespace in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.engine import database_now
from storage.tables import Candidate, DeadLetter, DrillResult, Heartbeat, OutboxEvent, Run, RunStep, UtcDateTime
from storage.tables.review import TIERS, WAITING
from storage.tables.runs import RUN_STATES

LATELY = timedelta(days=1)
COMPONENTS = ("worker", "beat", "relay", "reconcile")


@dataclass(frozen=True)
class Waiting:
    """How many wait, and for how many seconds the one that has waited longest; 0 where none does."""

    count: int
    oldest_seconds: float


@dataclass(frozen=True)
class StoreFigures:
    """All of it, as of one moment. Seconds throughout; "lately" is the 24 hours before.

    ``stages`` and ``night_seconds`` are the longest of nights that began lately; ``steps`` the steps that are open;
    ``parked`` and ``retried`` those of runs that began lately. ``drills`` has the newest result of each condition.
    """

    nights: Mapping[str, int]
    night_seconds: float
    stages: Mapping[str, float]
    steps: Mapping[str, int]
    parked: int
    retried: int
    ledger: Waiting
    queue: Mapping[str, Waiting]
    outbox: Waiting
    dead_letters: int
    repairs_open: int
    repair_seconds: float
    drills: Sequence[DrillResult]
    heartbeats: Mapping[str, float]
    at: datetime


def store_figures(session: Session) -> StoreFigures:
    """The figures of now, by the database's clock."""
    now = database_now(session)
    since = now - LATELY
    spans = _spans(session, since)
    return StoreFigures(
        nights=_nights(session),
        night_seconds=max((seconds for kind, seconds in spans if kind == "night"), default=0.0),
        stages=_stages(session, since),
        steps=_steps(session),
        parked=_count(session, *_lately(since), col(RunStep.state) == "parked"),
        retried=_count(session, *_lately(since), col(RunStep.attempts) > 1),
        ledger=_ledger(session, now),
        queue=_queue(session, now),
        outbox=_outbox(session, now),
        dead_letters=_letters(session),
        repairs_open=_repairs_open(session),
        repair_seconds=max((seconds for kind, seconds in spans if kind == "repair"), default=0.0),
        drills=_drills(session),
        heartbeats=_heartbeats(session, now),
        at=now,
    )


def _nights(session: Session) -> dict[str, int]:
    rows = session.execute(
        sa.select(col(Run.state), sa.func.count()).where(col(Run.kind) == "night").group_by(Run.state)
    )
    return dict.fromkeys(RUN_STATES, 0) | {str(row[0]): int(row[1]) for row in rows}


def _spans(session: Session, since: datetime) -> list[tuple[str, float]]:
    asked = select(Run.kind, Run.started_at, Run.finished_at).where(Run.started_at >= since)
    return [(kind, _seconds(begun, ended)) for kind, begun, ended in session.exec(asked) if ended is not None]


def _stages(session: Session, since: datetime) -> dict[str, float]:
    """Of each stage the longest, from its first step's start to its last one's end."""
    asked = (
        sa.select(col(RunStep.stage), sa.func.min(RunStep.started_at), sa.func.max(RunStep.finished_at))
        .join(Run, col(Run.id) == col(RunStep.run_id))
        .where(col(Run.started_at) >= since, col(Run.kind) == "night")
        .group_by(col(RunStep.run_id), col(RunStep.stage))
    )
    longest: dict[str, float] = {}
    for stage, begun, ended in session.execute(asked):
        if begun is not None and ended is not None:
            longest[stage] = max(longest.get(stage, 0.0), _seconds(begun, ended))
    return longest


def _steps(session: Session) -> dict[str, int]:
    states = ("pending", "leased")
    asked = sa.select(col(RunStep.state), sa.func.count()).where(col(RunStep.state).in_(states))
    found = session.execute(asked.group_by(RunStep.state))
    return dict.fromkeys(states, 0) | {str(row[0]): int(row[1]) for row in found}


def _lately(since: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    recent = sa.select(col(Run.id)).where(col(Run.started_at) >= since)
    return (col(RunStep.run_id).in_(recent),)


def _count(session: Session, *conditions: sa.ColumnElement[bool]) -> int:
    return int(session.execute(sa.select(sa.func.count()).select_from(RunStep).where(*conditions)).scalar_one())


def _ledger(session: Session, now: datetime) -> Waiting:
    since = sa.func.coalesce(RunStep.enqueued_at, Run.started_at, type_=UtcDateTime())
    asked = sa.select(sa.func.count(), sa.func.min(since)).join(Run, col(Run.id) == col(RunStep.run_id))
    return _waiting(session, asked.where(col(RunStep.state) == "pending"), now)


def _queue(session: Session, now: datetime) -> dict[str, Waiting]:
    asked = sa.select(col(Candidate.tier), sa.func.count(), sa.func.min(Candidate.created_at))
    rows = session.execute(asked.where(sa.text(WAITING)).group_by(Candidate.tier))
    found = {tier: Waiting(count, _seconds(oldest, now)) for tier, count, oldest in rows}
    return dict.fromkeys(TIERS, Waiting(0, 0.0)) | found


def _outbox(session: Session, now: datetime) -> Waiting:
    asked = sa.select(sa.func.count(), sa.func.min(OutboxEvent.created_at))
    return _waiting(session, asked.where(col(OutboxEvent.relayed_at).is_(None)), now)


def _waiting(session: Session, asked: sa.Select[int, datetime], now: datetime) -> Waiting:
    count, oldest = session.execute(asked).one()
    return Waiting(count, _seconds(oldest, now) if oldest is not None else 0.0)


def _letters(session: Session) -> int:
    asked = sa.select(sa.func.count()).select_from(DeadLetter).where(col(DeadLetter.resolved_at).is_(None))
    return int(session.execute(asked).scalar_one())


def _repairs_open(session: Session) -> int:
    asked = sa.select(sa.func.count()).select_from(Run).where(col(Run.kind) == "repair", col(Run.state) == "running")
    return int(session.execute(asked).scalar_one())


def _drills(session: Session) -> Sequence[DrillResult]:
    newest = (
        sa.select(col(DrillResult.mode), col(DrillResult.condition), sa.func.max(DrillResult.at).label("at"))
        .group_by(DrillResult.mode, DrillResult.condition)
        .subquery()
    )
    same = sa.and_(
        col(DrillResult.mode) == newest.c.mode,
        col(DrillResult.condition) == newest.c.condition,
        col(DrillResult.at) == newest.c.at,
    )
    # Two of one moment: the later id is the one that counts, and comes last.
    rows = session.exec(select(DrillResult).join(newest, same).order_by(col(DrillResult.id))).all()
    return list({(row.mode, row.condition): row for row in rows}.values())


def _heartbeats(session: Session, now: datetime) -> dict[str, float]:
    rows = session.exec(select(Heartbeat).where(col(Heartbeat.component).in_(COMPONENTS))).all()
    return {row.component: _seconds(row.at, now) for row in rows}


def _seconds(begun: datetime, ended: datetime) -> float:
    return max(0.0, (ended - begun).total_seconds())
