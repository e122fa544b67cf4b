"""One night, from the request to the closed run. Every way a step runs goes through here: jobs and the local mode.

What is left to do is read from the ledger each time, so a lost, doubled or late message changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import structlog
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from storage import ledger
from storage.engine import Database
from storage.ledger import Claim, ClaimLost
from storage.outbox import NamespaceUnknown
from storage.queries import runs as queries
from storage.queries.consolidation import episodes_unconsumed
from storage.queries.taint import tainted_among
from storage.runs import close_run, inherit_unclustered, insert_run, lock_run, release_dead
from storage.tables import Run, RunStep
from tasks.cluster.embed import Embedder
from tasks.context import PipelineSettings, StepContext
from tasks.draft.model.chat import ChatModel
from tasks.lease import KeptLease
from tasks.stages import CLOSED, AddSteps, Close, StepFunction, StepView, Wait, families_left, plan, step_function

log = structlog.get_logger()

Clock = Callable[[], datetime]
PAGE = 200


class RunStuck(RuntimeError):
    """A run is open and nothing of it is planned: a defect of ours; its rows in ``run_step`` tell more."""


def utc_now() -> datetime:
    """The wall clock, for entry points; pipeline code takes a time as an argument."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Progress:
    """One thing that happened in a run, for whoever watches."""

    run_id: str
    stage: str
    shard: str
    state: str
    closed: int = 0
    total: int = 0
    error: str | None = None


@dataclass(frozen=True)
class Worker:
    """Who works, and within which limits."""

    owner: str
    secret: bytes
    lease_seconds: float = 120
    max_attempts: int = 3
    retry_seconds: float = 1
    """How long a failed step rests, times its attempt."""
    settings: PipelineSettings = field(default_factory=PipelineSettings)
    model: ChatModel | None = None
    embedder: Embedder | None = None
    clock: Clock = utc_now
    steps: Callable[[str], StepFunction] = step_function
    is_dead: Callable[[str], bool] = lambda _owner: False
    watch: Callable[[Progress], None] = lambda _progress: None


def open_run(database: Database, namespace: str, night: str, requested_by: str, now: datetime) -> Run:
    """The run that answers this request, with its first step planned.

    A request joins the open night of its namespace. After a closed one of the same night, a further one opens only if
    an episode was not consumed yet or a shard was left without a result; otherwise the closed one is the answer.

    Args:
        night: the night's date, ``YYYY-MM-DD``.

    Raises:
        NamespaceUnknown: if nothing was ever ingested into the namespace.
    """
    database = database.within(namespace)
    while True:
        with database.read() as session:
            found = _run_to_join(session, namespace, night)
        if found is not None:
            return found
        try:
            with database.write() as session:
                run = insert_run(
                    session, namespace=namespace, kind="night", key=night, requested_by=requested_by, now=now
                )
                if _newest_state(session, namespace) == "failed":
                    inherit_unclustered(session, run)
                advance(session, run.id)
            log.info("run.opened", run=run.id, namespace=namespace, night=night, seq=run.seq, by=requested_by)
            return run
        except IntegrityError:
            # A unique index let exactly one of two requests open the run: read again and join the other's.
            log.info("run.open_lost_race", namespace=namespace, night=night)


def _run_to_join(session: Session, namespace: str, night: str) -> Run | None:
    if not queries.namespace_exists(session, namespace):
        raise NamespaceUnknown(
            f"namespace {namespace!r} is unknown: nothing was ingested into it. Check its spelling, or ingest first: "
            f"slowwave ingest PATH --namespace {namespace}"
        )
    running = queries.run_open_night(session, namespace)
    if running is not None:
        return running
    last = queries.run_newest_of_key(session, namespace, "night", night)
    if last is None or _newest_state(session, namespace) != "completed" or _has_unconsumed(session, namespace):
        return None
    return last


def _newest_state(session: Session, namespace: str) -> str | None:
    """How the newest closed night ended: what an unfinished one left behind is work for a further run."""
    return next((run.state for run in queries.nights_closed_before(session, namespace)), None)


def _has_unconsumed(session: Session, namespace: str) -> bool:
    """Whether an untainted episode waits. Tainted ones wait for their taint to be lifted and open no run."""
    after = ""
    while page := episodes_unconsumed(session, namespace, after, PAGE):
        after = page[-1].id
        if len(tainted_among(session, namespace, [episode.id for episode in page])) < len(page):
            return True
    return False


def advance(session: Session, run_id: str) -> list[RunStep]:
    """Plan what comes next, or close the run. Under the run's lock and idempotent; returns the steps added.

    The last of a stage's steps to close adds the next stage: work is counted in the database, no message carries it.
    """
    run = lock_run(session, run_id)
    if run.state != "running":
        return []
    steps = queries.steps_of_run(session, run_id)
    views = [view_of(step) for step in steps]
    carried = _families_carried(session, run.namespace, run.id) if run.kind == "night" else set()
    match plan(run.kind, views, carried):
        case AddSteps(stage, shards):
            ledger.add_steps(session, run, stage, list(shards))
            known = {step.id for step in steps}
            return [step for step in queries.steps_of_run(session, run_id) if step.id not in known]
        case Close(state, stats, problems):
            close_run(session, run, state=state, stats=stats, problems=problems)
            log.info("run.closed", run=run.id, namespace=run.namespace, state=state, problems=len(problems))
    return []


def is_stuck(session: Session, run: Run) -> bool:
    """Whether ``advance`` would do something now: a worker died between closing a step and planning the next."""
    views = [view_of(step) for step in queries.steps_of_run(session, run.id)]
    carried = _families_carried(session, run.namespace, run.id) if run.kind == "night" else set()
    return not isinstance(plan(run.kind, views, carried), Wait)


