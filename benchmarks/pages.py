"""How fast the review pages answer over a long queue, and how heavy they are: ``make bench``.

A store with 100,000 staged candidates of some kilobytes each, in several namespaces, tiers and kinds, on SQLite and on
PostgreSQL. The real app is served over a socket; times are the server's own, from a request to the last byte of its
answer, and sizes are those of compressed bytes on the wire. Pages are asked for in turn, so that a busy machine is
unfair to none. ``--candidates 2000`` is for a try.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import SimpleQueue
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import httpx  # noqa: E402 - the path above comes first
import orjson  # noqa: E402
import sqlalchemy as sa  # noqa: E402
import uvicorn  # noqa: E402
from pydantic import SecretStr  # noqa: E402

from review_ui.app import create_app  # noqa: E402
from storage import audit, migrate  # noqa: E402
from storage.engine import Database  # noqa: E402
from storage.ids import content_hash  # noqa: E402
from storage.settings import Settings  # noqa: E402
from storage.tables import Candidate, CandidateRevision, Conflict, Episode, Evidence, Namespace, Run  # noqa: E402
from support import factories  # noqa: E402
from support.processes import free_port  # noqa: E402
from support.review_pages import fields  # noqa: E402
from tasks.stage import columns  # noqa: E402
from worker.local_app import settle_memory  # noqa: E402

NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
SPACES = ("acme/support", "acme/travel", "acme/retail/eu", "acme/retail/us", "bank/cards", "bank/loans", "lab", "shop")
ALONE = "lab"
KINDS = ("rule",) * 16 + ("exemplar",) * 3 + ("removal",)
TIERS = ("standard",) * 6 + ("low",) * 3 + ("high",)
READ = 600
"""Candidates that have evidence with episodes: those whose pages are asked for."""
CITED = 10
BATCH = 500
PACKETS = 400
MOST_MS, MOST_KB = 100.0, 100.0
CALLS = ("get_order", "cancel_order", "create_return", "find_customer", "refund", "escalate", "update_address")
Rows = list[dict[str, Any]]
BLANK = Candidate(
    namespace="", id="", kind="", tier="", content_hash="", packet_hash="", title="", predicate_id="", created_at=NOW,
    updated_at=NOW,
).model_dump()  # fmt: skip
"""A candidate with the defaults of every column: to make an object of each takes four times as long."""


def main() -> None:
    """Load, serve, measure, then print a table for each database."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--candidates", type=int, default=100_000)
    asked.add_argument("--rounds", type=int, default=60, help="how often each page is asked for")
    asked.add_argument("--seed", type=int, default=7)
    asked.add_argument("--only", choices=("sqlite", "postgresql"))
    given = asked.parse_args()
    print(f"{given.candidates:,} candidates, {given.rounds} rounds, {os.cpu_count()} cores")
    for kind in ("sqlite", "postgresql"):
        if given.only in (None, kind):
            with _store(kind) as database:
                began = time.perf_counter()
                size = _load(database, given.candidates, random.Random(given.seed))
                print(f"\n{kind}: packets of {size / 1e3:.1f} kB, loaded in {time.perf_counter() - began:.0f} s")
                _tell(_measure(database, given.candidates, given.rounds, random.Random(given.seed)))


