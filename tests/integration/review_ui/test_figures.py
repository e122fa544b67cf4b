"""What the database knows of nights, queue, outbox and drills, as Prometheus reads it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families
from sqlmodel import SQLModel
from starlette.testclient import TestClient

from review_ui.figures import Figures
from storage.drills import keep_result
from storage.engine import Database
from storage.runs import beat_heart
from storage.tables import DeadLetter, OutboxEvent, Run, RunStep
from support.review_pages import SPACE

MINUTE = timedelta(minutes=1)


@pytest.fixture
def now() -> datetime:
    """Ages are counted by the database's clock."""
    return datetime.now(UTC)


@pytest.fixture
def scraped(app: FastAPI, database: Database) -> Any:
    """Reads one figure anew: ``scraped(name, **labels)``."""

    def read(name: str, **labels: str) -> float:
        found = samples(Figures(database).text().decode())
        return found[name, tuple(sorted(labels.items()))]

    return read


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def put(database: Database, *rows: SQLModel) -> None:
    for row in rows:
        with database.write() as session:
            session.add(row)


def a_run(id: str, begun: datetime, **given: Any) -> Run:
    return Run(**{"id": id, "namespace": SPACE, "key": id, "requested_by": "rosa", "started_at": begun} | given)


def a_step(id: str, **given: Any) -> RunStep:
    return RunStep(**{"id": id, "run_id": "r1", "namespace": SPACE, "stage": "select", "shard": id} | given)


def test_an_empty_store_has_every_figure_that_needs_no_result(scraped: Any) -> None:
    assert scraped("slowwave_nights", state="completed") == 0
    assert scraped("slowwave_steps", state="pending") == 0
    assert scraped("slowwave_queue_candidates", tier="high") == 0
    assert scraped("slowwave_queue_oldest_seconds", tier="high") == 0
    assert scraped("slowwave_outbox_unsent") == scraped("slowwave_dead_letters") == 0


def test_nights_and_their_steps_are_counted_and_timed(scraped: Any, database: Database, now: datetime) -> None:
    begun = now - 30 * MINUTE
    ended = {"state": "partial", "finished_at": begun + 5 * MINUTE}
    put(
        database,
        a_run("r1", begun, **ended),
        a_run("r2", begun, state="completed", kind="repair", finished_at=begun + MINUTE),
        a_run("r0", now - timedelta(days=3), state="completed", finished_at=now - timedelta(days=2)),
        a_step("1", state="done", started_at=begun, finished_at=begun + MINUTE),
        a_step("2", state="parked", attempts=3, started_at=begun + MINUTE, finished_at=begun + 3 * MINUTE),
        a_step("3", state="pending", enqueued_at=now - 2 * MINUTE),
        a_step("4", state="parked", run_id="r0"),
    )
    assert (scraped("slowwave_nights", state="partial"), scraped("slowwave_nights", state="completed")) == (1, 1)
    assert scraped("slowwave_night_seconds") == 300
    assert scraped("slowwave_night_stage_seconds", stage="select") == 180
    assert (scraped("slowwave_steps_parked"), scraped("slowwave_steps_retried")) == (1, 1)
    assert scraped("slowwave_steps", state="pending") == 1
    assert scraped("slowwave_ledger_lag_seconds") >= 120
    assert (scraped("slowwave_repair_seconds"), scraped("slowwave_repairs_open")) == (60, 0)


def test_what_waits_is_counted_with_the_age_of_the_oldest(scraped: Any, database: Database, now: datetime) -> None:
    letter = {"namespace": SPACE, "file": "a", "reason": "no", "principal": "rosa", "at": now, "tried_at": now}
    put(
        database,
        OutboxEvent(namespace=SPACE, epoch=1, created_at=now - MINUTE, relayed_at=now),
        OutboxEvent(namespace=SPACE, epoch=2, created_at=now - MINUTE),
        DeadLetter(id="1", record_hash="1", **letter),
        DeadLetter(id="2", record_hash="2", resolved_at=now, **letter),
    )
    assert scraped("slowwave_outbox_unsent") == 1
    assert scraped("slowwave_outbox_oldest_seconds") >= 60
    assert scraped("slowwave_dead_letters") == 1


def test_the_newest_drill_of_each_condition_counts(scraped: Any, database: Database, now: datetime) -> None:
    given = {
        "mode": "revoke", "condition": "connected", "during": "", "database": "sqlite", "readers": 4,
        "lease_seconds": 15.0, "limit_seconds": 1.0,
    }  # fmt: skip
    with database.write() as session:
        keep_result(session, **given, passed=True, summary={"refused": {"p99": 0.2}}, now=now - MINUTE)
        keep_result(session, **given, passed=False, summary={"refused": {"p99": 1.5}}, now=now)
    labels = {"mode": "revoke", "condition": "connected"}
    assert scraped("slowwave_drill_seconds", **labels) == 1.5
    assert scraped("slowwave_drill_failed", **labels) == 1
    assert scraped("slowwave_drill_limit_seconds", **labels) == 1


def test_a_part_that_works_has_a_heartbeat_and_no_host_is_named(scraped: Any, database: Database) -> None:
    with database.write() as session:
        beat_heart(session, "worker")
        beat_heart(session, "worker:host-7")
    assert scraped("slowwave_heartbeat_age_seconds", part="worker") < 60
    assert "host-7" not in Figures(database).text().decode()


def test_both_addresses_give_the_figures_without_a_login_and_name_no_namespace(anonymous: TestClient) -> None:
    for path in ("/metrics", "/store/metrics"):
        answer = anonymous.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/plain")
        assert "slowwave_outbox_unsent 0.0" in answer.text
        assert SPACE not in answer.text


def test_many_scrapes_in_ten_seconds_ask_the_database_once(app: FastAPI, database: Database) -> None:
    figures = Figures(database)
    first = figures.text()
    with database.write() as session:
        beat_heart(session, "relay")
    assert figures.text() is first


def test_a_store_that_does_not_answer_has_no_figures(empty_database: Database, app: FastAPI) -> None:
    app.state.site = replace(app.state.site, figures=Figures(empty_database))
    with TestClient(app) as browser:
        assert browser.get("/metrics").status_code == 503
