"""The run ledger: one row a step, claimed with a lease and a fencing token.

A message may be lost, doubled or late; the ledger decides. Every write of a step first calls ``guard``, which locks the
step's row and refuses a token that is no longer the newest.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.engine import database_now
from storage.ids import uuid7
from storage.tables import Run, RunStep


class ClaimLost(RuntimeError):
    """Another worker took this step over, or it is finished: what this one computed is dropped."""


@dataclass(frozen=True)
class Claim:
    """The right to work on one step until its lease ends. ``token`` fences every write."""

    run_id: str
    step_id: str
    namespace: str
    stage: str
    shard: str
    token: int
    attempt: int


def add_steps(session: Session, run: Run, stage: str, shards: list[str]) -> int:
    """Add the steps of a stage that are not there yet; returns how many were added."""
    known = set(session.exec(select(RunStep.shard).where(RunStep.run_id == run.id, RunStep.stage == stage)))
    fresh = [shard for shard in shards if shard not in known]
    session.add_all(
        RunStep(id=uuid7(), run_id=run.id, namespace=run.namespace, stage=stage, shard=shard) for shard in fresh
    )
    session.flush()
    return len(fresh)


def claim_next(
    session: Session, *, owner: str, lease_seconds: float, run_id: str | None = None, step_id: str | None = None
) -> Claim | None:
    """Claim one step that is pending or whose lease ran out; None if there is none or another worker was faster.

    The one way a step starts, for jobs and for the local mode alike. Leases use the database's clock.
    """
    now = database_now(session)
    step = session.exec(_claimable(now, run_id, step_id)).first()
    if step is None:
        return None
    # Taken before the UPDATE, which brings the loaded row up to date.
    token, attempt = step.token + 1, step.attempts + 1
    claimed = session.execute(
        sa.update(RunStep)
        .where(col(RunStep.id) == step.id, col(RunStep.token) == step.token, col(RunStep.state) == step.state)
        .values(
            state="leased",
            token=token,
            attempts=attempt,
            owner=owner,
            lease_until=now + timedelta(seconds=lease_seconds),
            started_at=step.started_at or now,
        )
    )
    if claimed.rowcount != 1:  # type: ignore[attr-defined]
        return None
    return Claim(step.run_id, step.id, step.namespace, step.stage, step.shard, token, attempt)


def _claimable(now: datetime, run_id: str | None, step_id: str | None) -> Any:
    free = (col(RunStep.state) == "pending") | ((col(RunStep.state) == "leased") & (col(RunStep.lease_until) < now))
    statement = (
        select(RunStep)
        .join(Run, col(Run.id) == col(RunStep.run_id))
        .where(col(Run.state) == "running", free)
        .order_by(col(RunStep.id))
        .limit(1)
    )
    if run_id is not None:
        statement = statement.where(RunStep.run_id == run_id)
    if step_id is not None:
        statement = statement.where(RunStep.id == step_id)
    return statement


def guard(session: Session, claim: Claim) -> RunStep:
    """Lock the step's row and refuse a stale token. Call it first in every write of a step.

    Raises:
        ClaimLost: if the claim is no longer the newest.
    """
    step = session.exec(select(RunStep).where(RunStep.id == claim.step_id).with_for_update()).one()
    if step.token != claim.token or step.state != "leased":
        raise ClaimLost(f"step {claim.stage}/{claim.shard or '-'} of run {claim.run_id} was taken over")
    return step


def renew(session: Session, claim: Claim, lease_seconds: float) -> None:
    """Extend the lease of a step that is still ours.

    Raises:
        ClaimLost: if it is not.
    """
    guard(session, claim).lease_until = database_now(session) + timedelta(seconds=lease_seconds)


def complete(session: Session, claim: Claim, result: dict[str, Any]) -> None:
    """Close a step with its result.

    Raises:
        ClaimLost: if the claim is no longer the newest.
    """
    step = guard(session, claim)
    step.state, step.result, step.error = "done", result, None
    step.lease_until, step.finished_at = None, database_now(session)
    session.flush()


def fail(session: Session, claim: Claim, error: str, max_attempts: int) -> str:
    """Give a failed step back, or park it after ``max_attempts``; returns its new state.

    Raises:
        ClaimLost: if the claim is no longer the newest.
    """
    step = guard(session, claim)
    step.error = error[:2000]
    step.lease_until = None
    step.state = "parked" if step.attempts >= max_attempts else "pending"
    if step.state == "parked":
        step.finished_at = database_now(session)
    session.flush()
    return step.state


def park_exhausted(session: Session, max_attempts: int) -> list[RunStep]:
    """Park steps whose worker died on their last attempt; returns them."""
    now = database_now(session)
    statement = select(RunStep).where(
        RunStep.state == "leased", col(RunStep.lease_until) < now, col(RunStep.attempts) >= max_attempts
    )
    dead = list(session.exec(statement.with_for_update()))
    for step in dead:
        step.state, step.finished_at, step.lease_until = "parked", now, None
        step.error = step.error or f"the worker died {step.attempts} times on this step"
    session.flush()
    return dead
