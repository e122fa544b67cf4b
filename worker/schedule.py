"""When a night is due: computed from schedule, ledger and the database's clock, never from what beat remembers."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

import structlog
from sqlmodel import Session

from storage.engine import Database, database_now
from storage.queries import runs as queries
from storage.tables import Run, RunStep, Schedule
from tasks import pipeline

log = structlog.get_logger()
HOUR = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


class HourMalformed(ValueError):
    """A nightly hour is ``HH:MM`` in UTC, such as 02:30."""


def parse_hour(text: str) -> str:
    """``text``, checked.

    Raises:
        HourMalformed: if it is no time of day.
    """
    if not HOUR.fullmatch(text):
        raise HourMalformed(f"{text!r} is no time of day: write hours and minutes in UTC, such as 02:30")
    return text


def last_due(at: str, now: datetime) -> datetime:
    """The newest moment at or before ``now`` at which a night at this hour is due. UTC has no daylight saving."""
    now = now.astimezone(UTC)
    hour, minute = (int(part) for part in at.split(":"))
    today = datetime.combine(now.date(), time(hour, minute, tzinfo=UTC))
    return today if today <= now else today - timedelta(days=1)


def tick(database: Database) -> list[Run]:
    """Open every night that is due and absent; returns the runs that answer, opened just now or joined.

    Two beats, a beat that was down, or a clock that jumped come to the same: a night that ran since its hour is left
    alone, and unique indexes let one of two openers win.
    """
    with database.read() as session:
        now = database_now(session)
        due = [(each, last_due(each.at, now)) for each in queries.schedules_on(session)]
        absent = [(each, moment) for each, moment in due if _is_absent(session, each, moment)]
    return [run for schedule, moment in absent if (run := _open(database, schedule, moment, now)) is not None]


def _is_absent(session: Session, schedule: Schedule, due: datetime) -> bool:
    if due < schedule.updated_at:
        return False
    return not queries.night_ran_since(session, schedule.namespace, night_of(due), due)


def night_of(due: datetime) -> str:
    """A night is named by the UTC date of its hour."""
    return due.astimezone(UTC).date().isoformat()


def _open(database: Database, schedule: Schedule, due: datetime, now: datetime) -> Run | None:
    # One namespace that cannot be opened must not keep the others from their night.
    try:
        return pipeline.open_run(database, schedule.namespace, night_of(due), "schedule", now)
    except Exception:
        log.exception("schedule.open_failed", namespace=schedule.namespace, night=night_of(due))
        return None


def first_steps(database: Database, run: Run) -> list[RunStep]:
    """The steps of a run that no message was sent for."""
    with database.read() as session:
        return list(queries.steps_to_enqueue(session, run.id))
