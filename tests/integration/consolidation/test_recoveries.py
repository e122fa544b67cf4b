"""Coding sessions without outcomes, from ingest to the queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import col, select

from storage.bodies import load_bodies
from storage.engine import Database
from storage.ledger import Claim
from storage.tables import (
    Candidate,
    CandidateRevision,
    Episode,
    FactsBatch,
    Inference,
    InferenceObservation,
    Look,
    Observation,
    Run,
    RunStep,
)
from tasks import pipeline
from tasks.context import PipelineSettings, StepContext
from tasks.contrast.predicate import from_canonical
from tasks.contrast.recoveries import EVERYWHERE
from tasks.contrast.recoveries import step as sessions_step
from tasks.contrast.recoveries.kept import unpack
from tasks.ingest.step import ingest_paths
from tasks.pipeline import Worker
from tasks.stages import step_function
from tasks.verify.weigh_step import weigh_again
from worlds import coding

Do = Callable[..., Any]
SEED = 7
BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
NIGHT = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)


def whole_night(database: Database, worker: Worker, number: int = 0) -> Run:
    now = NIGHT + timedelta(days=number)
    run = pipeline.open_run(database, "lab", now.date().isoformat(), "test", now)
    return pipeline.drive(database, run.id, replace(worker, clock=lambda: now))


def queue(database: Database) -> list[tuple[Candidate, CandidateRevision]]:
    with database.read() as session:
        rows = session.exec(select(Candidate).order_by(col(Candidate.id))).all()
        return [(row, session.get_one(CandidateRevision, ("lab", row.id, row.number))) for row in rows]


def found_in(rows: list[tuple[Candidate, CandidateRevision]]) -> list[coding.Found]:
    return [coding.Found(*from_canonical(revision.content["predicate"]).parts) for _, revision in rows]


def result_of(database: Database, run: Run) -> dict[str, Any]:
    with database.read() as session:
        statement = select(RunStep).where(RunStep.run_id == run.id, RunStep.stage == "contrast")
        return session.exec(statement.where(RunStep.shard == EVERYWHERE)).one().result


def test_planted_recoveries_come_into_the_queue_and_what_passes_by_itself_does_not(
    database: Database, bring: Do, worker: Worker, capsys: pytest.CaptureFixture[str]
) -> None:
    report = bring(list(coding.sessions(SEED, 300, BEGIN)))
    assert not report.rejected
    run = whole_night(database, worker)
    assert run.state == "completed"
    rows = queue(database)
    grade = coding.grade(found_in(rows))
    with capsys.disabled():
        print(
            f"\nseed {SEED}: precision {grade.precision:.2f}, recall {grade.recall:.2f}, missed {sorted(grade.missed)}"
        )
    assert grade.precision >= 0.9
    assert grade.recall >= 0.75
    assert {("zh-no-venv", "make setup"), ("zh-no-deps", "mvn install")} <= grade.right
    assert {row.state for row, _ in rows} == {"staged"}
    for _, revision in rows:
        check_packet(revision)
    assert all(verdict != "fail" for _, revision in rows for verdict in verdicts_of(revision))


def check_packet(revision: CandidateRevision) -> None:
    packet, content = revision.packet, revision.content
    command, error, _ = from_canonical(content["predicate"]).parts
    assert content["when_to_use"].startswith(f"When `{command}` fails with “{error[:8]}")
    assert content["guidance"][0].startswith("Run `")
    assert packet["evidence"]["independent_groups"] > packet["evidence"]["agents"] >= 2
    assert packet["held_out"]["confirmed"]
    assert packet["counter_example"]["why"]
    assert "sessions" in packet["summary"]


def verdicts_of(revision: CandidateRevision) -> list[str]:
    return [check["verdict"] for check in revision.packet["checks"]]


def test_a_further_night_reads_new_sessions_only_and_tests_no_group_twice(
    sqlite_database: Database, bring_to: Do, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring_to(sqlite_database, list(coding.sessions(SEED, 140, BEGIN)))
    whole_night(sqlite_database, worker)
    before = {row.id for row, _ in queue(sqlite_database)}
    assert before
    read: list[str] = []

    def counting(session: Any, namespace: str, ids: list[str]) -> dict[str, Any]:
        read.extend(ids)
        return load_bodies(session, namespace, ids)

    monkeypatch.setattr(sessions_step, "load_bodies", counting)
    fresh = list(coding.sessions(SEED + 1, 20, BEGIN))
    bring_to(sqlite_database, fresh)
    whole_night(sqlite_database, worker, 1)
    assert len(read) == len(fresh)
    assert before <= {row.id for row, _ in queue(sqlite_database) if row.state == "staged"}
    with sqlite_database.read() as session:
        looks = session.exec(select(Look).order_by(col(Look.run_id))).all()
    tested: dict[str, set[str]] = {}
    for look in looks:
        assert not tested.setdefault(look.predicate_id, set()) & set(look.groups)
        tested[look.predicate_id] |= set(look.groups)
    weighed = weigh_again(sqlite_database, "lab", queue(sqlite_database)[0][1].content["predicate"], PipelineSettings())
    assert weighed.stands
    assert weighed.support >= 5


def test_a_step_done_again_writes_the_same(database: Database, bring: Do, night: Do) -> None:
    bring(list(coding.sessions(SEED, 80, BEGIN)))
    run = night()
    tables = (Inference, Observation, InferenceObservation, Look)

    def everything() -> list[Any]:
        with database.read() as session:
            return [sorted(str(row.model_dump()) for row in session.exec(select(table))) for table in tables]

    first = everything()
    assert all(first)
    with database.write() as session:
        step = session.exec(select(RunStep).where(RunStep.run_id == run.id, RunStep.shard == EVERYWHERE)).one()
        step.state, step.token = "leased", step.token + 1
        claim = Claim(run.id, step.id, "lab", "contrast", EVERYWHERE, step.token, 2)
    step_function("contrast")(database, claim, StepContext(run.started_at, "test", b"k" * 32))
    assert everything() == first


def test_nothing_is_kept_of_a_session_that_was_erased(sqlite_database: Database, bring_to: Do, worker: Worker) -> None:
    bring_to(sqlite_database, list(coding.sessions(SEED, 12, BEGIN)))
    whole_night(sqlite_database, worker)
    assert len(sessions_step.load_sessions(sqlite_database, "lab", PipelineSettings()).told) > 5
    with sqlite_database.write() as session:
        erased = session.exec(select(Episode.id).order_by(col(Episode.id))).first()
        session.execute(sa.update(Episode).where(col(Episode.id) == erased).values(purged_at=NIGHT))
    bring_to(sqlite_database, list(coding.sessions(SEED + 1, 3, BEGIN)))
    whole_night(sqlite_database, worker, 1)
    with sqlite_database.read() as session:
        packed = session.exec(select(FactsBatch.body).where(FactsBatch.family_id == EVERYWHERE)).all()
    kept = {one.episode_id for body in packed for one in unpack(body)}
    assert kept
    assert erased not in kept


def test_runs_that_were_judged_are_left_to_their_families(
    sqlite_database: Database, bring_to: Do, worker: Worker
) -> None:
    judged = [{**one, "outcome": "success", "outcome_source": "verifier"} for one in coding.sessions(SEED, 5, BEGIN)]
    bring_to(sqlite_database, judged)
    run = whole_night(sqlite_database, worker)
    with sqlite_database.read() as session:
        shards = session.exec(select(RunStep.shard).where(RunStep.run_id == run.id, RunStep.stage == "contrast")).all()
    assert shards
    assert EVERYWHERE not in shards


@pytest.mark.samples
def test_real_coding_logs_go_through_a_night_and_are_too_few_to_say_anything(
    sqlite_database: Database, samples: Path, worker: Worker
) -> None:
    for folder in ("claude-code", "coding-agents", "codex"):
        files = [
            file for file in sorted((samples / folder).rglob("*")) if file.is_file() and file.name != "LABELS.jsonl"
        ]
        ingest_paths(sqlite_database, files, "lab", principal="ops", now=NIGHT, secret=b"k" * 32)
    run = whole_night(sqlite_database, worker)
    assert run.state == "completed"
    result = result_of(sqlite_database, run)
    assert result["errors_retried"] >= 5
    assert (result["confirmed"], queue(sqlite_database)) == (0, [])
    assert result["errors_met_by_too_few"] >= 1
