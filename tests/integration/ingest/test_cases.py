"""Faults that people reported of systems like this one, restated small: what must come out instead."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from storage.bodies import load_body
from storage.engine import Database
from tasks.contrast.facts import read_facts
from tasks.ingest.episode import Episode
from tasks.verify.evidence import read_body

from .conftest import record

PARTS = 300
MARKED = {1: "MARKER-ALPHA", 150: "MARKER-BETA", 300: "MARKER-OMEGA"}


def body_of(database: Database, row: Any, namespace: str = "lab") -> dict[str, Any]:
    with database.read() as session:
        return load_body(session, namespace, row.id)


def test_an_episode_of_three_megabytes_is_whole_and_citable_to_its_last_part(
    post: Any, stored: Any, database: Database
) -> None:
    filler = "The ferry left the quay on time. " * 310
    steps = [
        {"id": f"part-{n}", "kind": "observation", "text": f"{filler}{MARKED.get(n, '')}{filler[:40]}"}
        for n in range(1, PARTS + 1)
    ]
    report = post(record(steps=steps))
    assert (report.accepted, report.rejected) == (1, [])
    (row,) = stored()
    body = body_of(database, row)
    assert sum(len(step["text"]) for step in body["steps"]) > 3_000_000
    by_id = {step["id"]: step["text"] for step in body["steps"]}
    citable = read_body(body).steps
    for part, marker in MARKED.items():
        start = by_id[f"part-{part}"].index(marker)
        assert by_id[f"part-{part}"][start : start + len(marker)] == marker
        assert f"part-{part}" in citable


def test_all_tests_green_with_a_recorded_exit_code_of_one_is_a_failure(post: Any, stored: Any) -> None:
    claims = [
        {"id": "1", "kind": "user", "text": "Mend the build"},
        {"id": "2", "kind": "answer", "text": "All tests green"},
    ]
    ran = [
        claims[0],
        {"id": "c", "kind": "tool_call", "name": "shell", "arguments": {"command": "make test"}},
        {"id": "o", "kind": "observation", "of": "c", "text": "1 failed", "exit_code": 1},
        claims[1],
    ]
    post(
        record(id="of-the-run", steps=claims, outcome="success", metadata={"exit_code": 1}),
        record(id="of-the-last-check", steps=ran, outcome="success"),
        record(id="by-a-token", steps=ran, outcome="success", session_id="s-2"),
    )
    post(
        record(id="through-a-token", steps=ran, outcome="success", session_id="s-3"),
        principal="token:1",
        principal_capped=True,
    )
    rows = stored()
    assert len(rows) == 4
    for row in rows:
        assert (row.outcome, row.outcome_source) == ("failure", "exit-code"), row.source_id
        assert row.details["outcome_overruled"] == "success"


def test_the_same_episode_in_two_namespaces_is_two_records(post: Any, stored: Any, database: Database) -> None:
    for namespace in ("a/x", "a/y"):
        assert post(record(), namespace=namespace).accepted == 1
    (one,), (other,) = stored("a/x"), stored("a/y")
    assert one.id != other.id
    assert one.source_hash != other.source_hash
    post(record(outcome="failure"), namespace="a/x")
    assert [row.outcome for row in stored("a/y")] == ["success"]
    assert body_of(database, other, "a/y")["task"] == record()["task"]


def test_times_are_stored_in_utc_in_the_right_order_and_naive_ones_are_marked(post: Any, stored: Any) -> None:
    told = {
        "tokyo": "2026-10-25T09:10:00+09:00",
        "summer": "2026-10-25T02:30:00+02:00",
        "naive": "2026-10-25T00:45:00",
        "winter": "2026-10-25T02:30:00+01:00",
    }
    for name, at in told.items():
        steps = [{"id": "1", "kind": "user", "text": name, "at": at}]
        assert post(record(id=name, steps=steps, started_at=at)).accepted == 1
    rows = sorted(stored(), key=lambda row: row.started_at)
    assert [row.source_id for row in rows] == ["tokyo", "summer", "naive", "winter"]
    assert [row.time_is_naive for row in rows] == [False, False, True, False]
    assert rows[0].started_at == datetime(2026, 10, 25, 0, 10, tzinfo=UTC)
    assert rows[-1].started_at == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


def test_a_success_that_was_overruled_is_no_evidence_of_success(post: Any, stored: Any, database: Database) -> None:
    post(record(outcome="success", metadata={"exit_code": 1}))
    (row,) = stored()
    episode = Episode.model_validate(body_of(database, row))
    assert episode.outcome == "failure"
    assert read_facts(episode).first, "what it did still counts, as what a failure did"
