"""What is withdrawn takes along what leans on it, and nothing beside it: revocations, partitions, purges."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import SQLModel, select
from starlette.testclient import TestClient

from storage.bodies import load_bodies
from storage.people import add_token
from storage.queries.rules import versions_in
from storage.tables import Episode, Namespace, RuleVersion
from tasks import pipeline
from tasks.pipeline import Worker
from tasks.revoke.purge_step import PurgeResult, purge

from .conftest import SECRET, SPACE, START, Town, trip, trips

NAME = "Ottokar7"


def chain(town: Town, check: str, act: str, readers_of: str | None) -> str:
    """A rule about looking before acting, made of runs whose sessions had all read another rule, if one is named."""
    records = [
        trip(f"{check}-{task}-{n}", task, "failure" if n % 2 else "success", calls=[act] if n % 2 else [check, act])
        for task in range(10)
        for n in range(6)
    ]
    if readers_of is not None:
        for record in records:
            served = town.serve(record["session_id"], task=f"Book a trip, {act}")
            assert readers_of in {rule["id"] for rule in served["rules"]}
    town.bring(records)
    town.night()
    made = {town.approve(candidate).rule_id for candidate, text in town.queue() if check in str(text.content)}
    (rule_id,) = made
    return str(rule_id)


def states(town: Town, namespace: str = SPACE) -> dict[str, str]:
    every = ("active", "superseded", "quarantined", "revoked", "expired")
    with town.database.read() as session:
        return {row.rule_id: row.state for row in versions_in(session, namespace, every)}


class Asking:
    """A reader that asks again and again; what it got, with the epoch of each answer."""

    def __init__(self, town: Town) -> None:
        self._town, self._stop, self._asked = town, threading.Event(), threading.Semaphore(0)
        self.answers: list[tuple[int, set[str]]] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Asking:
        self._thread.start()
        self.once_more()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(20)

    def once_more(self) -> None:
        """Wait until it has asked twice from here on: one question may have been under way."""
        while self._asked.acquire(blocking=False):
            pass
        for _ in range(2):
            assert self._asked.acquire(timeout=20)

    def _run(self) -> None:
        while not self._stop.is_set():
            answer = self._town.serve("asks-on")
            self.answers.append((answer["epoch"], {rule["id"] for rule in answer["rules"]}))
            self._asked.release()


def test_what_was_made_of_runs_that_read_a_revoked_rule_goes_with_it_and_the_unrelated_is_served_all_along(
    town: Town,
) -> None:
    first = chain(town, "look_one", "act_one", None)
    apart = chain(town, "look_four", "act_four", None)
    second = chain(town, "look_two", "act_two", first)
    third = chain(town, "look_three", "act_three", second)
    with Asking(town) as reader:
        done = town.revoke(first, "it was wrong")
        reader.once_more()
    assert {rule for rule, _ in done.quarantined} == {second, third}
    assert states(town) == {first: "revoked", second: "quarantined", third: "quarantined", apart: "active"}
    assert all(apart in served for _, served in reader.answers), "without a gap"
    assert any({first, second, third} <= served for _, served in reader.answers)
    after = [served for epoch, served in reader.answers if epoch >= done.epoch]
    assert after
    assert all(served.isdisjoint({first, second, third}) for served in after)


def test_the_same_sentence_in_two_partitions_is_two_records_and_neither_shows_in_the_other(town: Town) -> None:
    spaces = ("acme/a", "acme/b")
    for space in spaces:
        town.bring(trips(), namespace=space)
        town.night(space)
    with town.database.read() as session:
        rows = session.exec(select(Episode)).all()
    kept = {space: [row for row in rows if row.namespace == space] for space in spaces}
    assert [len(kept[space]) for space in spaces] == [60, 60]
    for column in ("id", "source_hash", "fingerprint"):
        one, two = ({getattr(row, column) for row in kept[space]} for space in spaces)
        assert one.isdisjoint(two), column
    queues = [town.queue(space) for space in spaces]
    assert {c.id for c, _ in queues[0]}.isdisjoint({c.id for c, _ in queues[1]})
    for candidate, text in queues[0]:
        assert text.packet["evidence"]["independent_groups"] <= 60, "not counted together"
        town.approve(candidate)
    assert town.serve("s-a", namespace="acme/a")["rules"]
    assert town.serve("s-b", namespace="acme/b")["rules"] == []
    assert reading(town, "acme/b", "acme/a") in (403, 404)


def reading(town: Town, granted: str, asked: str) -> int:
    with town.database.write() as session:
        _, token = add_token(session, role="agent", namespaces=[granted], now=START)
    api = TestClient(town.api.app, headers={"Authorization": f"Bearer {token}"})
    return api.post("/v1/rules/search", json={"namespace": asked, "task": "book", "session_id": "s"}).status_code


def purged(town: Town, ids: Sequence[str], namespace: str = SPACE) -> PurgeResult:
    done = purge(town.database, namespace, ids, reason="they asked", actor="operator", now=town.now, secret=SECRET)
    run = pipeline.drive(town.database, str(done.run_id), Worker("t", SECRET, clock=lambda: town.now, retry_seconds=0))
    assert run.state == "completed", run.problems
    return done


def ids_named(town: Town, name: str, namespace: str = SPACE) -> list[str]:
    with town.database.read() as session:
        rows = session.exec(select(Episode).where(Episode.namespace == namespace, Episode.source_id == name))
        return [row.id for row in rows]


def holding(town: Town, word: str) -> set[str]:
    found = set()
    with town.database.read() as session:
        for table in SQLModel.metadata.sorted_tables:
            found |= {table.name for row in session.execute(sa.select(table)) if word in str(tuple(row))}
        for row in session.exec(select(Episode)):
            found |= {"body"} if word in str(load_bodies(session, row.namespace, [row.id])) else set()
    return found


def test_a_rule_that_two_runs_carry_stays_on_the_one_when_the_other_is_purged(town: Town) -> None:
    telling = trip("a-0-0", 0, "success", user=f"I am {NAME}.")
    records = [telling, *(one for one in trips() if one["id"] != "a-0-0")]
    town.bring(records)
    town.night()
    for candidate, _ in town.queue():
        town.approve(candidate)
    (rule, *_) = town.serve("before")["rules"]
    assert "body" in holding(town, NAME)
    purged(town, ids_named(town, "a-0-0"))
    (same, *_) = town.serve("after")["rules"]
    assert (same["id"], same["guidance"]) == (rule["id"], rule["guidance"])
    for figure in ("support", "independent_groups"):
        assert same["evidence"][figure] == rule["evidence"][figure] - 1
    assert holding(town, NAME) == set()
    town.bring([telling])
    assert holding(town, NAME) == set(), "what was purged stays purged"
    town.bring(trips("b", tasks=2, each=2))
    run = town.night()
    (verdict,) = [one for one in town.result(run, "recheck")["verdicts"] if one["rule"] == rule["id"]]
    assert verdict["verdict"] not in ("vanished", "reversed")
    assert states(town)[rule["id"]] == "active"
    assert holding(town, NAME) == set()


def test_a_purge_leaves_the_same_run_in_another_partition_as_it_is(town: Town) -> None:
    spaces = ("acme/x", "acme/y")
    for space in spaces:
        town.bring(trips(), namespace=space)
        town.night(space)
        for candidate, _ in town.queue(space):
            town.approve(candidate)
    served = town.serve("s", namespace="acme/y")["rules"]
    assert served
    before = everything_of(town, "acme/y")
    purged(town, ids_named(town, "a-0-0", "acme/x"), "acme/x")
    assert everything_of(town, "acme/y") == before
    assert [rule["id"] for rule in town.serve("t", namespace="acme/y")["rules"]] == [rule["id"] for rule in served]


def everything_of(town: Town, namespace: str) -> dict[str, list[Any]]:
    found = {}
    with town.database.read() as session:
        for table in SQLModel.metadata.sorted_tables:
            column = "path" if table.name == Namespace.__tablename__ else "namespace"
            if column in table.c:
                rows = session.execute(sa.select(table).where(table.c[column] == namespace))
                found[table.name] = sorted(map(str, rows))
    assert found[str(RuleVersion.__tablename__)]
    return found
