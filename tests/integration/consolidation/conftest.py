"""Nights up to their contrast, on a real store."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from storage.engine import Database
from storage.queries import runs as run_queries
from storage.tables import Run, RunStep
from tasks import pipeline
from tasks.ingest.step import ingest_records
from tasks.pipeline import Worker

SECRET = b"k" * 32
START = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
STAGES = ("select", "cluster", "contrast")


def bookings(seed: int, tasks: int = 16, runs: int = 10, name: str = "r", harm: float = 0.85) -> list[dict[str, Any]]:
    """Invented runs of a booking desk: paying without a look at the fare first spoils a run with chance ``harm``.

    Hard tasks, which fail more, use ``ask_desk`` more: a call that does no harm.
    """
    rng = random.Random(seed)
    records = []
    for task in range(tasks):
        hard = task % 4 == 3
        for number in range(runs):
            hasty, asks = rng.random() < 0.5, rng.random() < (0.9 if hard else 0.2)
            fails = rng.random() < (harm if hasty else 0.1) or (hard and rng.random() < 0.5)
            calls = [*(["ask_desk"] if asks else []), *([] if hasty else ["get_fare"]), "pay_booking"]
            records.append(
                record(f"{name}-{seed}-{task}-{number}", task, calls, "failure" if fails else "success", rng)
            )
    return records


def record(name: str, task: int, calls: list[str], outcome: str, rng: random.Random) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"id": "u", "kind": "user", "text": f"Book trip number {task} for me"}]
    for place, call in enumerate(calls):
        steps.append({"id": f"c{place}", "kind": "tool_call", "name": call, "arguments": {"ref": f"{name}-{place}"}})
        steps.append({"id": f"o{place}", "kind": "observation", "of": f"c{place}", "text": f"ok {rng.random()}"})
    return {
        "id": name, "session_id": name, "task": f"Book trip number {task} for me", "task_key": f"trip/{task}",
        "agent": f"bot-{rng.randrange(3)}", "environment": {"desk": "1.0"},
        "tools_offered": ["ask_desk", "get_fare", "pay_booking"], "outcome": outcome, "steps": steps,
    }  # fmt: skip


def take_in(database: Database, records: list[dict[str, Any]], namespace: str = "lab", **options: Any) -> Any:
    body = io.BytesIO(b"".join(json.dumps(each).encode() + b"\n" for each in records))
    options = {"principal": "ops", "now": START, "secret": SECRET, **options}
    return ingest_records(database, body, namespace, **options)


@pytest.fixture
def bring(database: Database) -> Callable[..., Any]:
    return partial(take_in, database)


@pytest.fixture
def bring_to() -> Callable[..., Any]:
    return take_in


@pytest.fixture
def worker() -> Worker:
    return Worker(owner="test", secret=SECRET, clock=lambda: START, retry_seconds=0)


@pytest.fixture
def night(database: Database, worker: Worker) -> Callable[..., Run]:
    """Run a night as far as its contrast, then close it, so that the next may open."""

    def running(number: int = 0, namespace: str = "lab", steps: Any = None) -> Run:
        now = START + timedelta(days=number)
        mine = replace(worker, clock=lambda: now, **({} if steps is None else {"steps": steps}))
        run = pipeline.open_run(database, namespace, now.date().isoformat(), "test", now)
        while claim := pipeline.claim(database, mine, run_id=run.id):
            if claim.stage not in STAGES:
                break
            pipeline.execute(database, claim, mine)
        with database.write() as session:
            row = run_queries.run_by_id(session, run.id)
            assert row is not None
            row.state = "completed"
        return run

    return running


def steps_done(database: Database, run: Run) -> list[RunStep]:
    with database.read() as session:
        return list(run_queries.steps_of_run(session, run.id))


@pytest.fixture
def results(database: Database) -> Callable[[Run, str], list[dict[str, Any]]]:
    return lambda run, stage: [step.result for step in steps_done(database, run) if step.stage == stage]


@pytest.fixture
def desk() -> Callable[..., list[dict[str, Any]]]:
    return bookings
