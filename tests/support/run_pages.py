"""A finished night with conclusions of every kind, for tests of what its page tells."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlmodel import select

from storage.engine import Database
from storage.tables import Inference, RunStep
from support import factories
from support.review_pages import SPACE

NIGHT = "/runs/run-1"


def make_night(database: Database, now: datetime) -> str:
    """A finished night with more conclusions than fit; returns its address."""
    factories.make_run(database, SPACE, "run-1", now)
    conclude(database, "unconfirmed", 7, next_step="needs about 14 more failures on at least 5 tasks")
    conclude(database, "agent-confounded", 1)
    conclude(database, "hypothesis", 1, next_step="record what tells the tasks apart",
             ruled_out=["not chance: seen again on 20 groups", "not who ran: 3 agents"])  # fmt: skip
    return NIGHT


def conclude(database: Database, verdict: str, count: int, **given: Any) -> None:
    """So many more conclusions of that verdict."""
    with database.write() as session:
        for place in range(count):
            name, values = f"{verdict}-{place:03}", {"predicate_id": f"{verdict}-{place}"} | given
            session.add(inference(name, verdict, f"{verdict} {place:03}.", **values))


def inference(name: str, verdict: str, statement: str, **given: Any) -> Inference:
    """One conclusion of the night."""
    values: dict[str, Any] = {"predicate_id": name, "family_id": "orders"} | given
    return Inference(namespace=SPACE, id=name, run_id="run-1", verdict=verdict, statement=statement, **values)


def results(database: Database, stage: str, **result: object) -> None:
    """What a stage of the night told."""
    with database.write() as session:
        session.exec(select(RunStep).where(RunStep.stage == stage)).one().result = dict(result)
