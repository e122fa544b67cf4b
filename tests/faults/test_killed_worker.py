"""kill -9 of the worker, at seeded points of a night: after a restart it is as if nothing had happened."""

from __future__ import annotations

import time
from random import Random

import pytest
from pytest_celery import CeleryTestSetup
from sqlmodel import select

from storage.engine import Database
from storage.tables import RunStep
from support import nights
from support.full import FULL
from support.processes import Child, wait_until

POINTS = 10 if FULL else 3

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    ("seed", "store_url"),
    [(seed, "postgres" if seed % 3 == 2 else "sqlite") for seed in range(POINTS)],
    indirect=["store_url"],
)
def test_a_night_whose_worker_was_killed_ends_as_an_undisturbed_one(
    celery_setup: CeleryTestSetup,
    night_store: Database,
    beat: Child,
    undisturbed: tuple[nights.Outcome, list[nights.StepTime]],
    seed: int,
) -> None:
    expected, times = undisturbed
    chance = Random(seed)
    at, part = chance.choice(times), chance.random()
    print(f"seed {seed}: kill -9 at {part:.0%} of {at.stage}/{at.shard or '-'} ({at.seconds * part:.3f} s into it)")

    nights.ask_for(celery_setup.app, night_store)
    wait_until(f"{at.stage}/{at.shard} was begun", lambda: has_begun(night_store, at), alive=beat)
    time.sleep(at.seconds * part)  # the point itself is a moment in time: there is no event to wait for
    celery_setup.worker.kill()
    assert celery_setup.worker.container.status == "exited"
    celery_setup.worker.restart()

    nights.wait_until_closed(night_store, beat)
    assert nights.outcome(night_store) == expected


def has_begun(database: Database, at: nights.StepTime) -> bool:
    with database.read() as session:
        states = session.exec(select(RunStep.state).where(RunStep.stage == at.stage, RunStep.shard == at.shard)).all()
    return any(state != "pending" for state in states)
