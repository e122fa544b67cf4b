"""No revoked version comes back, however reads, writes, losses and answers fall; a history checker judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from slowwave_client._impl.core import Core, Key, Ticket
from slowwave_client._impl.models import RuleSet
from storage.engine import Database
from support.full import FULL
from support.history import Violation, violations

from .play import Play
from .stage import LEASE, stage

SEEDS = 200 if FULL else 25
TRIES = 60
USUAL = {"read": 10, "serve": 12, "deliver": 12, "hear": 8, "tell": 4, "write": 2, "pass": 3, "lose": 1}
KINDS = {
    "reader": {"read": 22},
    "writer": {"write": 6, "interrupt": 5, "rebuild": 2},
    "cache loss": {"restart": 3, "rebuild": 2},
    "late fill": {"deliver": 6, "write": 5, "hear": 16, "tell": 8},
    "gap": {"miss": 8, "write": 5, "tell": 10, "part": 2, "pass": 6},
    "reconnect": {"cut": 6, "part": 2, "pass": 8, "write": 4},
    "outage": {"part": 2, "pass": 9, "write": 3, "read": 16},
}

WITNESS = {"writer": "interrupted", "cache loss": "restarts", "gap": "dropped", "reconnect": "cuts", "outage": "marked"}
"""What must have happened for a kind to be what it is called."""


def played(
    folder: Path,
    database: Database,
    kind: str,
    seeds: range,
    make_core: Callable[..., Core] = Core,
    until: str = "",
) -> tuple[dict[int, list[Violation]], Counter[str]]:
    """The violations by seed, and how often what happened; ends as soon as the rule ``until`` was broken."""
    found, tally = {}, Counter[str]()
    with stage(folder, database) as (clock, webs):
        for seed in seeds:
            namespace = f"acme/{kind.replace(' ', '-')}-{seed}"
            play = Play(database, clock, webs, namespace, USUAL | KINDS[kind], seed, make_core)
            broken = violations(play.run(), LEASE)
            tally += play.tally
            if broken:
                found[seed] = broken
            if any(each.rule == until for each in broken):
                break
    return found, tally


@pytest.mark.parametrize("kind", KINDS)
def test_no_withdrawn_version_is_served_where_it_may_not_be(tmp_path: Path, database: Database, kind: str) -> None:
    found, tally = played(tmp_path, database, kind, range(SEEDS))
    print(f"{kind}: seeds 0 to {SEEDS - 1}; {dict(sorted(tally.items()))}")
    assert not found, "\n".join(f"seed {seed}: {each}" for seed, all_of in found.items() for each in all_of[:3])
    assert tally["serves"] > SEEDS
    assert all(tally[each] > 0 for each in ("hits", "late", WITNESS.get(kind, "hits"))), tally


class TakesLateFills(Core):
    """A client that keeps whatever arrives."""

    def store(self, key: Key, session_id: str, ticket: Ticket, answer: RuleSet, grant_seconds: float) -> bool:
        epoch, self.epoch = self.epoch, None
        try:
            return super().store(key, session_id, ticket, answer, grant_seconds)
        finally:
            self.epoch = epoch


class ForgetsNothing(Core):
    """A client that drops nothing when it hears of an epoch."""

    def _advance(self, epoch: int) -> None:
        self.epoch = max(epoch, self.epoch or 0)


class HasNoLease(Core):
    """A client that serves for ever what nobody told it to drop."""

    def learn(self, ticket: Ticket, epoch: int, lease_seconds: float, age_seconds: float) -> bool:
        return super().learn(ticket, epoch, 1e6, age_seconds)


class DeclaresNoSession(Core):
    """A client that lets any session read from its cache."""

    def hit(self, key: Key, session_id: str) -> RuleSet | None:
        self.journal.declare(session_id)
        return super().hit(key, session_id)


@pytest.mark.parametrize(
    ("broken", "kind", "rule"),
    [
        (TakesLateFills, "late fill", "after-seen"),
        (ForgetsNothing, "gap", "after-seen"),
        (HasNoLease, "outage", "past-lease"),
        (DeclaresNoSession, "reader", "uncovered"),
    ],
)
def test_a_client_that_breaks_a_promise_is_caught(
    tmp_path: Path, sqlite_database: Database, broken: type[Core], kind: str, rule: str
) -> None:
    found, _ = played(tmp_path, sqlite_database, kind, range(TRIES), broken, until=rule)
    caught = [seed for seed, all_of in found.items() if any(each.rule == rule for each in all_of)]
    print(f"{broken.__name__}: caught at seed {caught}")
    assert caught