@contextmanager
def _store(kind: str) -> Iterator[Database]:
    """A fresh, migrated store of one kind, gone afterwards."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="slowwave-pages-") as folder:
            yield from _migrated(f"sqlite:///{folder}/pages.db")
        return
    from support.servers import PostgresServer, short_folder

    place = short_folder()
    server = PostgresServer(place)
    try:
        yield from _migrated(server.start().create("pages"))
    finally:
        server.stop()
        shutil.rmtree(place)


def _migrated(url: str) -> Iterator[Database]:
    database = Database(url)
    migrate.upgrade(database)
    yield database
    database.dispose()


# The store


def _load(database: Database, candidates: int, chance: random.Random) -> float:
    """Fill the store; returns the mean size of a packet."""
    with database.write() as session:
        for path in SPACES:
            session.add(Namespace(path=path, created_at=NOW - timedelta(days=400)))
        session.flush()
        session.add(Run(id="run-1", namespace=ALONE, key="2026-11-29", requested_by="schedule", state="completed",
                        started_at=NOW - timedelta(hours=2), finished_at=NOW - timedelta(hours=1)))  # fmt: skip
    for name, namespaces in (("all", ()), ("one", (ALONE,))):
        factories.make_person(database, name, NOW, namespaces=namespaces)
    cited = {path: _episodes(database, path) for path in SPACES}
    packets = [_packet(chance) for _ in range(PACKETS)]
    total = 0
    for first in range(0, candidates, BATCH):
        numbers = range(first, min(first + BATCH, candidates))
        made = [_candidate(number, chance, cited, chance.choice(packets)) for number in numbers]
        total += sum(one.size for one in made)
        with database.write() as session:
            session.execute(sa.insert(Candidate), [one.candidate for one in made])
            session.execute(sa.insert(CandidateRevision), [one.revision for one in made])
            for table, rows in ((Evidence, [row for one in made for row in one.evidence]),
                                (Conflict, [one.conflict for one in made if one.conflict])):  # fmt: skip
                if rows:
                    session.execute(sa.insert(table), rows)
    if database.dialect == "postgresql":  # as autovacuum would, which the server for tests has switched off
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")
    return total / candidates


def _episodes(database: Database, path: str) -> list[str]:
    names = [f"{path.replace('/', '-')}-ep-{number}" for number in range(60)]
    for number, name in enumerate(names):
        outcome = "failure" if number % 2 else "success"
        steps = factories.trace(f"K-{number}", cancels=True, outcome=outcome)
        factories.make_episode(
            database, path, name, NOW, outcome=outcome, steps=steps, task_key=f"orders/{number % 12}"
        )
    with database.write() as session:
        session.execute(sa.update(Episode).where(Episode.namespace == path).values(family_id=None))
    return names


@dataclass(frozen=True)
class _Made:
    """The rows of one candidate; ``size`` is that of its packet."""

    candidate: dict[str, Any]
    revision: dict[str, Any]
    evidence: Rows
    conflict: dict[str, Any] | None
    size: int


def _candidate(number: int, chance: random.Random, cited: dict[str, list[str]], packet: _Packet) -> _Made:
    space, kind, tier = SPACES[number % len(SPACES)], chance.choice(KINDS), chance.choice(TIERS)
    identity = f"{chance.getrandbits(64):016x}"
    one, two = chance.sample(CALLS, 2)
    content = factories.content_for(
        space, when_to_use=f"Before `{one}` in case {number} of a customer who asked for `{two}` the day before"
    )
    hashes = content_hash(content), packet.hash
    created = NOW - timedelta(hours=chance.expovariate(1 / 500))
    parked = chance.random() < 0.02
    candidate = BLANK | dict(
        namespace=space, id=identity, kind=kind, tier=tier, state="approved" if tier == "high" and chance.random() < 0.2
        else "staged", content_hash=hashes[0], packet_hash=hashes[1], title=content["when_to_use"],
        predicate_id=identity, family_id="orders", rank=chance.expovariate(1.0),
        reach=int(chance.expovariate(1 / 40)), parked_at=NOW if parked else None,
        wanted={"runs": 5, "agent": "support-bot"} if parked else {}, created_at=created, updated_at=created,
        **columns.queue_columns(packet.packet, [chance.choice((columns.NEW, columns.MORE_RUNS, columns.BACK))]),
    )  # fmt: skip
    revision = {
        "namespace": space, "candidate_id": identity, "number": 1, "run_id": None, "content": content,
        "content_hash": hashes[0], "packet": packet.packet, "packet_hash": hashes[1],
        "author": "drafter:statistical/1", "drafter": "drafter:statistical/1", "mode": "corrective", "inputs": [],
        "prompt_hash": "none", "cost": {}, "created_at": created,
    }  # fmt: skip
    evidence = [
        Evidence(
            namespace=space, id=f"{identity}-{place}", candidate_id=identity, number=1, episode_id=episode,
            step_ids=["5"], stance="counter" if place % 5 == 4 else "support", group_id=f"g{place}",
            stratum=f"orders/{place % 8}",
        ).model_dump()
        for place, episode in enumerate(chance.sample(cited[space], CITED))
    ] if number < READ else []  # fmt: skip
    conflict = Conflict(
        namespace=space, id=f"conflict-{number}", kind="contradiction", left_ref=f"candidate:{identity}",
        right_ref="rule:check-first@1", detail="they say the opposite", at=created,
    ).model_dump() if chance.random() < 0.01 else None  # fmt: skip
    return _Made(candidate, revision, evidence, conflict, packet.size)


@dataclass(frozen=True)
class _Packet:
    """A packet that many candidates share here, with its hash and its size in bytes: one each would take minutes."""

    packet: dict[str, Any]
    hash: str
    size: int


def _packet(chance: random.Random) -> _Packet:
    """A packet as nights write it, of about 6 kB."""
    strata = [
        {"stratum": f"orders/{number}", "success_with": chance.randint(0, 9), "success_without": chance.randint(0, 9),
         "failure_with": chance.randint(0, 9), "failure_without": chance.randint(0, 9)}
        for number in range(16)
    ]  # fmt: skip
    groups = [f"{chance.getrandbits(64):016x}" for _ in range(44)]
    verdicts = chance.choices(("pass", "warn", "fail"), (90, 9, 1), k=12)
    checks = [
        {"name": f"check {place}", "verdict": verdict, "fix": "Look at the runs that it names." if place % 2 else "",
         "detail": f"It was asked of all {chance.randint(20, 90)} runs that are cited, and of their steps."}
        for place, verdict in enumerate(verdicts)
    ]  # fmt: skip
    low = chance.uniform(0.01, 0.5)
    effect = {**factories.packet_for()["effect"], "odds_ratio": low * 2, "low": low, "high": low * 4}
    packet = factories.packet_for(
        strata=strata, checks=checks, effect=effect,
        evidence={"support": 34, "counter": 10, "independent_groups": 44, "principals": 2, "tainted": [], "stale": [],
                  "groups": {"support": groups[:34], "counter": groups[34:]}},
    )  # fmt: skip
    return _Packet(packet, content_hash(packet), len(orjson.dumps(packet)))


# The measurement


@dataclass
class Measured:
    """One page: times of the server in milliseconds, and bytes on the wire.

    ``decided`` are the times right after somebody decided: the counts are made again behind the page. ``anew`` are
    those where nothing of the queue's counts is remembered, as for the first who looks in five minutes.
    """

    what: str
    milliseconds: list[float] = field(default_factory=list)
    decided: list[float] = field(default_factory=list)
    anew: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    first_load: int = 0


class Timed:
    """An app that notes how long each answer took, from the request to the last byte given to the server."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.took: SimpleQueue[float] = SimpleQueue()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass on, and note."""
        began = time.perf_counter()
        await self.app(scope, receive, send)
        self.took.put(1e3 * (time.perf_counter() - began))


