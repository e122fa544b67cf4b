"""Nothing of a purged run is left: it is found everywhere before, by the same search, and nowhere afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis

from storage import audit
from storage.engine import Database
from storage.purging import compact
from storage.queries import candidates as candidate_queries
from storage.queries.rules import versions_in
from storage.tables import Episode, Namespace, Run, SearchMiss
from support.factories import make_person
from support.model_nights import FARE_FIRST, NOW, SECRET, for_cluster, rows, run_of, trips
from support.model_server import Asked, ModelServer, Reply, answer, answers
from support.servers import RedisServer
from tasks import pipeline
from tasks.pipeline import Worker
from tasks.promote.step import approve
from tasks.revoke.purge_step import PurgeResult, purge
from worker.relay import Relay, connect

from .conftest import Own

MARK = "Quixelwort4711"
SPACE = "lab"


def marked() -> list[dict[str, Any]]:
    """A run among many, and one that is the only success of its kind: both of one customer."""
    among = run_of("a-0-0", 0, ["get_fare", "pay_booking"], "success", outcome_source="verifier",
                   before=[{"id": "n", "kind": "user", "text": f"I am {MARK}."}])  # fmt: skip
    alone = run_of("refund-1", 1, ["get_ticket", "pay_back"], "success", desk="refund", outcome_source="verifier")
    alone |= {"task": f"Pay back the money of ticket 1, please, {MARK}", "session_id": f"s-{MARK}"}
    alone["steps"][0]["text"] = alone["task"]
    alone["steps"][1]["arguments"] = {"customer": MARK}
    alone["steps"] = [step for step in alone["steps"] if step["kind"] != "observation"]  # no word from outside
    return [among, alone]


def quoting(asked: Asked) -> Reply:
    return Reply(json.dumps(answer(asked, call="get_ticket", predicate={"required": ["get_ticket"]},
                                   rationale=f"{MARK} got the money back.")))  # fmt: skip


def purged(database: Database, ids: list[str], day: int = 9) -> tuple[PurgeResult, Run]:
    now = NOW + timedelta(days=day)
    done = purge(database, SPACE, ids, reason=f"{MARK} asked for it", actor="operator:test", now=now, secret=SECRET)
    run = pipeline.drive(database, str(done.run_id), Worker("test", SECRET, clock=lambda: now, retry_seconds=0))
    return done, run


@pytest.fixture
def lived(own: Own, bring: Callable[..., Any], at_night: Callable[..., Run], model_server: ModelServer) -> list[str]:
    """Two nights with a model, a rule and an exemplar promoted, a refused twin; returns the ids of the marked runs."""
    database = own.database
    others = [one for one in trips() if one["id"] != "a-0-0"]
    refunds = [run_of(f"refund-{n}", 1, ["pay_back"], "failure", desk="refund") for n in (2, 3)]
    twin = {"id": "twin", "task": f"Pay back {MARK}", "steps": "lost"}
    bring([*marked(), *others, *refunds, twin])
    said = answers(call="get_fare", predicate=FARE_FIRST, counter_example=f"A customer such as {MARK}.")
    model_server.says(for_cluster("Book trip", said, quoting))
    at_night()
    with database.write() as session:
        session.get_one(Namespace, SPACE).policy = {"regime": "episodic", "exemplars": 3}
        session.add(SearchMiss(id="m", namespace=SPACE, task=f"refund {MARK}", session_id=f"s-{MARK}", at=NOW))
    bring([run_of("refund-4", 1, ["pay_back"], "failure", desk="refund")])
    at_night(1)
    ana, bo = make_person(database, "ana", NOW)[0], make_person(database, "bo", NOW)[0]
    with database.read() as session:
        waiting = candidate_queries.queue(session, SPACE)
    for candidate, _ in waiting:
        for person in (ana, bo)[: 2 if candidate.tier == "high" else 1]:
            approve(database, SPACE, candidate.id, content_hash=candidate.content_hash, packet_hash=None,
                    reviewer=person, reason="read it", now=NOW, secret=SECRET)  # fmt: skip
    return [row.id for row in rows(database, Episode) if MARK in str(row.task) or row.source_id == "a-0-0"]


def states(database: Database) -> dict[str, str]:
    every = ("active", "superseded", "quarantined", "revoked", "expired")
    with database.read() as session:
        return {row.kind: row.state for row in versions_in(session, SPACE, every)}


def test_every_trace_of_a_purged_run_is_gone_and_was_there_before(
    own: Own, lived: list[str], redis_server: RedisServer
) -> None:
    database = own.database
    with connect(redis_server.socket_url) as client:
        client.flushall()
        Relay(database, client).pass_once()
        before = own.rows(MARK)
        assert {"opened body", "episode", "dead_letter", "model_reply", "search_miss"} <= before
        assert {"candidate_revision", "rule_version"} <= before, "the exemplar's task, the draft's words"
        assert own.files(MARK)
        assert states(database) == {"rule": "active", "exemplar": "active"}
        _, run = purged(database, lived)
        assert (len(lived), run.state, run.problems) == (2, "completed", [])
        Relay(database, client).pass_once()
        assert own.rows(MARK) == set()
        compact(database)
        own.settle()
        assert own.files(MARK) == set()
        assert_nothing_in_redis(client, redis_server.folder)
    assert states(database) == {"rule": "active", "exemplar": "expired"}
    with database.read() as session:
        assert audit.verify(session).ok


def assert_nothing_in_redis(client: redis.Redis, folder: Path) -> None:
    assert client.keys("*"), "the events were sent"
    held = b"".join(client.dump(key) for key in client.keys("*"))
    kept = b"".join(file.read_bytes() for file in folder.rglob("*.aof"))
    assert kept
    assert MARK.casefold().encode() not in (held + kept).lower()
