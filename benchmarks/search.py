"""What a search costs among 100,000 active rules: ``python benchmarks/search.py``.

A real server in a process of its own, over SQLite and over PostgreSQL, asked 100 times a second by another process on
plain sockets. Requests leave when they are due, whether the ones before were answered or not, and latency counts from
that moment: a queue is not hidden. Each request writes its exposures, and with ``client`` its grants and session too;
afterwards the rows are counted and compared with what was served. A rule is revoked every second, so that the index
moves forward. Beside it, in the same run and at the same rate, plain PostgreSQL full-text search over the same texts
(GIN, ts_rank, the same number of results), which writes nothing and is asked without HTTP.

    python benchmarks/search.py --rules 5000 --seconds 5       # a try
    python benchmarks/search.py --only postgresql

Exit code 1 if a 95th percentile is over ``--limit``, or exposures and answers differ.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import psutil  # noqa: E402 - the path above comes first
import psycopg  # noqa: E402
import sqlalchemy as sa  # noqa: E402

from benchmarks.search_rules import SPACE, contents, load, tasks  # noqa: E402
from storage import migrate, outbox  # noqa: E402
from storage.engine import Database  # noqa: E402
from storage.people import add_token  # noqa: E402
from storage.settings import Settings  # noqa: E402
from storage.tables import CacheGrant, Exposure  # noqa: E402
from storage.versions import move_versions  # noqa: E402
from support.processes import free_port, wait_until  # noqa: E402
from support.servers import PostgresServer, short_folder  # noqa: E402

K = 5


def serve(settings: dict[str, Any]) -> None:
    """The server's process: as the read API is started elsewhere."""
    import uvicorn

    from read_api.app import create_app
    from read_api.notifier import Notifier
    from read_api.server import StreamServer

    made = Settings(**settings)
    database = Database(made.resolved_database_url)
    notifier = Notifier(database)
    app = create_app(made, database, notifier)
    config = uvicorn.Config(app, host="127.0.0.1", port=made.port, log_level="warning", ws="none", access_log=False)
    StreamServer(config, notifier).run()


@contextmanager
def serving(folder: Path, url: str) -> Iterator[tuple[int, psutil.Process]]:
    """A server; its port and process."""
    port = free_port()
    settings = {"home": str(folder), "database_url": url, "redis_url": "redis://127.0.0.1:1/0", "port": port,
                "secret_key": "k" * 40}  # fmt: skip
    process = subprocess.Popen([sys.executable, __file__, "--serve", json.dumps(settings)])
    try:
        wait_until("the server listens", lambda: _listens(port), seconds=30)
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(30)


def _listens(port: int) -> bool:
    import socket

    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


class Connection:
    """One kept-open connection; answers are read by their length."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.head = port, f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n".encode()
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def post(self, body: bytes) -> tuple[int, bytes]:
        """Status and body."""
        if self.writer is None or self.writer.is_closing():
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        assert self.reader is not None
        self.writer.write(
            b"POST /v1/rules/search HTTP/1.1\r\n" + self.head
            + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )  # fmt: skip
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        return int(head.split(b" ", 2)[1]), await self.reader.readexactly(length)


async def ask(port: int, token: str, asked: Sequence[bytes], rate: float) -> dict[str, Any]:
    """Send each when it is due; latencies in milliseconds from that moment, and the versions that were served."""
    free = [Connection(port, token) for _ in range(4)]
    latencies, answers, failed = [], [], []

    async def one(body: bytes, due: float) -> None:
        connection = free.pop() if free else Connection(port, token)
        status, said = await connection.post(body)
        latencies.append((time.perf_counter() - due) * 1000)
        free.append(connection)
        (answers if status == 200 else failed).append(said)

    began, sent = time.perf_counter() + 0.1, []
    for number, body in enumerate(asked):
        due = began + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        sent.append(asyncio.create_task(one(body, due)))
    await asyncio.gather(*sent)
    served = sum(len(json.loads(said)["rules"]) for said in answers)
    return {"latencies": latencies, "served": served, "failed": [each.decode()[:300] for each in failed]}


def play(orders: dict[str, Any]) -> None:
    """The asking process."""
    gc.disable()
    bodies = []
    for number, task in enumerate(tasks(orders["count"])):
        body = {"namespace": SPACE, "task": task, "environment": {"shop": "2.1"}, "k": K, "agent": "clerk",
                "session_id": f"{orders['name']}-{number // 3}"}  # fmt: skip
        if orders["client"]:
            body["client_instance"] = f"{orders['name']}-cache-{number % 50}"
        bodies.append(json.dumps(body).encode())
    print(json.dumps(asyncio.run(ask(orders["port"], orders["token"], bodies, orders["rate"]))))


def _play(orders: dict[str, Any]) -> dict[str, Any]:
    told = subprocess.run(
        [sys.executable, __file__, "--play", json.dumps(orders)], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(told.stdout)
    return found


@contextmanager
def revoking(database: Database, first: int) -> Iterator[list[str]]:
    """One rule after the other, each second, from ``first`` on, of the families that are asked for."""
    stop, gone = threading.Event(), list[str]()

    def run() -> None:
        while not stop.wait(1.0):
            rule_id, now = f"rule-{first + 7 * len(gone):06}", datetime.now(UTC)
            with database.write() as session:
                epoch = outbox.lock_namespace(session, SPACE) + 1
                move_versions(session, SPACE, [(rule_id, 1)], to="revoked", reason="bench", epoch=epoch, now=now)
                outbox.publish(session, SPACE, [outbox.change("revoked", rule_id, 1)], now)
            gone.append(rule_id)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield gone
    finally:
        stop.set()
        thread.join()


def measure(kind: str, url: str, folder: Path, given: argparse.Namespace) -> bool:
    """One database: fill it, ask without and with a client's cache; prints a line each. True if a figure is missed."""
    database = Database(url)
    migrate.upgrade(database)
    load(database, given.rules, datetime.now(UTC))
    with database.write() as session:
        _, token = add_token(session, role="agent", namespaces=("acme",), now=datetime.now(UTC))
    missed = False
    with serving(folder, url) as (port, process):
        empty, began = process.memory_info().rss, time.perf_counter()
        orders = {"port": port, "token": token, "count": 1, "rate": given.rate, "name": "first", "client": False}
        first = _play(orders)
        built = time.perf_counter() - began
        held = (process.memory_info().rss - empty) / 2**20
        print(f"{kind:<11} index of {given.rules} rules: first answer {built:.1f} s, {held:.0f} MiB more", flush=True)
        _play(orders | {"count": int(given.rate), "name": "warm"})
        for number, client in enumerate((False, True)):
            name = f"client-{number}" if client else f"plain-{number}"
            orders |= {"count": int(given.rate * given.seconds), "name": name, "client": client}
            rows, used = _rows(database), sum(process.cpu_times()[:2])
            with revoking(database, number) as gone:
                found = _play(orders)
            busy = (sum(process.cpu_times()[:2]) - used) / given.seconds
            written, granted = (after - before for after, before in zip(_rows(database), rows, strict=True))
            wrong = written != found["served"] or granted != (written if client else 0) or bool(found["failed"])
            figures = row(kind, "grants too" if client else "exposures", found["latencies"])
            told = f"{written} exposures for {found['served']} served, {granted} grants, {len(gone)} revoked"
            print(f"{'':<11} {told}; server {busy:.0%} of a core", *found["failed"][:1], flush=True)
            missed |= wrong or figures > given.limit or not first["served"]
    database.dispose()
    return missed


