from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlmodel import col

from storage.engine import Database, database_now
from storage.queries import runs as queries
from storage.runs import mark_enqueued, set_schedule
from storage.tables import Run, RunStep
from tasks import pipeline
from tasks.pipeline import Worker
from worker import schedule
from worker.reconcile import Report, reconcile

NAMESPACE = "acme/support"
NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)


class Broker:
    """Takes messages, and remembers which steps they were for."""

    def __init__(self, database: Database, takes: int = 99) -> None:
        self.database, self.takes, self.messages = database, takes, list[str]()

    def send(self, steps: list[RunStep]) -> int:
        taken = [step.id for step in steps[: self.takes]]
        self.messages += taken
        with self.database.write() as session:
            mark_enqueued(session, taken)
        return len(taken)


def sweep(database: Database, broker: Broker, **options: Any) -> Report:
    return reconcile(database, **{"max_attempts": 3, "is_dead": lambda _: False, "send": broker.send, **options})


def open_night(database: Database) -> Run:
    return pipeline.open_run(database, NAMESPACE, "2026-11-30", "test", NOW)


def test_a_step_without_a_message_is_sent_once(database: Database, namespace: str) -> None:
    open_night(database)
    broker = Broker(database)
    assert len(sweep(database, broker).sent) == 1
    assert sweep(database, broker).sent == []
    assert len(broker.messages) == 1


def test_a_message_that_got_lost_is_sent_again_after_a_while(database: Database, namespace: str) -> None:
    open_night(database)
    broker = Broker(database)
    sweep(database, broker)
    assert len(sweep(database, broker, resend_seconds=-1).sent) == 1


def test_a_broker_that_does_not_answer_is_tried_again(database: Database, namespace: str) -> None:
    open_night(database)
    assert sweep(database, Broker(database, takes=0)).sent == []
    assert len(sweep(database, Broker(database)).sent) == 1


def test_a_step_of_a_dead_worker_is_sent_again_at_once(database: Database, namespace: str, worker: Worker) -> None:
    run = open_night(database)
    broker = Broker(database)
    sweep(database, broker)
    pipeline.claim(database, worker, run_id=run.id)
    report = sweep(database, broker, is_dead=lambda owner: owner == worker.owner)
    assert len(report.released) == len(report.sent) == 1


def test_a_step_that_is_worked_on_is_left_alone(database: Database, namespace: str, worker: Worker) -> None:
    run = open_night(database)
    pipeline.claim(database, worker, run_id=run.id)
    report = sweep(database, Broker(database), resend_seconds=-1)
    assert report == Report()


def test_an_exhausted_step_is_parked_and_its_run_closed(database: Database, namespace: str, worker: Worker) -> None:
    run = open_night(database)
    for _ in range(3):
        pipeline.claim(database, worker, run_id=run.id)
        end_leases(database)
    assert len(sweep(database, Broker(database)).parked) == 1
    assert state_of(database, run) == "failed"


def end_leases(database: Database) -> None:
    with database.write() as session:
        ended = database_now(session) - timedelta(seconds=1)
        session.execute(sa.update(RunStep).where(col(RunStep.state) == "leased").values(lease_until=ended))


def state_of(database: Database, run: Run) -> str:
    with database.read() as session:
        found = queries.run_by_id(session, run.id)
    assert found is not None
    return found.state


def test_a_run_whose_last_step_closed_unseen_is_closed(database: Database, namespace: str, worker: Worker) -> None:
    run = open_night(database)
    pipeline.drive(database, run.id, worker)
    with database.write() as session:
        session.execute(sa.update(Run).values(state="running"))
    assert sweep(database, Broker(database)).closed == [run.id]
    assert state_of(database, run) == "completed"


def test_a_dry_run_looks_and_changes_nothing(database: Database, namespace: str, worker: Worker) -> None:
    run = open_night(database)
    pipeline.claim(database, worker, run_id=run.id)
    broker = Broker(database)
    report = sweep(database, broker, dry_run=True, is_dead=lambda _: True)
    assert len(report.released) == 1
    assert broker.messages == []
    assert pipeline.claim(database, worker, run_id=run.id) is None


# Nights that are due


def schedule_for(database: Database, due: datetime, set_at: datetime) -> None:
    with database.write() as session:
        set_schedule(session, NAMESPACE, f"{due:%H:%M}", enabled=True, now=set_at)


def minutes_ago(database: Database, minutes: float) -> datetime:
    with database.read() as session:
        return database_now(session) - timedelta(minutes=minutes)


def test_a_night_that_is_due_is_opened_once_by_many_ticks(database: Database, namespace: str, worker: Worker) -> None:
    due = minutes_ago(database, 5)
    schedule_for(database, due, set_at=due - timedelta(hours=1))
    first = schedule.tick(database)
    second = schedule.tick(database)
    assert [run.key for run in first] == [due.date().isoformat()]
    assert [run.id for run in second] in ([], [first[0].id])
    pipeline.drive(database, first[0].id, worker)
    with database.read() as session:
        assert len(queries.runs_recent(session)) == 1


def test_an_hour_that_passed_before_it_was_set_is_not_caught_up(database: Database, namespace: str) -> None:
    due = minutes_ago(database, 5)
    schedule_for(database, due, set_at=minutes_ago(database, 1))
    assert schedule.tick(database) == []


def test_a_night_missed_while_beat_was_down_is_caught_up(database: Database, namespace: str) -> None:
    due = minutes_ago(database, 60 * 20)
    schedule_for(database, due, set_at=due - timedelta(days=3))
    assert [run.key for run in schedule.tick(database)] == [due.date().isoformat()]


def test_a_schedule_that_is_off_opens_nothing(database: Database, namespace: str) -> None:
    due = minutes_ago(database, 5)
    with database.write() as session:
        set_schedule(session, NAMESPACE, f"{due:%H:%M}", enabled=False, now=due - timedelta(days=1))
    assert schedule.tick(database) == []