@contextmanager
def _served(database: Database) -> Iterator[tuple[Timed, str]]:
    """The real app on a socket of this machine."""
    with tempfile.TemporaryDirectory(prefix="slowwave-pages-home-") as home:
        settings = Settings(home=Path(home), secret_key=SecretStr("a key for benchmarks, 32 bytes.."))
        timed, port = Timed(create_app(settings, database, lambda: NOW)), free_port()
        server = uvicorn.Server(uvicorn.Config(timed, port=port, log_level="warning", lifespan="off"))
        settle_memory()
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield timed, f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join()


def _measure(database: Database, candidates: int, rounds: int, chance: random.Random) -> list[Measured]:
    with database.read() as session:
        read = session.execute(
            sa.select(sa.column("namespace"), sa.column("candidate_id")).select_from(sa.table("evidence")).distinct()
        ).all()
    deep = max(1, candidates // 50 * 9 // 10)
    pages: list[tuple[str, str, Callable[[], str]]] = [
        ("queue, first page", "all", lambda: "/queue"),
        ("queue, second page", "all", lambda: "/queue?page=2"),
        (f"queue, page {deep:,}", "all", lambda: f"/queue?page={deep}"),
        ("queue, one tier and kind", "all", lambda: "/queue?tier=high&kind=removal"),
        ("queue, failing checks", "all", lambda: "/queue?checks=failing"),
        ("queue, with a conflict", "all", lambda: "/queue?conflicts=yes"),
        ("queue, without a conflict", "all", lambda: "/queue?conflicts=no"),
        ("queue, of the last day", "all", lambda: "/queue?age=day"),
        ("queue, of one namespace", "all", lambda: f"/queue?namespace={chance.choice(SPACES)}"),
        ("queue, parked", "all", lambda: "/queue?state=parked"),
        *((f"queue, by {order}", "all", lambda order=order: f"/queue?sort={order}") for order in
          ("oldest", "newest", "reach", "doubts")),
        (f"queue, by doubts, page {deep:,}", "all", lambda: f"/queue?sort=doubts&page={deep}"),
        ("queue, a viewer of one namespace", "one", lambda: "/queue"),
        ("candidate", "all", lambda: "/candidates/{}/{}".format(*chance.choice(read))),
    ]  # fmt: skip
    with _served(database) as (timed, base):
        browsers = {name: _logged_in(timed, base, name) for name in ("all", "one")}
        found = [Measured(what) for what, _, _ in pages]
        for turn in range(rounds + 3):  # three that count for nothing: templates, connections, caches
            for one, (_, name, address) in zip(found, pages, strict=True):
                asked = address()
                timed.app.state.site.counts.forget()
                _, _, anew = _fetched(timed, browsers[name], asked)
                with database.write() as session:
                    audit.record(session, actor="user:all", action="rejected", namespace=ALONE, now=NOW)
                _, _, decided = _fetched(timed, browsers[name], asked)
                timed.app.state.site.counts.settle()
                size, text, took = _fetched(timed, browsers[name], asked)
                if turn >= 3:
                    one.anew.append(anew)
                    one.decided.append(decided)
                    one.milliseconds.append(took)
                    one.sizes.append(size)
                elif turn == 0:
                    one.first_load = size + _assets(timed, browsers[name], text)
        for browser in browsers.values():
            browser.close()
    return found


def _logged_in(timed: Timed, base: str, name: str) -> httpx.Client:
    browser = httpx.Client(base_url=base, headers={"origin": base, "accept-encoding": "gzip"}, timeout=60)
    form = fields(_fetched(timed, browser, "/login")[1], "/login") | {"name": name, "secret": factories.PASSWORD}
    answer = browser.post("/login", data=form)
    timed.took.get()
    assert answer.status_code == 303, (name, answer.status_code)
    return browser


def _fetched(timed: Timed, browser: httpx.Client, address: str) -> tuple[int, str, float]:
    """Bytes of the body on the wire, the page, and how long the server took: it ends after the last byte came."""
    answer = browser.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    return answer.num_bytes_downloaded, answer.text, timed.took.get()


def _assets(timed: Timed, browser: httpx.Client, page: str) -> int:
    """Bytes of everything that a browser loads with a page."""
    names = sorted(set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page)))
    return sum(_fetched(timed, browser, name)[0] for name in names)


def _tell(found: Sequence[Measured]) -> None:
    print(f"  {'':34} {'remembered':>17}   {'after a decision':>17}   {'counted anew':>17}")
    heads = f" {'median':>8} {'p95':>8}  " * 3
    print(f"  {'page':34}{heads} {'HTML':>8} {'first load':>11}   (times in ms)")
    for one in found:
        size, first = max(one.sizes) / 1e3, one.first_load / 1e3
        times = (one.milliseconds, one.decided, one.anew)
        within = max(map(_p95, times)) < MOST_MS and first < MOST_KB
        figures = "".join(f" {statistics.median(each):8.1f} {_p95(each):8.1f}  " for each in times)
        print(f"  {one.what:34}{figures} {size:5.1f} KB {first:8.1f} KB{'' if within else '   OVER'}")
    print(f"  wanted: p95 under {MOST_MS:.0f} ms, first load under {MOST_KB:.0f} KB")


def _p95(times: Sequence[float]) -> float:
    return sorted(times)[min(len(times) - 1, int(0.95 * len(times)))]


if __name__ == "__main__":
    main()
