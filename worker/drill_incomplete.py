"""The second drill: the sample behind a reviewed rule is declared incomplete while sessions act on it.

A rule is promoted; a run that read it is recorded, and a second rule is promoted that rests on that run. Half of the
sessions read the first, half the second. The declaration revokes the first with that reason; the second, derived from
it, is withdrawn in the same transaction, and sessions that read it are told to go on read-only.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from storage.queries import episodes as episode_queries
from storage.queries.drills import calls_of
from storage.queries.lineage import episodes_that_read
from storage.queries.readers import active_rules
from storage.queries.rules import VersionKey
from tasks.ingest.step import ingest_records
from tasks.revoke import drill_step
from tasks.revoke.drill_sessions import Acted, SessionFindings, judge_sessions
from tasks.revoke.step import RevokeResult, revoke
from worker.drill import GRACE_SECONDS, Outcome, Plan, Tell, commits_of, now, started
from worker.drill_readers import Orders, Readers, shared
from worker.drill_stack import Stack

REASON = "its sample is incomplete: episodes were missing when it was reviewed (a drill)"
ACTS_A_SECOND = 100
SHORTEST_SECONDS = 0.1
MOMENT_SECONDS = 0.5
FOUNDING_CALLS = 1
"""Actions of the run that the derived rule rests on: no session of the drill's took them."""


def run(plan: Plan, tell: Tell) -> Outcome:
    """As ``worker.drill.run``, with sessions that act.

    Raises:
        StackFailed, NotForDrills, ReadersFailed, BrokerMissing: no figure came of it.
    """
    with ExitStack() as held:
        stack, namespace = started(plan, held, tell)
        sample, derived = _rules(stack, namespace)
        token = drill_step.reader_token(stack.database, namespace, now())
        every = max(SHORTEST_SECONDS, plan.readers / ACTS_A_SECOND)
        orders = [
            Orders(stack.url, token, namespace, canary.task, canary.rule_id, names, every)
            for canary, offset in ((sample, 0), (derived, 1))
            for names in shared([f"drill-session-{number}" for number in range(offset, plan.readers, 2)])
        ]
        readers = held.enter_context(Readers(orders, "worker.drill_session"))
        readers.wait_until_ready()
        tell(f"incomplete: {plan.readers} sessions act; declaring the sample of {sample.rule_id} incomplete")
        time.sleep(MOMENT_SECONDS)
        with commits_of(stack.database) as commits:
            began = time.monotonic()
            done = revoke(
                stack.database, namespace, sample.rule_id, reason=REASON, actor=sample.reviewer, now=now(),
                secret=stack.settings.secret(),
            )  # fmt: skip
        readers.wait_until_stopped(plan.lease_seconds + GRACE_SECONDS)
        told = _sessions(readers, commits[-1])
        found = _judged(plan, stack, namespace, told, done, (sample, derived))
        return Outcome(found, stack.database.dialect, len(orders), every, commits[-1] - began, None)


def _rules(stack: Stack, namespace: str) -> tuple[drill_step.Canary, drill_step.Canary]:
    """A rule, and one derived from it: it rests on a run that read the first."""
    secret = stack.settings.secret()
    sample = drill_step.plant(stack.database, namespace, now=now(), secret=secret, name="sample")
    founding = Acted(sample.rule_id, (0.0,), 0, "")
    _record(stack, namespace, {"founding-run": founding}, [(sample.rule_id, sample.version)])
    with stack.database.read() as session:
        cites = tuple(row.id for row in episode_queries.current(session, namespace))
    derived = drill_step.plant(stack.database, namespace, now=now(), secret=secret, name="derived", cites=cites)
    return sample, derived


def _sessions(readers: Readers, committed: float) -> dict[str, Acted]:
    told = {name: one for each in readers.findings() for name, one in each["sessions"].items()}
    return {
        name: Acted(one["rule"], tuple(at - committed for at in one["done"]), one["pending"], one["verdict"])
        for name, one in told.items()
    }


def _judged(
    plan: Plan,
    stack: Stack,
    namespace: str,
    told: dict[str, Acted],
    done: RevokeResult,
    canaries: Sequence[drill_step.Canary],
) -> SessionFindings:
    """Record what the sessions did, as agents do at their end, then ask the store what it finds by lineage."""
    keys: list[VersionKey] = [(canary.rule_id, canary.version) for canary in canaries]
    withdrawn = [*done.revoked, *done.quarantined]
    _record(stack, namespace, told, keys)
    with stack.database.read() as session:
        traced = calls_of(session, namespace, sorted(episodes_that_read(session, namespace, withdrawn)))
        served = {row.rule_id for row in active_rules(session, namespace)}
    return judge_sessions(
        list(told.values()),
        wanted=plan.readers,
        lease=plan.lease_seconds,
        limit=plan.limit_seconds,
        expected=[rule for rule, _ in keys],
        withdrawn=[rule for rule, _ in withdrawn],
        still_served=sorted(served & {rule for rule, _ in keys}),
        traced=traced - FOUNDING_CALLS,
    )


def _record(stack: Stack, namespace: str, told: dict[str, Acted], keys: Sequence[VersionKey]) -> None:
    """Episodes of sessions: what each read, and one tool call for each action that it took."""
    versions = dict(keys)
    lines = [json.dumps(_episode(name, one, versions[one.rule])) for name, one in told.items()]
    ingest_records(
        stack.database, io.BytesIO("\n".join(lines).encode()), namespace, importer="canonical", principal="drill",
        now=now(), secret=stack.settings.secret(),
    )  # fmt: skip


def _episode(name: str, one: Acted, version: int) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [
        {"id": "1", "kind": "user", "text": f"Act on the canary as {name}."},
        {"id": "2", "kind": "memory_read", "rule": one.rule, "version": version},
    ]
    steps += [
        {"id": str(number), "kind": "tool_call", "name": "act", "arguments": {"number": number}, "cites": ["2"]}
        for number in range(3, 3 + len(one.done))
    ]
    return {"id": name, "task": "Act on the canary", "session_id": name, "agent": "drill", "outcome": "unknown",
            "steps": steps}  # fmt: skip
