"""Two beats, two requests, two deliveries: one run, each step worked on once."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from celery import Celery
from pytest_celery import CeleryTestSetup
from sqlmodel import select

from storage.engine import Database, database_now
from storage.queries.runs import heartbeat_of
from storage.runs import set_schedule
from storage.tables import Run
from support import nights
from support.local import COMMAND, Home
from support.processes import Child, wait_until
from worker.base_task import send_steps

Undisturbed = tuple[nights.Outcome, list[nights.StepTime]]

pytestmark = pytest.mark.processes


def run_ids(database: Database) -> list[str]:
    with database.read() as session:
        return list(session.exec(select(Run.id)))


def test_two_beats_open_one_night(
    celery_setup: CeleryTestSetup, night_home: Home, night_store: Database, beat: Child, undisturbed: Undisturbed
) -> None:
    due = datetime.now(UTC) - timedelta(minutes=5)
    second = night_home.start("beat", name="second-beat")
    try:
        with night_store.write() as session:
            set_schedule(session, nights.NAMESPACE, f"{due:%H:%M}", True, now=due - timedelta(hours=1))
        nights.wait_until_closed(night_store, beat)
        let_several_ticks_pass(night_store)
    finally:
        second.stop()
    found = nights.outcome(night_store)
    assert found.runs == ((due.date().isoformat(), "completed"),)
    assert [name for name, _ in found.candidates] == [name for name, _ in undisturbed[0].candidates]


def let_several_ticks_pass(database: Database) -> None:
    """Until the worker answered both beats for two more seconds of the database's clock."""
    with database.read() as session:
        end = database_now(session) + timedelta(seconds=2)

    def passed() -> bool:
        with database.read() as session:
            heart = heartbeat_of(session, "reconcile")
        return heart is not None and heart.at > end

    wait_until("several ticks passed", passed)


def test_a_night_asked_for_twice_at_once_is_one_run(
    celery_setup: CeleryTestSetup, night_home: Home, night_store: Database, beat: Child, undisturbed: Undisturbed
) -> None:
    wait_for_first_progress(night_store)
    ask = ["consolidate", "--namespace", nights.NAMESPACE, "--night", nights.NIGHT, "--wait"]
    asking = [
        Child([*COMMAND, *ask], cwd=night_home.folder, env=night_home.env, name=f"ask-{number}").start()
        for number in range(2)
    ]
    for child in asking:
        wait_until(f"{child.name} ends", lambda child=child: child.exit_code is not None, seconds=150)
        assert child.exit_code == 0, child.output()
    assert len(run_ids(night_store)) == 1
    assert nights.outcome(night_store) == undisturbed[0]


def test_two_local_nights_at_once_are_one_run_that_both_work_on(
    night_home: Home, night_store: Database, undisturbed: Undisturbed
) -> None:
    ask = ["consolidate", "--namespace", nights.NAMESPACE, "--night", nights.NIGHT, "--local"]
    working = [
        Child([*COMMAND, *ask], cwd=night_home.folder, env=night_home.env, name=f"local-{number}").start()
        for number in range(2)
    ]
    for child in working:
        wait_until(f"{child.name} ends", lambda child=child: child.exit_code is not None, seconds=150)
        assert child.exit_code == 0, child.output()
    assert nights.outcome(night_store) == undisturbed[0]


def test_messages_delivered_several_times_change_nothing(
    celery_setup: CeleryTestSetup,
    celery_setup_app: Celery,
    night_home: Home,
    night_store: Database,
    beat: Child,
    undisturbed: Undisturbed,
) -> None:
    done = threading.Event()
    doubling = threading.Thread(target=double_messages, args=(celery_setup_app, night_store, done))
    doubling.start()
    try:
        nights.ask_for(celery_setup_app, night_store)
        nights.wait_until_closed(night_store, beat)
    finally:
        done.set()
        doubling.join()
    with night_store.read() as session:
        steps = list(nights.steps_of(session))
    send_steps(celery_setup_app, night_store, steps)  # and late: everything once more, after the end
    let_several_ticks_pass(night_store)
    assert nights.outcome(night_store) == undisturbed[0]
    with night_store.read() as session:
        assert {(step.token, step.attempts) for step in nights.steps_of(session)} == {(1, 1)}


def double_messages(app: Celery, database: Database, done: threading.Event) -> None:
    """Send each step's message twice more as soon as the step is in the ledger."""
    seen: set[str] = set()
    while not done.wait(0.05):
        with database.read() as session:
            fresh = [step for step in nights.steps_of(session) if step.id not in seen]
        seen |= {step.id for step in fresh}
        for _ in range(2):
            send_steps(app, database, fresh)


def wait_for_first_progress(database: Database) -> None:
    """A command that waits refuses where no worker has got anything done yet."""

    def begun() -> bool:
        with database.read() as session:
            return heartbeat_of(session, "worker") is not None

    wait_until("the worker got something done", begun)
