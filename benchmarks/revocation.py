"""How long a revocation takes to reach every reader, beside what is promised: ``python benchmarks/revocation.py``.

On SQLite and on PostgreSQL, each in a stack of its own: drills with real clients under each condition, and a thousand
subscribers of ``GET /v1/events``, played by one process on plain sockets. Times are from the moment before the commit.
Readers share processes, 50 to each, and everything shares this machine: a client on a machine of its own waits less.
The last column is how many processes wanted to run over the last minute: with more than there are cores, a figure tells
of the others too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from storage.engine import Database  # noqa: E402
from tasks.revoke import drill_step  # noqa: E402
from tasks.revoke.drill import CONDITIONS, spread  # noqa: E402
from tasks.revoke.step import revoke  # noqa: E402
from worker.drill import Plan, commits_of, run, temporary_home  # noqa: E402
from worker.drill_stack import Stack, settings_of  # noqa: E402

SPACE = "slowwave/drill"
SUBSCRIBERS_P99 = 1.0
OPENED_AT_ONCE = 50
WAIT_SECONDS = 30.0
ROUNDS = 5


def main() -> None:
    """Measure, print a table, end with 1 where a figure is missed."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--readers", type=int, default=200)
    asked.add_argument("--subscribers", type=int, default=1000, help="0 leaves them out")
    asked.add_argument("--conditions", default=",".join(CONDITIONS), help="with commas; empty leaves the drills out")
    asked.add_argument("--during", default="", choices=("", "ingest", "night"))
    asked.add_argument("--lease", type=float, default=15.0)
    asked.add_argument("--only", choices=("sqlite", "postgresql"))
    asked.add_argument("--play", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.play:
        asyncio.run(_play(**json.loads(given.play)))
        return
    print(f"{given.readers} readers, {given.subscribers} subscribers, lease {given.lease:g} s, {os.cpu_count()} cores")
    heads = ("database", "condition", "p50", "p95", "p99", "max", "wanted")
    print("{:<11} {:<22} {:>7} {:>7} {:>7} {:>7}  {}".format(*heads))
    missed = 0
    for kind in ("sqlite", "postgresql"):
        if given.only in (None, kind):
            for condition in filter(None, given.conditions.split(",")):
                with _database(kind) as url:
                    missed += _drill(kind, url, condition, given)
            if given.subscribers:
                with _database(kind) as url:
                    missed += _subscribers(kind, url, given.subscribers)
    sys.exit(1 if missed else 0)


def _drill(kind: str, url: str | None, condition: str, given: argparse.Namespace) -> bool:
    plan = Plan(given.readers, condition, SPACE, given.during, url, given.lease)
    outcome = run(plan, lambda _: None)
    found = outcome.findings
    told = condition in ("connected", "redis-down")
    wanted = f"p99 < {found.limit_seconds:g} s" if told else f"max <= lease {given.lease:g} s"
    name = condition + (f" in {given.during}" if given.during else "")
    _row(kind, name, found.refused if told else found.served, wanted, found.passed)
    for wrong in found.wrong:
        print(f"{'':<12}{wrong}")
    if outcome.overlapped is False:
        print(f"{'':<12}the {given.during} was over before the revocation: more episodes are needed to tell")
    return not found.passed


def _row(kind: str, name: str, figures: dict[str, float], wanted: str, is_met: bool) -> None:
    cells = " ".join(f"{figures.get(each, float('nan')):7.3f}" for each in ("p50", "p95", "p99", "max"))
    verdict = f"{wanted}: {'met' if is_met else 'MISSED'}"
    print(f"{kind:<11} {name:<22} {cells}  {verdict:<28} load {os.getloadavg()[0]:.1f}", flush=True)


def _subscribers(kind: str, url: str | None, count: int) -> bool:
    """Several revocations, each of which every open stream has to hear of; latencies of all together."""
    with temporary_home() as home:
        settings = settings_of(home, url, 15.0)
        database = Database(settings.resolved_database_url)
        with Stack(settings, database, SPACE) as stack:
            latencies, lost = _revoke_before(stack, database, count)
        database.dispose()
    figures = spread(latencies)
    is_met = not lost and bool(figures) and figures["p99"] < SUBSCRIBERS_P99
    _row(kind, f"{count} subscribers", figures, f"p99 < {SUBSCRIBERS_P99:g} s", is_met)
    if lost:
        print(f"{'':<12}{lost} events were not heard within {WAIT_SECONDS:g} s")
    return not is_met


def _revoke_before(stack: Stack, database: Database, count: int) -> tuple[list[float], int]:
    secret, namespace = stack.settings.secret(), f"{SPACE}/subscribers"
    canaries = [
        drill_step.plant(database, namespace, now=datetime.now(UTC), secret=secret, name=str(number))
        for number in range(ROUNDS)
    ]
    token = drill_step.reader_token(database, namespace, datetime.now(UTC))
    orders = {"port": stack.settings.port, "token": token, "namespace": namespace, "count": count}
    player = subprocess.Popen(
        [sys.executable, __file__, "--play", json.dumps(orders)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert player.stdin is not None
    assert player.stdout is not None
    latencies: list[float] = []
    try:
        assert player.stdout.readline().strip() == "ready", "the subscribers could not connect"
        for canary in canaries:
            time.sleep(1.0)
            with commits_of(database) as commits:
                done = revoke(
                    database, namespace, canary.rule_id, reason="bench", actor=canary.reviewer, now=datetime.now(UTC),
                    secret=secret,
                )  # fmt: skip
            player.stdin.write(f"{done.epoch}\n")
            player.stdin.flush()
            latencies += [at - commits[-1] for at in json.loads(player.stdout.readline())]
    finally:
        player.stdin.close()
        player.wait(30)
    return latencies, count * ROUNDS - len(latencies)


async def _play(port: int, token: str, namespace: str, count: int) -> None:
    """The other process: open streams, and for each epoch asked about tell when each of them heard of it."""
    soft = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 65_536)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    heard: dict[int, list[float]] = {}
    gate, ready = asyncio.Semaphore(OPENED_AT_ONCE), [asyncio.Event() for _ in range(count)]
    request = (
        f"GET /v1/events?namespace={namespace} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Authorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n"
    ).encode()
    streams = [asyncio.create_task(_stream(port, request, gate, each, heard)) for each in ready]
    await asyncio.gather(*(each.wait() for each in ready))
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        end = time.monotonic() + WAIT_SECONDS
        while len(heard.get(int(line), [])) < count and time.monotonic() < end:
            await asyncio.sleep(0.02)
        print(json.dumps(heard.get(int(line), [])), flush=True)
    for stream in streams:
        stream.cancel()


async def _stream(
    port: int, request: bytes, gate: asyncio.Semaphore, ready: asyncio.Event, heard: dict[int, list[float]]
) -> None:
    async with gate:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        while b"event: hello" not in await reader.readline():
            pass
    ready.set()
    is_change = False
    while line := await reader.readline():
        if line.startswith(b"event:"):
            is_change = line.startswith(b"event: changes")
        elif is_change and line.startswith(b"id:"):
            heard.setdefault(int(line[3:].split(b"-")[0]), []).append(time.monotonic())


@contextmanager
def _database(kind: str) -> Iterator[str | None]:
    """An empty database: a server of its own for PostgreSQL, made for this run; None stands for SQLite."""
    if kind == "sqlite":
        yield None
        return
    from support.servers import PostgresServer, short_folder

    folder = short_folder()
    server = PostgresServer(folder)
    try:
        yield server.start().create("drills")
    finally:
        server.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