def view_of(step: RunStep) -> StepView:
    """What the planner sees of a row."""
    return StepView(step.stage, step.shard, step.state, step.result, step.error)


def _families_carried(session: Session, namespace: str, before: str) -> set[str]:
    """Families the newest closed night left without a result; back past nights that never came to their contrast."""
    for run in queries.nights_closed_before(session, namespace, before):
        left = families_left(run.state, [view_of(step) for step in queries.steps_of_run(session, run.id)])
        if left is not None:
            return left
    return set()


def claim(database: Database, worker: Worker, *, run_id: str | None = None, step_id: str | None = None) -> Claim | None:
    """Claim one step, after freeing those of dead workers and parking those that died on their last attempt."""
    with database.write() as session:
        release_dead(session, worker.is_dead)
    park_exhausted(database, worker.max_attempts)
    with database.write() as session:
        return ledger.claim_next(
            session, owner=worker.owner, lease_seconds=worker.lease_seconds, run_id=run_id, step_id=step_id
        )


def park_exhausted(database: Database, max_attempts: int) -> list[RunStep]:
    """Park steps that killed their worker on every attempt, and let their runs go on."""
    with database.write() as session:
        dead = ledger.park_exhausted(session, max_attempts)
        for run_id in sorted({step.run_id for step in dead}):
            advance(session, run_id)
    for step in dead:
        log.error("step.parked", run=step.run_id, stage=step.stage, shard=step.shard, error=step.error)
    return dead


def execute(database: Database, claim: Claim, worker: Worker) -> list[RunStep]:
    """Work on a claimed step; returns the steps that are due because of it.

    A failure is counted in the ledger and the step given back, or parked after the last attempt. A claim that was lost
    to another worker is dropped: its guarded writes changed nothing. From here on the database knows one namespace.
    """
    database = database.within(claim.namespace)
    with structlog.contextvars.bound_contextvars(run=claim.run_id, stage=claim.stage, shard=claim.shard):
        _tell(database, worker, claim, "started")
        began = time.monotonic()
        try:
            with KeptLease(database, claim, worker.lease_seconds):
                result = worker.steps(claim.stage)(database, claim, _context(database, claim, worker))
            with database.write() as session:
                ledger.complete(session, claim, result)
                due = advance(session, claim.run_id)
        except ClaimLost:
            log.warning("step.claim_lost", attempt=claim.attempt)
            return []
        except Exception as error:
            log.exception("step.failed", attempt=claim.attempt)
            return _give_back(database, claim, worker, error)
        log.info("step.done", attempt=claim.attempt, seconds=round(time.monotonic() - began, 3))
        _tell(database, worker, claim, "done")
        return due


def _give_back(database: Database, claim: Claim, worker: Worker, error: Exception) -> list[RunStep]:
    reason = f"{type(error).__name__}: {error}"
    try:
        with database.write() as session:
            state = ledger.fail(session, claim, reason, worker.max_attempts)
            due = advance(session, claim.run_id)
            if state == "pending":
                due = [step for step in queries.steps_of_run(session, claim.run_id) if step.id == claim.step_id]
    except ClaimLost:
        log.warning("step.claim_lost", attempt=claim.attempt)
        return []
    if state == "parked":
        log.error("step.parked", attempt=claim.attempt, error=reason)
    _tell(database, worker, claim, "parked" if state == "parked" else "failed", reason)
    return due


def _context(database: Database, claim: Claim, worker: Worker) -> StepContext:
    """A night's time is its start, on every attempt: a step done again after a crash writes the same dates."""
    with database.read() as session:
        run = queries.run_by_id(session, claim.run_id)
    now = run.started_at if run is not None and run.kind == "night" else worker.clock()
    return StepContext(now, f"run:{claim.run_id}", worker.secret, worker.settings, worker.model, worker.embedder)


def _tell(database: Database, worker: Worker, claim: Claim, state: str, error: str | None = None) -> None:
    with database.read() as session:
        steps = queries.steps_of_run(session, claim.run_id)
    closed = sum(step.state in ("done", "parked") for step in steps)
    worker.watch(Progress(claim.run_id, claim.stage, claim.shard, state, closed, len(steps), error))


def drive(database: Database, run_id: str, worker: Worker, *, poll_seconds: float = 0.2) -> Run:
    """Work on one run in this process until it is closed: the local mode. Other workers may help; returns the run."""
    while True:
        claimed = claim(database, worker, run_id=run_id)
        if claimed is not None:
            due = execute(database, claimed, worker)
            if any(step.id == claimed.step_id for step in due):
                time.sleep(worker.retry_seconds * claimed.attempt)
            continue
        with database.write() as session:
            run = lock_run(session, run_id)
            held = any(step.state not in CLOSED for step in queries.steps_of_run(session, run_id))
            if run.state != "running":
                return run
            if not held and not advance(session, run_id) and run.state == "running":
                raise RunStuck(f"run {run_id} of {run.namespace} is open, and nothing of it is planned")
        if held:
            # Another worker holds a step. Its end is seen in the ledger only, so this is the one place that polls.
            time.sleep(poll_seconds)


def result_of(run: Run) -> dict[str, Any]:
    """A run as the command line and the pages tell it."""
    counts = {name: int(run.stats.get(name, 0)) for name in ("episodes", "clusters", "tests", "candidates")}
    return {"run_id": run.id, "state": run.state, "night": run.key, **counts, "problems": run.problems}
