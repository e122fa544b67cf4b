"""kill -9 of a web process in the middle of searches: whatever an agent got has its row."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import httpx
import pytest
from sqlmodel import select

from storage.engine import Database
from storage.people import add_token
from storage.tables import CacheGrant, ClientSession, Exposure
from support import factories
from support.full import FULL
from support.local import Home, wait_until_ready
from support.processes import Child, free_port, wait_until
from support.promoting import make_rule

KILLS = 10 if FULL else 2
AGENTS = 4
SPACE = "acme/shop"
NAMES = ("alpha", "beta", "gamma")

Got = tuple[str, str, str, int]
"""Session, client instance, rule, version."""

pytestmark = pytest.mark.processes


@pytest.fixture(params=["sqlite", "postgres"] if FULL else ["sqlite"])
def store(request: pytest.FixtureRequest, home: Home, migrated_sqlite_file: Path) -> Iterator[Database]:
    """A store with three active rules."""
    if request.param == "sqlite":
        shutil.copy(migrated_sqlite_file, home.folder / "slowwave.db")
    else:
        home.settings["SLOWWAVE_DATABASE_URL"] = request.getfixturevalue("postgres_url")
    database = home.database()
    now = datetime.now(UTC)
    factories.make_namespace(database, SPACE, now)
    for name in NAMES:
        make_rule(database, SPACE, name, now, when_to_use=f"Before cancelling an order: {name}")
    yield database
    database.dispose()


@pytest.fixture
def token(store: Database) -> str:
    with store.write() as session:
        return add_token(session, role="agent", namespaces=("acme",), now=datetime.now(UTC))[1]


def test_whatever_was_served_before_a_crash_has_its_exposure_and_its_grant(
    home: Home, store: Database, token: str
) -> None:
    port = free_port()
    home.settings |= {"SLOWWAVE_PORT": str(port), "SLOWWAVE_REDIS_URL": "redis://127.0.0.1:1/0"}
    got: list[Got] = []
    for seed in range(KILLS):
        after = Random(seed).randint(5, 40)
        web = home.start("web", "--app", "read", name="web")
        try:
            wait_until_ready(f"http://127.0.0.1:{port}", web)
            fresh = searched_until_killed(f"http://127.0.0.1:{port}", token, web, seed, after)
        finally:
            web.kill()
        print(f"seed {seed}: kill -9 after {after} answers; {len(fresh) // len(NAMES)} had arrived")
        assert len(fresh) >= after * len(NAMES)
        got += fresh
    exposed, granted, tied = rows(store)
    assert {(session, rule, version) for session, _, rule, version in got} <= exposed
    assert {(instance, rule, version) for _, instance, rule, version in got} <= granted
    assert {(session, instance) for session, instance, _, _ in got} <= tied


def searched_until_killed(url: str, token: str, web: Child, seed: int, after: int) -> list[Got]:
    """What agents got that search without a pause, while the server dies under them after so many answers."""
    got: list[Got] = []
    dead = threading.Event()

    def search(agent: int) -> None:
        instance = f"cache-{seed}-{agent}"
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=10) as http:
            for number in range(10_000):
                if dead.is_set():
                    return
                session = f"run-{seed}-{agent}-{number}"
                asked = {"namespace": SPACE, "task": "cancel", "session_id": session, "client_instance": instance}
                try:
                    answer = http.post("/v1/rules/search", json=asked)
                except httpx.TransportError:
                    return
                assert answer.status_code == 200, answer.text
                got.extend((session, instance, one["id"], one["version"]) for one in answer.json()["rules"])

    with ThreadPoolExecutor(AGENTS) as pool:
        agents = [pool.submit(search, agent) for agent in range(AGENTS)]
        try:
            wait_until(f"{after} answers", lambda: len(got) >= after * len(NAMES), seconds=30, alive=web)
        finally:
            web.kill()
            dead.set()
        for agent in agents:
            agent.result()
    return got


def rows(database: Database) -> tuple[set[tuple[str, str, int]], set[tuple[str, str, int]], set[tuple[str, str]]]:
    """Exposures by session, grants by client instance, and which session is tied to which instance."""
    with database.read() as session:
        exposures, grants = session.exec(select(Exposure)).all(), session.exec(select(CacheGrant)).all()
        ties = session.exec(select(ClientSession)).all()
    return (
        {(row.session_id, row.rule_id, row.version) for row in exposures},
        {(row.client_instance, row.rule_id, row.version) for row in grants},
        {(row.session_id, row.client_instance) for row in ties},
    )
