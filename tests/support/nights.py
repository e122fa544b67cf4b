"""One night's work for a real worker: episodes of a world, the undisturbed result, and what to compare."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlmodel import Session, col, select

from storage.engine import Database
from storage.queries.runs import steps_to_enqueue
from storage.tables import Candidate, Run, RunStep
from support.local import Home
from support.processes import Child, wait_until
from tasks import pipeline
from worker.base_task import send_steps
from worlds import generate

NAMESPACE = "demo/travel"
NIGHT = "2026-11-30"
EPISODES = 200
SEED = 7
SECRET = "the same secret in every home of a test"
FAST = {
    "SLOWWAVE_SECRET_KEY": SECRET,
    "SLOWWAVE_RECONCILE_SECONDS": "0.5",
    "SLOWWAVE_TICK_SECONDS": "0.5",
}
"""Settings under which a test need not wait for the periods of production."""


@dataclass(frozen=True)
class Outcome:
    """What a night left behind."""

    runs: tuple[tuple[str, str], ...]
    candidates: tuple[tuple[str, str], ...]
    steps: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class StepTime:
    """One step of the undisturbed night, and how long it took."""

    stage: str
    shard: str
    seconds: float


def write_episodes(file: Path) -> Path:
    """The episodes of one world, as an agent team would record them."""
    made = generate(SEED, EPISODES, worlds=("travel",), start=datetime(2026, 1, 5, 8, 0, tzinfo=UTC))
    file.write_text("".join(json.dumps(each) + "\n" for each in made))
    return file


def take_in(home: Home, episodes: Path) -> None:
    """Ingest them."""
    assert home.json("ingest", episodes, "--namespace", NAMESPACE)["accepted"] == EPISODES


def ask_for(app: Any, database: Database) -> None:
    """Ask the running worker for the night, as ``slowwave consolidate`` does."""
    run = pipeline.open_run(database, NAMESPACE, NIGHT, "test", datetime.now(UTC))
    with database.read() as session:
        steps = steps_to_enqueue(session, run.id)
    send_steps(app, database, steps)


def outcome(database: Database) -> Outcome:
    """What the store holds now."""
    with database.read() as session:
        runs = session.exec(select(Run).order_by(col(Run.id))).all()
        candidates = session.exec(select(Candidate).order_by(col(Candidate.id))).all()
        steps = session.exec(select(RunStep).order_by(col(RunStep.stage), col(RunStep.shard))).all()
    return Outcome(
        runs=tuple((run.key, run.state) for run in runs),
        candidates=tuple((each.id, each.content_hash) for each in candidates),
        steps=tuple((step.stage, step.shard) for step in steps if step.state == "done"),
    )


def step_times(database: Database) -> list[StepTime]:
    """The steps of the one run in the order they were worked on."""
    with database.read() as session:
        steps = session.exec(select(RunStep).order_by(col(RunStep.started_at))).all()
    return [
        StepTime(step.stage, step.shard, (step.finished_at - step.started_at).total_seconds())
        for step in steps
        if step.finished_at and step.started_at
    ]


def steps_of(session: Session) -> Sequence[RunStep]:
    """Every step of the store."""
    return session.exec(select(RunStep).order_by(col(RunStep.id))).all()


def wait_until_closed(database: Database, alive: Child | None = None, *, seconds: float = 150) -> None:
    """Wait until there is a run and none is open."""

    def closed() -> bool:
        with database.read() as session:
            states = session.exec(select(Run.state)).all()
        return bool(states) and "running" not in states

    wait_until("the night is closed", closed, seconds=seconds, alive=alive)
