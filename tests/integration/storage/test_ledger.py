"""The ledger: a step is worked on by one holder, and a holder that was replaced can write nothing."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage import ledger
from storage.engine import Database, database_now
from storage.ids import uuid7
from storage.ledger import Claim, ClaimLost
from storage.runs import close_run, insert_run, lock_run, release_dead
from storage.tables import Namespace, Run, RunStep
from support import rows

MAX_ATTEMPTS = 3


@pytest.fixture
def planned(database: Database) -> Database:
    """A running night with three steps."""
    with database.write() as session:
        rows.add(session, rows.namespace(), rows.run())
        ledger.add_steps(session, session.get_one(Run, "run-1"), "contrast", ["a", "b", "c"])
    return database


def claim(database: Database, owner: str = "one", lease: float = 60, step_id: str | None = None) -> Claim | None:
    with database.write() as session:
        return ledger.claim_next(session, owner=owner, lease_seconds=lease, step_id=step_id)


def claimed(database: Database, owner: str = "one", lease: float = 60, step_id: str | None = None) -> Claim:
    found = claim(database, owner, lease, step_id)
    assert found is not None
    return found


def step(session: Session, found: Claim) -> RunStep:
    return session.exec(select(RunStep).where(RunStep.id == found.step_id)).one()


def let_lease_end(database: Database, found: Claim) -> None:
    """Put the end of the lease into the past by the database's clock: no test waits for one."""
    with database.write() as session:
        past = database_now(session) - timedelta(seconds=1)
        session.execute(sa.update(RunStep).where(col(RunStep.id) == found.step_id).values(lease_until=past))


def test_steps_are_claimed_in_order_and_each_once(planned: Database) -> None:
    shards = [claimed(planned).shard for _ in range(3)]
    assert shards == ["a", "b", "c"]
    assert claim(planned) is None


def test_a_claim_says_what_it_holds(planned: Database) -> None:
    found = claimed(planned)
    assert (found.run_id, found.namespace, found.stage, found.shard) == ("run-1", rows.SPACE, "contrast", "a")
    assert (found.token, found.attempt) == (1, 1)
    with planned.read() as session:
        held = step(session, found)
        assert (held.state, held.owner, held.token, held.attempts) == ("leased", "one", 1, 1)


def test_concurrent_workers_never_hold_the_same_step(database: Database) -> None:
    with database.write() as session:
        rows.add(session, rows.namespace(), rows.run())
        ledger.add_steps(session, session.get_one(Run, "run-1"), "contrast", [f"{n:02}" for n in range(24)])

    def work(worker: int) -> list[str]:
        mine: list[str] = []
        misses = 0
        while misses < 30:
            found = claim(database, f"worker-{worker}")
            if found is None:
                misses += 1
            else:
                mine.append(found.shard)
        return mine

    with ThreadPoolExecutor(6) as pool:
        taken = [shard for shards in pool.map(work, range(6)) for shard in shards]
    assert sorted(taken) == [f"{n:02}" for n in range(24)]


def test_a_named_step_is_claimed_and_no_other(planned: Database) -> None:
    first = claimed(planned)
    assert claim(planned, "two", step_id=first.step_id) is None


def test_a_step_whose_lease_ended_is_taken_over_with_a_newer_token(planned: Database) -> None:
    first = claimed(planned)
    let_lease_end(planned, first)
    second = claimed(planned, "two", step_id=first.step_id)
    assert (second.token, second.attempt) == (first.token + 1, 2)


def test_a_step_under_lease_is_not_taken_over(planned: Database) -> None:
    first = claimed(planned, lease=60)
    assert claim(planned, "two", step_id=first.step_id) is None


def test_whoever_was_replaced_can_neither_write_nor_finish_nor_fail_nor_renew(planned: Database) -> None:
    first = claimed(planned)
    let_lease_end(planned, first)
    second = claimed(planned, "two", step_id=first.step_id)
    for late in (
        lambda session: ledger.guard(session, first),
        lambda session: ledger.complete(session, first, {}),
        lambda session: ledger.fail(session, first, "late", MAX_ATTEMPTS),
        lambda session: ledger.renew(session, first, 60),
    ):
        with pytest.raises(ClaimLost, match="contrast/a of run run-1 was taken over"), planned.write() as session:
            late(session)
    with planned.write() as session:
        ledger.complete(session, second, {"tests": 4})


def test_whoever_was_not_replaced_may_finish_even_after_the_lease(planned: Database) -> None:
    first = claimed(planned)
    let_lease_end(planned, first)
    with planned.write() as session:
        ledger.complete(session, first, {"tests": 4})
    with planned.read() as session:
        done = step(session, first)
        assert (done.state, done.result, done.lease_until) == ("done", {"tests": 4}, None)
        assert done.finished_at is not None


