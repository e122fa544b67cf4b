"""The roles of ingest, worker and review pages: each does its work, and nothing that is another's."""

from __future__ import annotations

from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors
from sqlmodel import select

from storage.engine import Database
from storage.tables import Candidate
from support import nights
from tasks import pipeline
from tasks.context import PipelineSettings
from tasks.ingest.step import ingest_records
from tasks.revoke.expire_step import expire

from .conftest import MINE, STRANGER, Store, connected, mark

Connection = psycopg.Connection[Any]


def refused(connection: Connection, *statements: str) -> None:
    for statement in statements:
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute(statement)  # type: ignore[call-overload]
        connection.rollback()


def test_a_worker_sees_the_content_of_one_namespace(store: Store) -> None:
    with connected(store, "slowwave_worker", namespace=MINE) as worker:
        for table in ("episode", "episode_body", "candidate", "candidate_revision", "rule_version", "conflict"):
            found = worker.execute(f"SELECT DISTINCT namespace FROM {table}").fetchall()  # type: ignore[call-overload]
            assert found == [(MINE,)], table
        assert worker.execute("UPDATE candidate SET title = 'x' WHERE namespace = %s", (STRANGER,)).rowcount == 0
        with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
            worker.execute("UPDATE conflict SET namespace = %s WHERE id = 'c0'", (STRANGER,))


def test_a_worker_that_names_no_namespace_sees_no_content_and_all_of_the_ledger(store: Store) -> None:
    with connected(store, "slowwave_worker") as worker:
        assert worker.execute("SELECT count(*) FROM episode").fetchone() == (0,)
        assert worker.execute("SELECT count(*) FROM rule_version").fetchone() == (0,)
        assert worker.execute("SELECT count(*) FROM outbox_event").fetchone() == (3,)
        assert worker.execute("SELECT count(*) FROM namespace").fetchone() == (3,)


def test_a_worker_has_no_accounts_and_changes_no_record_of_what_was_done_or_told(store: Store) -> None:
    with connected(store, "slowwave_worker", namespace=MINE) as worker:
        refused(worker, "SELECT * FROM api_token", "SELECT * FROM user_account", "SELECT * FROM web_session",
            "UPDATE audit_entry SET actor = 'x'", "DELETE FROM audit_entry", "DELETE FROM outbox_event",
            "UPDATE outbox_event SET epoch = 9", "UPDATE namespace SET policy = '{}'")  # fmt: skip


def test_ingest_sees_no_candidate_and_no_version(store: Store) -> None:
    with connected(store, "slowwave_ingest") as ingest:
        refused(ingest, *(f"SELECT * FROM {table}" for table in ("candidate", "candidate_revision", "rule_version",
            "conflict", "api_token", "user_account", "evidence", "exposure", "outbox_event")))  # fmt: skip


def test_reviewers_pages_change_no_record_of_what_was_done_or_told(store: Store) -> None:
    with connected(store, "slowwave_reviewer") as reviewer:
        seen = reviewer.execute("SELECT content::text FROM candidate_revision").fetchall()
        assert any(mark(STRANGER) in row[0] for row in seen)
        refused(reviewer, "UPDATE audit_entry SET actor = 'x'", "DELETE FROM audit_entry", "TRUNCATE audit_entry",
            "UPDATE outbox_event SET changes = '[]'", "DELETE FROM outbox_event", "DELETE FROM rule_version",
            "DELETE FROM episode_key", "DELETE FROM decision")  # fmt: skip


def test_a_night_runs_from_ingest_to_candidates_under_the_roles_of_its_services(
    postgres_database: Database, ingest_store: Database, worker_store: Database, tmp_path: Path, secret: bytes
) -> None:
    now = datetime.fromisoformat("2026-11-30T03:00:00+00:00")
    data = nights.write_episodes(tmp_path / "travel.jsonl").read_bytes()
    report = ingest_records(
        ingest_store, BytesIO(data), nights.NAMESPACE, importer="auto", principal="operator", now=now, secret=secret
    )
    assert report.accepted == nights.EPISODES
    again = ingest_records(
        ingest_store, BytesIO(data), nights.NAMESPACE, importer="auto", principal="operator", now=now, secret=secret
    )
    assert again.accepted == 0
    run = pipeline.open_run(worker_store, nights.NAMESPACE, nights.NIGHT, "test", now)
    worker = pipeline.Worker("test", secret, settings=PipelineSettings(), clock=lambda: now)
    assert pipeline.drive(worker_store, run.id, worker).state == "completed"
    with postgres_database.read() as session:
        assert session.exec(select(Candidate)).all()
    with worker_store.read() as session:
        assert session.exec(select(Candidate)).all() == []
    assert expire(worker_store, now) == {}
