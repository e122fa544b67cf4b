from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage import ledger
from storage.engine import Database, database_now
from storage.ledger import Claim, ClaimLost
from storage.outbox import NamespaceUnknown
from storage.queries import runs as queries
from storage.tables import ClusterEpisode, Run, RunEpisode, RunStep
from tasks import pipeline
from tasks.pipeline import Worker

NAMESPACE = "acme/support"
NIGHT = "2026-11-30"
NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)


def open_night(database: Database, night: str = NIGHT) -> Run:
    return pipeline.open_run(database, NAMESPACE, night, "test", NOW)


def consume(database: Database, run: Run, episode: str = "e1") -> None:
    with database.write() as session:
        session.add(RunEpisode(namespace=NAMESPACE, episode_id=episode, run_id=run.id))


def completed_night(database: Database, worker: Worker) -> Run:
    run = open_night(database)
    consume(database, run)
    return pipeline.drive(database, run.id, worker)


def end_lease(database: Database, step_id: str) -> None:
    with database.write() as session:
        ended = database_now(session) - timedelta(seconds=1)
        session.execute(sa.update(RunStep).where(col(RunStep.id) == step_id).values(lease_until=ended))


def states(database: Database, run: Run) -> dict[str, str]:
    with database.read() as session:
        return {f"{step.stage}/{step.shard}": step.state for step in queries.steps_of_run(session, run.id)}


# Opening


def test_two_requests_at_once_open_one_run(database: Database, namespace: str) -> None:
    gate = threading.Barrier(6)

    def ask(_: int) -> str:
        gate.wait()
        return open_night(database).id

    with ThreadPoolExecutor(6) as pool:
        found = set(pool.map(ask, range(6)))
    assert len(found) == 1
    with database.read() as session:
        assert len(session.exec(select(Run)).all()) == 1
        assert len(session.exec(select(RunStep)).all()) == 1


def test_a_request_joins_the_open_night_whatever_date_it_names(database: Database, namespace: str) -> None:
    assert open_night(database, "2026-11-29").id == open_night(database).id


def test_a_closed_night_answers_while_nothing_is_new(database: Database, namespace: str, worker: Worker) -> None:
    closed = completed_night(database, worker)
    assert open_night(database).id == closed.id


def test_a_new_episode_opens_a_further_run_of_the_night(
    database: Database, namespace: str, worker: Worker, add: Callable[[str], None]
) -> None:
    completed_night(database, worker)
    add("e2")
    assert open_night(database).seq == 2


def test_another_night_has_a_run_of_its_own(database: Database, namespace: str, worker: Worker) -> None:
    completed_night(database, worker)
    assert open_night(database, "2026-12-01").seq == 1


def test_an_unknown_namespace_is_refused_with_what_to_do(database: Database) -> None:
    with pytest.raises(NamespaceUnknown, match="slowwave ingest"):
        pipeline.open_run(database, "acme/nowhere", NIGHT, "test", NOW)


# Working


def test_a_night_goes_through_every_stage_in_order(
    database: Database, namespace: str, worker: Worker, script: Any
) -> None:
    run = completed_night(database, worker)
    assert [(stage, shard) for stage, shard, _ in script.calls if stage != "contrast"] == [
        (stage, "") for stage in ("select", "cluster", "draft", "conflict", "verify", "stage", "recheck")
    ]
    assert {shard for stage, shard, _ in script.calls if stage == "contrast"} == {"alpha", "beta"}
    assert pipeline.result_of(run) == {
        "run_id": run.id, "state": "completed", "night": NIGHT, "episodes": 3, "clusters": 2, "tests": 8,
        "candidates": 1, "problems": [],
    }  # fmt: skip


def test_a_failing_step_is_tried_again(database: Database, namespace: str, worker: Worker, script: Any) -> None:
    script.fail("cluster", times=2)
    assert completed_night(database, worker).state == "completed"
    assert [attempt for stage, _, attempt in script.calls if stage == "cluster"] == [1, 2, 3]


