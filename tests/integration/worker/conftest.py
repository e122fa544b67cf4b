"""A pipeline whose stages are told by the test what to do: the ledger, the planning and the leases are real."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from storage.engine import Database
from storage.episodes import ensure_namespace
from storage.ledger import Claim
from storage.tables import Episode
from tasks.context import StepContext
from tasks.pipeline import Worker

NAMESPACE = "acme/support"
NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
RESULTS: dict[str, dict[str, Any]] = {
    "select": {"episodes": 3},
    "cluster": {"clusters": 2, "families": ["alpha", "beta"]},
    "contrast": {"tests": 4},
    "stage": {"candidates": 1},
}


@dataclass
class Script:
    """What each stage does; the test changes ``acts`` and reads ``calls``."""

    calls: list[tuple[str, str, int]] = field(default_factory=list)
    acts: dict[tuple[str, str], Callable[[Claim], None]] = field(default_factory=dict)

    def steps(self, stage: str) -> Callable[[Database, Claim, StepContext], dict[str, Any]]:
        def run(_: Database, claim: Claim, __: StepContext) -> dict[str, Any]:
            self.calls.append((stage, claim.shard, claim.attempt))
            act = self.acts.get((stage, claim.shard))
            if act is not None:
                act(claim)
            return RESULTS.get(stage, {})

        return run

    def fail(self, stage: str, shard: str = "", times: int = 99) -> None:
        """Let a step fail this often."""
        left = [times]

        def act(_: Claim) -> None:
            left[0] -= 1
            if left[0] >= 0:
                raise ValueError(f"no luck with {shard or stage}")

        self.acts[(stage, shard)] = act


@pytest.fixture
def script() -> Script:
    """Every stage succeeds until the test says otherwise."""
    return Script()


@pytest.fixture
def worker(script: Script) -> Worker:
    """A worker that plays the script."""
    return Worker(owner="here/1/1", secret=b"x" * 32, retry_seconds=0, steps=script.steps, clock=lambda: NOW)


@pytest.fixture
def other(worker: Worker) -> Worker:
    """Another worker on the same ledger."""
    return replace(worker, owner="there/2/2")


@pytest.fixture
def namespace(database: Database) -> str:
    """A namespace with one episode in it."""
    with database.write() as session:
        ensure_namespace(session, NAMESPACE, NOW)
    add_episode(database, "e1")
    return NAMESPACE


def add_episode(database: Database, name: str) -> None:
    """One more episode that no run has consumed."""
    episode = Episode(
        namespace=NAMESPACE, id=name, importer="canonical", importer_version=1, redactor_version=1, source_hash=name,
        fingerprint=name, task="refund order 7", task_key="refund", outcome="success", outcome_source="verifier",
        principal="operator", n_steps=1, n_calls=0, ingested_at=NOW,
    )  # fmt: skip
    with database.write() as session:
        session.add(episode)


@pytest.fixture
def add(database: Database) -> Callable[[str], None]:
    """Adds an episode of this name."""
    return lambda name: add_episode(database, name)