def test_a_finished_step_is_finished_once(planned: Database) -> None:
    first = claimed(planned)
    with planned.write() as session:
        ledger.complete(session, first, {"tests": 4})
    with pytest.raises(ClaimLost), planned.write() as session:
        ledger.complete(session, first, {"tests": 5})


def test_a_renewed_lease_ends_later(planned: Database) -> None:
    first = claimed(planned, lease=5)
    with planned.write() as session:
        ledger.renew(session, first, 600)
    with planned.read() as session:
        until = step(session, first).lease_until
        assert until is not None
        assert until > database_now(session) + timedelta(seconds=500)


def test_a_failed_step_is_given_back_until_its_attempts_are_used_up(planned: Database) -> None:
    states = []
    for attempt in range(1, MAX_ATTEMPTS + 1):
        found = claimed(planned)
        assert (found.shard, found.attempt) == ("a", attempt)
        with planned.write() as session:
            states.append(ledger.fail(session, found, "the file is gone", MAX_ATTEMPTS))
    assert states == ["pending", "pending", "parked"]
    assert claimed(planned).shard == "b"


def test_a_parked_step_keeps_its_reason(planned: Database) -> None:
    found = claimed(planned)
    with planned.write() as session:
        ledger.fail(session, found, "E" * 5000, 1)
    with planned.read() as session:
        parked = step(session, found)
        assert (parked.state, parked.error) == ("parked", "E" * 2000)


def test_a_step_that_killed_its_worker_each_time_is_parked_with_a_reason(planned: Database) -> None:
    first = claimed(planned)
    for _ in range(MAX_ATTEMPTS - 1):
        let_lease_end(planned, first)
        claimed(planned, step_id=first.step_id)
    let_lease_end(planned, first)
    with planned.write() as session:
        (dead,) = ledger.park_exhausted(session, MAX_ATTEMPTS)
    assert (dead.shard, dead.state, dead.error) == ("a", "parked", "the worker died 3 times on this step")


def test_a_dead_holder_is_relieved_at_once_and_a_living_one_is_not(planned: Database) -> None:
    dead, living = claimed(planned, "dead"), claimed(planned, "living")
    with planned.write() as session:
        freed = release_dead(session, lambda owner: owner == "dead")
        assert [each.id for each in freed] == [dead.step_id]
    assert claimed(planned, "two", step_id=dead.step_id).attempt == 2
    assert claim(planned, "two", step_id=living.step_id) is None


def test_steps_of_a_closed_run_are_not_claimed(planned: Database) -> None:
    with planned.write() as session:
        close_run(session, lock_run(session, "run-1"), state="failed", stats={}, problems=[])
    assert claim(planned) is None


def test_adding_steps_twice_adds_them_once(planned: Database) -> None:
    with planned.write() as session:
        assert ledger.add_steps(session, session.get_one(Run, "run-1"), "contrast", ["b", "c", "d"]) == 1


def test_a_closed_run_stays_as_it_is(planned: Database) -> None:
    with planned.write() as session:
        close_run(session, lock_run(session, "run-1"), state="completed", stats={"tests": 4}, problems=[])
    with planned.write() as session:
        close_run(session, lock_run(session, "run-1"), state="failed", stats={}, problems=[])
    with planned.read() as session:
        run = session.get_one(Run, "run-1")
        assert (run.state, run.stats) == ("completed", {"tests": 4})


def test_runs_of_one_night_are_numbered(planned: Database) -> None:
    with planned.write() as session:
        close_run(session, lock_run(session, "run-1"), state="completed", stats={}, problems=[])
    with planned.write() as session:
        again = insert_run(
            session, namespace=rows.SPACE, kind="night", key="2026-11-30", requested_by="test", now=rows.AT
        )
        assert again.seq == 2


def test_a_run_sorts_after_every_run_of_its_namespace_though_the_clock_was_set_back(database: Database) -> None:
    tomorrow = uuid7((time.time_ns() // 1_000_000 + 86_400_000) * 4096)
    with database.write() as session:
        session.add_all([Namespace(path=path, created_at=rows.AT) for path in ("lab", "apart")])
        session.flush()
        session.add(
            Run(id=tomorrow, namespace="lab", key="2026-11-29", state="completed", requested_by="t", started_at=rows.AT)
        )
    made = [tomorrow]
    for kind, key in (("repair", "r@1"), ("night", "2026-11-30"), ("repair", "r@2")):
        with database.write() as session:
            run = insert_run(session, namespace="lab", kind=kind, key=key, requested_by="t", now=rows.AT)
            made.append(run.id)
    assert made == sorted(set(made))
    with database.write() as session:
        apart = insert_run(session, namespace="apart", kind="night", key="2026-11-30", requested_by="t", now=rows.AT)
        assert apart.id < tomorrow
