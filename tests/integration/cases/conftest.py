"""A town: runs come in at the door, nights are run whole, people decide, and agents ask over HTTP."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from read_api.app import create_app
from read_api.notifier import Notifier
from storage.engine import Database
from storage.people import add_token
from storage.queries import candidates as candidate_queries
from storage.queries import rules as rule_queries
from storage.queries.runs import steps_of_run
from storage.settings import Settings
from storage.tables import Candidate, CandidateRevision, Run, RunStep
from support.factories import make_person
from tasks import pipeline
from tasks.ingest.step import IngestReport, ingest_records
from tasks.pipeline import Worker
from tasks.promote.people import Reviewer
from tasks.promote.step import DecisionResult, approve
from tasks.revoke.step import RevokeResult, revoke

SECRET = b"k" * 32
START = datetime.now(UTC).replace(hour=2, minute=30, second=0, microsecond=0)
SPACE = "acme/trips"
CHECK, ACT = "get_fare", "pay_booking"


def trip(
    name: str,
    task: int,
    outcome: str,
    *,
    calls: Sequence[str] | None = None,
    said: str = "ok",
    user: str = "",
    **given: Any,
) -> dict[str, Any]:
    """One run of a booking desk. ``said`` is what the first call answers; ``user`` is added to what the user writes."""
    made = list(calls if calls is not None else ([ACT] if outcome == "failure" else [CHECK, ACT]))
    steps: list[dict[str, Any]] = [
        {"id": "u", "kind": "user", "text": f"Book trip number {task} for me, {name}. {user}"}
    ]
    for place, call in enumerate(made):
        text = said if place == 0 else f"done {name}"
        steps.append({"id": f"c{place}", "kind": "tool_call", "name": call, "arguments": {"ref": f"{name}-{place}"}})
        steps.append({"id": f"o{place}", "kind": "observation", "of": f"c{place}", "text": text})
    return {
        "id": name, "session_id": f"s-{name}", "task": f"Book trip number {task} for me", "task_key": f"trip/{task}",
        "agent": "bot", "environment": {"desk": "1.0"}, "tools_offered": [CHECK, ACT, "ask_desk", "wire_refund"],
        "outcome": outcome, "outcome_source": "verifier", "steps": steps, **given,
    }  # fmt: skip


def trips(name: str = "a", tasks: int = 10, each: int = 6, **given: Any) -> list[dict[str, Any]]:
    """Who pays without a look at the fare fails, in every task."""
    return [
        trip(f"{name}-{task}-{n}", task, "failure" if n % 2 else "success", **given)
        for task in range(tasks)
        for n in range(each)
    ]


@dataclass
class Town:
    """Everything from the door to the agents, on one database."""

    database: Database
    api: TestClient
    people: dict[str, Reviewer] = field(default_factory=dict)
    day: int = 0

    @property
    def now(self) -> datetime:
        """The hour of tonight's run."""
        return START + timedelta(days=self.day)

    def bring(self, records: Sequence[dict[str, Any]], namespace: str = SPACE, **options: Any) -> IngestReport:
        """Runs come in, from an operator unless a token is named."""
        body = io.BytesIO(b"".join(json.dumps(each).encode() + b"\n" for each in records))
        given = {"principal": "ops", "now": self.now, "secret": SECRET, **options}
        return ingest_records(self.database, body, namespace, **given)

    def night(self, namespace: str = SPACE) -> Run:
        """One whole night; the day after begins."""
        worker = Worker("test", SECRET, clock=lambda: self.now, retry_seconds=0)
        run = pipeline.open_run(self.database, namespace, self.now.date().isoformat(), "test", self.now)
        closed = pipeline.drive(self.database, run.id, worker)
        self.day += 1
        return closed

    def result(self, run: Run, stage: str) -> dict[str, Any]:
        """What a stage of a run told."""
        with self.database.read() as session:
            steps: list[RunStep] = [step for step in steps_of_run(session, run.id) if step.stage == stage]
        return steps[0].result

    def queue(self, namespace: str = SPACE) -> list[tuple[Candidate, CandidateRevision]]:
        """What waits for a person."""
        with self.database.read() as session:
            return list(candidate_queries.queue(session, namespace))

    def approve(self, candidate: Candidate) -> DecisionResult:
        """As many people as its tier asks approve what is shown."""
        for reviewer in self.people.values():
            result = approve(
                self.database, candidate.namespace, candidate.id, content_hash=candidate.content_hash,
                packet_hash=candidate.packet_hash, reviewer=reviewer, reason="read it with its runs", now=self.now,
                secret=SECRET,
            )  # fmt: skip
            if result.state == "promoted":
                break
        return result

    def revoke(self, rule_id: str, reason: str, namespace: str = SPACE) -> RevokeResult:
        """A person withdraws a rule, its repair is worked off, and the day after begins."""
        ana = self.people["ana"]
        done = revoke(self.database, namespace, rule_id, reason=reason, actor=ana, now=self.now, secret=SECRET)
        worker = Worker("test", SECRET, clock=lambda: self.now, retry_seconds=0)
        pipeline.drive(self.database, str(done.repair_run_id), worker)
        self.day += 1
        return done

    def serve(
        self, session: str = "asker", namespace: str = SPACE, task: str = "Book a trip, pay it"
    ) -> dict[str, Any]:
        """What an agent gets that asks for advice."""
        asked = {"namespace": namespace, "task": task, "session_id": session, "k": 50}
        answer = self.api.post("/v1/rules/search", json=asked)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def support(self, rule_id: str, namespace: str = SPACE) -> dict[str, Any]:
        """The figures behind the active version."""
        with self.database.read() as session:
            return dict(rule_queries.versions_of(session, namespace, rule_id)[0].evidence)


@pytest.fixture
def town(database: Database, tmp_path: Path) -> Iterator[Town]:
    settings = Settings(home=tmp_path, redis_url="redis://127.0.0.1:1/0", secret_key="k" * 40)
    app: FastAPI = create_app(settings, database, Notifier(database))
    with database.write() as session:
        _, token = add_token(session, role="agent", namespaces=["acme"], now=START)
    town = Town(database, TestClient(app, headers={"Authorization": f"Bearer {token}"}))
    for name in ("ana", "bo"):
        town.people[name] = make_person(database, name, START)[0]
    yield town
    app.state.site.notifier.close()