def test_a_shard_that_fails_three_times_is_parked_and_the_rest_counts(
    database: Database, namespace: str, worker: Worker, script: Any
) -> None:
    script.fail("contrast", "beta")
    run = completed_night(database, worker)
    assert run.state == "partial"
    assert run.problems == [{"stage": "contrast", "shard": "beta", "error": "ValueError: no luck with beta"}]
    assert run.stats["tests"] == 4


def test_a_parked_family_is_in_the_next_runs_contrast(
    database: Database, namespace: str, worker: Worker, script: Any
) -> None:
    script.fail("contrast", "beta", times=3)
    first = completed_night(database, worker)
    second = open_night(database)
    assert second.seq == 2
    only_alpha = replace(worker, steps=lambda stage: lambda *_: {"families": ["alpha"]} if stage == "cluster" else {})
    pipeline.drive(database, second.id, only_alpha)
    assert states(database, first)["contrast/beta"] == "parked"
    assert states(database, second)["contrast/beta"] == "done"
    assert open_night(database).id == second.id


def test_a_stage_that_is_parked_whole_fails_the_night(
    database: Database, namespace: str, worker: Worker, script: Any
) -> None:
    script.fail("draft")
    run = completed_night(database, worker)
    assert run.state == "failed"
    assert "verify/" not in states(database, run)


def test_what_a_failed_night_consumed_is_handed_to_the_next(
    database: Database, namespace: str, worker: Worker, script: Any
) -> None:
    script.fail("cluster")
    failed = completed_night(database, worker)
    further = open_night(database)
    assert (failed.state, further.seq) == ("failed", 2)
    with database.read() as session:
        assert session.exec(select(RunEpisode.run_id)).all() == [further.id]
        assert session.exec(select(ClusterEpisode)).all() == []


def test_a_step_done_again_has_the_time_of_its_night(database: Database, namespace: str, worker: Worker) -> None:
    seen = []
    watched = replace(worker, steps=lambda _: lambda _d, _c, context: seen.append(context.now) or {})
    late = replace(watched, clock=lambda: NOW + timedelta(days=3))
    pipeline.drive(database, open_night(database).id, late)
    assert set(seen) == {NOW}


def test_progress_counts_up_to_the_whole_run(database: Database, namespace: str, worker: Worker) -> None:
    seen: list[pipeline.Progress] = []
    pipeline.drive(database, open_night(database).id, replace(worker, watch=seen.append))
    assert (seen[-1].stage, seen[-1].state, seen[-1].closed, seen[-1].total) == ("recheck", "done", 9, 9)


# Claims


def claim(database: Database, worker: Worker, run: Run) -> Claim:
    found = pipeline.claim(database, worker, run_id=run.id)
    assert found is not None
    return found


def test_a_step_is_claimed_by_one_of_many(database: Database, namespace: str, worker: Worker) -> None:
    run = open_night(database)
    gate = threading.Barrier(6)

    def ask(_: int) -> Claim | None:
        gate.wait()
        return pipeline.claim(database, worker, run_id=run.id)

    with ThreadPoolExecutor(6) as pool:
        won = [found for found in pool.map(ask, range(6)) if found is not None]
    assert len(won) == 1
    assert (won[0].token, won[0].attempt) == (1, 1)


def test_a_claim_that_was_taken_over_writes_nothing(
    database: Database, namespace: str, worker: Worker, other: Worker
) -> None:
    run = open_night(database)
    stale = claim(database, worker, run)
    end_lease(database, stale.step_id)
    fresh = claim(database, other, run)
    assert fresh.token == stale.token + 1
    for act in (
        lambda session: ledger.complete(session, stale, {}),
        lambda session: ledger.fail(session, stale, "late", 3),
        lambda session: ledger.renew(session, stale, 10),
    ):
        with pytest.raises(ClaimLost), database.write() as session:
            act(session)
    assert pipeline.execute(database, stale, worker) == []
    assert states(database, run) == {"select/": "leased"}
    pipeline.execute(database, fresh, other)
    assert states(database, run)["select/"] == "done"


