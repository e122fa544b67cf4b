"""What a cache hit of the client costs, beside a plain dict lookup and a GET of a local Redis, in one run.

    python benchmarks/client.py
    python benchmarks/client.py --hits 200000 --limit 20

A hit is measured through the public door, ``session.rules(task, environment)``: the lease is looked at, the grant, and
the read is journalled. The client reads from a real server of this checkout over a SQLite store; Redis is the bundled
server, asked over a Unix socket and over loopback for an answer of the same size, decoded from JSON. Figures are
medians and 99th percentiles of single calls, in microseconds. Exit code 1 if the median of a hit is over ``--limit``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import redis  # noqa: E402 - the path above comes first
import uvicorn  # noqa: E402

from read_api.app import create_app  # noqa: E402
from read_api.notifier import Notifier  # noqa: E402
from read_api.server import StreamServer  # noqa: E402
from slowwave_client import Memory, RuleSet  # noqa: E402
from storage import migrate  # noqa: E402
from storage.engine import Database  # noqa: E402
from storage.people import add_token  # noqa: E402
from storage.settings import Settings  # noqa: E402
from support import factories  # noqa: E402
from support.processes import free_port, wait_until  # noqa: E402
from support.promoting import make_rule  # noqa: E402
from support.servers import RedisServer, short_folder  # noqa: E402

SPACE = "acme/shop"
TASK = "the customer wants to cancel an order that may have shipped"
ENVIRONMENT = {"orders-api": "3.2", "shop": "2.1"}


@dataclass(frozen=True)
class Cost:
    """Microseconds of single calls."""

    median: float
    high: float


def measure(call: Callable[[], object], times: int) -> Cost:
    """Single calls, less what an empty call costs by the same measure."""
    return _less(_timed(call, times), _timed(lambda: None, times))


def _timed(call: Callable[[], object], times: int) -> Cost:
    for _ in range(min(times, 2000)):
        call()
    clock, costs = time.perf_counter_ns, []
    for _ in range(times):
        began = clock()
        call()
        costs.append(clock() - began)
    costs.sort()
    return Cost(costs[len(costs) // 2] / 1000, costs[int(len(costs) * 0.99)] / 1000)


def _less(cost: Cost, empty: Cost) -> Cost:
    return Cost(max(cost.median - empty.median, 0.001), max(cost.high - empty.median, 0.001))


@contextmanager
def serving(folder: Path, rules: int) -> Iterator[tuple[str, str]]:
    """A real server over a store with some active rules; its address and a token."""
    database = Database(f"sqlite:///{folder}/slowwave.db")
    migrate.upgrade(database)
    token = _fill(database, rules)
    settings = Settings(home=folder, redis_url="redis://127.0.0.1:1/0", secret_key="k" * 40)
    notifier = Notifier(database)
    app = create_app(settings, database, notifier)
    port = free_port()
    server = StreamServer(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", ws="none"), notifier)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until("the server listens", lambda: server.started, seconds=20)
        yield f"http://127.0.0.1:{port}", token
    finally:
        server.should_exit = True
        thread.join(timeout=15)
        database.dispose()


def _fill(database: Database, rules: int) -> str:
    now = datetime.now(UTC)
    factories.make_namespace(database, SPACE, now)
    for number in range(rules):
        make_rule(database, SPACE, f"rule-{number}", now, when_to_use=f"Before cancelling order kind {number}")
    with database.write() as session:
        _, token = add_token(session, role="agent", namespaces=("acme",), now=now)
    return token


def costs(url: str, token: str, server: RedisServer, hits: int, k: int) -> dict[str, Cost]:
    """What each way costs, by its name."""
    with Memory(url, token, SPACE) as memory:
        memory.wait_until_connected(timeout=10)
        with memory.session("run-1", agent="clerk") as session:
            answer = session.rules(TASK, ENVIRONMENT, k=k)
            assert len(answer) == k
            found = {"client hit": measure(lambda: session.rules(TASK, ENVIRONMENT, k=k), hits)}
            assert session.rules(TASK, ENVIRONMENT, k=k) is answer, "these were not hits"
    return found | _beside(answer, server, hits)


def _beside(answer: RuleSet, server: RedisServer, hits: int) -> dict[str, Cost]:
    plain = {(TASK, tuple(sorted(ENVIRONMENT.items()))): answer}
    flat = [(rule.id, rule.version, rule.when_to_use, rule.guidance) for rule in answer]
    found = {"plain dict": measure(lambda: plain[TASK, tuple(sorted(ENVIRONMENT.items()))], hits)}
    for name, url in (("Redis GET, Unix socket", server.socket_url), ("Redis GET, loopback", server.url)):
        with redis.Redis.from_url(url) as store:
            store.set("answer", json.dumps(flat))
            found[name] = measure(lambda store=store: json.loads(store.get("answer")), max(hits // 20, 500))  # type: ignore[misc]
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hits", type=int, default=50_000)
    parser.add_argument("--rules", type=int, default=5, help="rules in an answer")
    parser.add_argument("--limit", type=float, default=20.0, help="microseconds that a hit may cost at the median")
    asked = parser.parse_args()
    folder, redis_folder = short_folder(), short_folder()
    server = RedisServer(redis_folder).start()
    try:
        with serving(folder, asked.rules) as (url, token):
            found = costs(url, token, server, asked.hits, asked.rules)
    finally:
        server.stop()
        shutil.rmtree(folder)
        shutil.rmtree(redis_folder)
    hit = found["client hit"]
    print(f"{asked.hits} hits of {asked.rules} rules each; microseconds")
    print(f"{'':24}{'median':>10}{'p99':>10}{'hit is':>12}")
    for name, cost in found.items():
        print(f"{name:24}{cost.median:10.2f}{cost.high:10.2f}{hit.median / cost.median:10.3g} x")
    sys.exit(hit.median > asked.limit)


if __name__ == "__main__":
    main()
