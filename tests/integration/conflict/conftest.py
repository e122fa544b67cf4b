"""Nights over raw episodes, from their ingest to the closed run, on a real store."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlmodel import select

from storage import ledger
from storage.engine import Database
from storage.queries.runs import steps_of_run
from storage.tables import Conflict, Run, Statement
from support import factories
from tasks import pipeline
from tasks.conflict.resolve.step import Resolved, resolve
from tasks.ingest.step import ingest_records
from tasks.pipeline import Worker
from tasks.promote.people import Reviewer

SECRET = b"k" * 32
START = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)


@dataclass
class Lab:
    """A namespace, what is ingested into it, and its nights."""

    database: Database
    namespace: str = "lab"
    night_number: int = 0

    def told(self, name: str, *texts: str, day: int = 1, **given: Any) -> None:
        """Ingest one episode whose agent claims this, on a day of November 2026."""
        steps = [{"id": f"s{n}", "kind": "claim", "text": text} for n, text in enumerate(texts)]
        self.bring([{"id": name, "task": f"note {name}", "steps": steps,
                     "started_at": f"2026-11-{day:02}T08:00:00Z", **given}])  # fmt: skip

    def bring(self, records: Sequence[dict[str, Any]]) -> None:
        """Ingest records as an operator does."""
        file = io.BytesIO(b"".join(json.dumps(each).encode() + b"\n" for each in records))
        report = ingest_records(self.database, file, self.namespace, principal="ops", now=START, secret=SECRET)
        assert report.rejected == []

    def whole_night(self) -> dict[str, Any]:
        """Run a night from its first stage to its last; returns what its conflict stage counted."""
        run, worker = self._open()
        closed = pipeline.drive(self.database, run.id, worker)
        assert closed.state == "completed", closed.problems
        return self.result(closed)

    def night(self) -> dict[str, Any]:
        """Run a night without comparisons and drafts: what raw episodes contradict needs neither."""
        run, worker = self._open()
        while claim := pipeline.claim(self.database, worker, run_id=run.id):
            if claim.stage not in ("select", "cluster", "conflict"):
                break
            pipeline.execute(self.database, claim, worker)
        with self.database.write() as session:
            ledger.add_steps(session, session.get_one(Run, run.id), "conflict", [""])
            (step,) = [each.id for each in steps_of_run(session, run.id) if each.stage == "conflict"]
        claim = pipeline.claim(self.database, worker, run_id=run.id, step_id=step)
        assert claim is not None
        pipeline.execute(self.database, claim, worker)
        with self.database.write() as session:
            session.get_one(Run, run.id).state = "completed"
        return self.result(run)

    def _open(self) -> tuple[Run, Worker]:
        now = START + timedelta(days=self.night_number)
        self.night_number += 1
        worker = Worker(owner="test", secret=SECRET, clock=lambda: now, retry_seconds=0)
        return pipeline.open_run(self.database, self.namespace, now.date().isoformat(), "test", now), worker

    def result(self, run: Run) -> dict[str, Any]:
        with self.database.read() as session:
            return next(step.result for step in steps_of_run(session, run.id) if step.stage == "conflict")

    def conflicts(self, state: str | None = "open") -> list[Conflict]:
        """The namespace's conflicts."""
        statement = select(Conflict).where(Conflict.namespace == self.namespace).order_by(Conflict.id)
        with self.database.read() as session:
            return [row for row in session.exec(statement) if state in (None, row.state)]

    def only(self) -> Conflict:
        """The one open conflict."""
        (conflict,) = self.conflicts()
        return conflict

    def statements(self) -> list[Statement]:
        with self.database.read() as session:
            return list(session.exec(select(Statement).where(Statement.namespace == self.namespace)))

    def person(self, name: str = "ana", role: str = "reviewer") -> Reviewer:
        return factories.make_person(self.database, name, START, role=role)[0]

    def resolve(self, conflict: Conflict, who: Reviewer, keep: str = "right", **given: Any) -> Resolved:
        options = {"reason": "seen both", "now": START, "secret": SECRET, **given}
        return resolve(self.database, conflict.namespace, conflict.id, keep=keep, reviewer=who, **options)

    def beside(self, namespace: str) -> Lab:
        """Another namespace of the same store."""
        return replace(self, namespace=namespace, night_number=0)


@pytest.fixture
def lab(database: Database) -> Lab:
    return Lab(database)