def test_a_doubled_message_finds_nothing_to_do(database: Database, namespace: str, worker: Worker) -> None:
    run = open_night(database)
    first = claim(database, worker, run)
    assert pipeline.claim(database, worker, step_id=first.step_id) is None
    pipeline.execute(database, first, worker)
    assert pipeline.claim(database, worker, step_id=first.step_id) is None


def test_a_step_of_a_dead_worker_is_free_before_its_lease_ends(
    database: Database, namespace: str, worker: Worker, other: Worker
) -> None:
    run = open_night(database)
    claim(database, worker, run)
    assert pipeline.claim(database, other, run_id=run.id) is None
    sees_death = replace(other, is_dead=lambda owner: owner == worker.owner)
    assert claim(database, sees_death, run).attempt == 2


def test_a_step_that_kills_its_worker_three_times_is_parked(database: Database, namespace: str, worker: Worker) -> None:
    run = open_night(database)
    for _ in range(3):
        end_lease(database, claim(database, worker, run).step_id)
    assert pipeline.claim(database, worker, run_id=run.id) is None
    with database.read() as session:
        closed = queries.run_by_id(session, run.id)
    assert closed is not None
    assert closed.state == "failed"
    assert "died 3 times" in closed.problems[0]["error"]


def test_a_lease_is_kept_while_its_work_goes_on(
    database: Database, namespace: str, worker: Worker, script: Any
) -> None:
    run = open_night(database)
    quick = replace(worker, lease_seconds=0.3)
    taken_over = []

    def work(_: Claim) -> None:
        first = lease_of(database, run)
        deadline = threading.Event()
        for _ in range(200):
            if lease_of(database, run) > first:
                break
            deadline.wait(0.02)
        taken_over.append(pipeline.claim(database, worker, run_id=run.id))

    script.acts[("select", "")] = work
    pipeline.execute(database, claim(database, quick, run), quick)
    assert taken_over == [None]
    assert states(database, run)["select/"] == "done"


def lease_of(database: Database, run: Run) -> datetime:
    with database.read() as session:
        until = queries.steps_of_run(session, run.id)[0].lease_until
    assert until is not None
    return until


# Planning


def test_advance_may_be_called_at_any_time(database: Database, namespace: str, worker: Worker) -> None:
    run = open_night(database)
    for _ in range(3):
        assert advance(database, run) == []
    pipeline.execute(database, claim(database, worker, run), worker)
    assert advance(database, run) == []
    assert states(database, run) == {"select/": "done", "cluster/": "pending"}


def advance(database: Database, run: Run) -> list[RunStep]:
    with database.write() as session:
        return pipeline.advance(session, run.id)


def test_the_last_of_many_shards_adds_the_next_stage_once(database: Database, namespace: str, worker: Worker) -> None:
    run = open_night(database)
    for _ in range(2):
        pipeline.execute(database, claim(database, worker, run), worker)
    shards = [claim(database, worker, run), claim(database, worker, run)]
    with ThreadPoolExecutor(2) as pool:
        due = list(pool.map(lambda one: pipeline.execute(database, one, worker), shards))
    assert sorted(len(steps) for steps in due) == [0, 1]
    assert states(database, run)["draft/"] == "pending"


def test_a_closed_run_stays_as_it_is(database: Database, namespace: str, worker: Worker) -> None:
    run = completed_night(database, worker)
    assert advance(database, run) == []
    with database.read() as session:
        again = queries.run_by_id(session, run.id)
    assert again is not None
    assert (again.state, again.finished_at, again.stats) == (run.state, run.finished_at, run.stats)


def test_a_crash_between_a_step_and_the_plan_is_made_good(database: Database, namespace: str, worker: Worker) -> None:
    run = open_night(database)
    with database.write() as session:
        ledger.complete(session, _claim_in(session, worker, run), {"episodes": 1})
    with database.read() as session:
        assert pipeline.is_stuck(session, run)
    assert pipeline.drive(database, run.id, worker).state == "completed"


def _claim_in(session: Session, worker: Worker, run: Run) -> Claim:
    found = ledger.claim_next(session, owner=worker.owner, lease_seconds=10, run_id=run.id)
    assert found is not None
    return found