def _rows(database: Database) -> tuple[int, int]:
    with database.read() as session:
        counted = [session.execute(sa.select(sa.func.count()).select_from(each)) for each in (Exposure, CacheGrant)]
        exposures, grants = (each.scalar_one() for each in counted)
        return exposures, grants


def full_text(server: PostgresServer, given: argparse.Namespace) -> None:
    """The same texts in plain PostgreSQL full-text search; the same tasks, any word of which may match."""
    server.create("plain")
    with psycopg.connect(host=str(server.folder), user="postgres", dbname="plain", autocommit=True) as connection:
        connection.execute("CREATE TABLE text (id text PRIMARY KEY, body text, words tsvector)")
        with connection.cursor().copy("COPY text (id, body) FROM STDIN") as copy:
            for rule_id, _, content in contents(given.rules):
                copy.write_row((rule_id, "\n".join([content["when_to_use"], *content["guidance"]])))
        connection.execute("UPDATE text SET words = to_tsvector('simple', body)")
        connection.execute("CREATE INDEX ON text USING gin (words)")
        connection.execute("VACUUM ANALYZE text")
        latencies, began = [], time.perf_counter()
        for number, task in enumerate(tasks(int(given.rate * given.seconds))):
            due = began + number / given.rate
            time.sleep(max(0.0, due - time.perf_counter()))
            words = " | ".join(dict.fromkeys(task.split()))
            connection.execute(
                "SELECT id, body, ts_rank(words, query) FROM text, to_tsquery('simple', %s) AS query "
                "WHERE words @@ query ORDER BY 3 DESC LIMIT %s", (words, K),
            ).fetchall()  # fmt: skip
            latencies.append((time.perf_counter() - due) * 1000)
            if time.perf_counter() - began > 2 * given.seconds:
                break  # it falls behind further and further
    row("postgresql", "full text alone", latencies)


def row(kind: str, name: str, latencies: Sequence[float]) -> float:
    """Print percentiles in milliseconds; returns the 95th."""
    ordered = sorted(latencies)
    figures = [ordered[min(len(ordered) - 1, int(len(ordered) * part))] for part in (0.5, 0.95, 0.99, 1)]
    cells = " ".join(f"{each:8.1f}" for each in figures)
    print(f"{kind:<11} {name:<16} {cells}  {len(ordered)} requests, load {os.getloadavg()[0]:.1f}", flush=True)
    return figures[1]


def main() -> None:
    """Measure, print, end with 1 where a figure is missed."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rules", type=int, default=100_000)
    asked.add_argument("--seconds", type=float, default=60)
    asked.add_argument("--rate", type=float, default=100, help="requests a second")
    asked.add_argument("--limit", type=float, default=25, help="milliseconds at the 95th percentile")
    asked.add_argument("--only", choices=("sqlite", "postgresql"))
    asked.add_argument("--serve", help=argparse.SUPPRESS)
    asked.add_argument("--play", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.serve:
        return serve(json.loads(given.serve))
    if given.play:
        return play(json.loads(given.play))
    print(f"{given.rules} rules, {given.rate:g} requests/s for {given.seconds:g} s, {os.cpu_count()} cores; in ms")
    print("{:<11} {:<16} {:>8} {:>8} {:>8} {:>8}".format("database", "", "p50", "p95", "p99", "max"))
    missed = False
    for kind in ("sqlite", "postgresql"):
        if given.only in (None, kind):
            folder = short_folder()
            server = PostgresServer(folder) if kind == "postgresql" else None
            try:
                url = server.start().create("search") if server else f"sqlite:///{folder}/slowwave.db"
                missed |= measure(kind, url, folder, given)
                if server is not None:
                    full_text(server, given)
            finally:
                if server is not None:
                    server.stop()
                shutil.rmtree(folder)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
