"""A run is watched live: the stream tells each step, ends with the run, refuses strangers, and never hangs a stop."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import uvicorn
from pydantic import SecretStr

from read_api.server import StreamServer
from review_ui.access import COOKIE, close_session
from review_ui.app import create_app
from review_ui.watch import Watcher
from slowwave_client._impl.sse import EventParser
from storage.engine import Database
from storage.ids import token_hash
from storage.ledger import add_steps, claim_next, complete
from storage.runs import close_run, insert_run
from storage.settings import Settings
from storage.tables import Run
from support import factories
from support.processes import free_port, wait_until
from support.review_pages import SPACE, log_in
from worker.local_app import Which, make_server

OTHER = "acme/travel"
Events = Iterator[tuple[str, dict[str, Any]]]


@dataclass
class Site:
    """A real server of the review pages, and what a test does with it."""

    url: str
    server: StreamServer
    thread: threading.Thread
    watcher: Watcher
    database: Database
    app: Any

    @contextmanager
    def person(self, name: str, *namespaces: str) -> Iterator[httpx.Client]:
        """A browser in which somebody is logged in."""
        _, token = factories.make_person(self.database, name, datetime.now(UTC), namespaces=namespaces)
        with httpx.Client(base_url=self.url, headers={"origin": self.url}, timeout=20) as browser:
            assert log_in(browser, name, token).status_code == 303
            yield browser

    def stop(self) -> None:
        """Tell the server to stop, and wait until it did."""
        self.server.should_exit = True
        self.thread.join(timeout=20)
        assert not self.thread.is_alive(), "the server did not stop"


@contextmanager
def running(server: StreamServer, **parts: Any) -> Iterator[Site]:
    thread = threading.Thread(target=server.run, name="test-review")
    thread.start()
    site = Site(f"http://127.0.0.1:{server.config.port}", server, thread, **parts)
    try:
        wait_until("the server listens", lambda: server.started, seconds=20)
        yield site
    finally:
        site.stop()


@pytest.fixture
def settings(tmp_path: Path, secret: bytes) -> Settings:
    """Settings whose Redis is nowhere."""
    return Settings(home=tmp_path, secret_key=SecretStr(secret.decode()), redis_url="redis://127.0.0.1:1/0")


@contextmanager
def serving(settings: Settings, database: Database, **limits: Any) -> Iterator[Site]:
    watcher = Watcher(database, poll_seconds=0.02, **limits)
    app = create_app(settings, database, watcher=watcher)
    config = uvicorn.Config(app, host="127.0.0.1", port=free_port(), log_level="warning", lifespan="on", ws="none")
    with running(StreamServer(config, watcher), watcher=watcher, database=database, app=app) as site:
        yield site


@pytest.fixture
def site(settings: Settings, database: Database) -> Iterator[Site]:
    """The review pages."""
    with serving(settings, database) as made:
        yield made


@pytest.fixture
def run_id(database: Database) -> str:
    """A night with two steps to do."""
    factories.make_namespace(database, SPACE, datetime.now(UTC))
    with database.write() as session:
        run = insert_run(
            session, namespace=SPACE, kind="night", key="2026-11-30", requested_by="test", now=datetime.now(UTC)
        )
        add_steps(session, run, "contrast", ["orders", "travel"])
        return run.id


def do_a_step(database: Database, run_id: str) -> None:
    with database.write() as session:
        claim = claim_next(session, owner="test", lease_seconds=60, run_id=run_id)
    assert claim is not None
    with database.write() as session:
        complete(session, claim, {})


def close(database: Database, run_id: str) -> None:
    with database.write() as session:
        close_run(session, session.get_one(Run, run_id), state="completed", stats={}, problems=[])


@contextmanager
def stream(browser: httpx.Client, run_id: str) -> Iterator[Events]:
    """An open stream as (kind, data)."""
    with browser.stream("GET", f"/runs/{run_id}/events") as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        parser = EventParser()
        yield ((e.kind, orjson.loads(e.data)) for chunk in answer.iter_raw() for e in parser.feed(chunk) if e.data)


def test_a_stream_tells_each_step_and_ends_with_the_run(site: Site, database: Database, run_id: str) -> None:
    with site.person("rosa") as rosa, stream(rosa, run_id) as events:
        kind, data = next(events)
        assert (kind, data["done"], data["total"], data["state"]) == ("progress", 0, 2, "running")
        do_a_step(database, run_id)
        told = next(data for kind, data in events if data["done"] == 1)
        assert 0 < told["percent"] < 100
        close(database, run_id)
        assert next(event for event in events if event[0] == "end")[1]["state"] == "completed"
        assert list(events) == []


def test_a_stream_of_a_closed_run_is_its_end(site: Site, database: Database, run_id: str) -> None:
    close(database, run_id)
    with site.person("rosa") as rosa, stream(rosa, run_id) as events:
        assert [(kind, data["percent"]) for kind, data in events] == [("end", 100)]


def test_one_thread_watches_for_all_and_only_while_somebody_does(site: Site, database: Database, run_id: str) -> None:
    def watchers() -> int:
        return sum(thread.name == "slowwave-watcher" for thread in threading.enumerate())

    assert watchers() == 0
    with site.person("rosa") as rosa, site.person("otto") as otto:
        with stream(rosa, run_id) as one, stream(otto, run_id) as two:
            assert next(one)[0] == next(two)[0] == "progress"
            assert (site.watcher.watched, watchers()) == (2, 1)
            close(database, run_id)
            assert [list(events)[-1][0] for events in (one, two)] == ["end", "end"]
        wait_until("nobody watches", lambda: (site.watcher.watched, watchers()) == (0, 0), seconds=20)


def test_strangers_are_refused_before_a_stream_begins(site: Site, run_id: str) -> None:
    nobody = httpx.get(f"{site.url}/runs/{run_id}/events", follow_redirects=False)
    assert (nobody.status_code, nobody.headers["location"].partition("?")[0]) == (303, "/login")
    factories.make_namespace(site.database, OTHER, datetime.now(UTC))
    with site.person("otto", OTHER) as otto:
        refused = otto.get(f"/runs/{run_id}/events")
        assert refused.status_code == otto.get("/runs/nowhere/events").status_code == 404
        assert SPACE not in refused.text
    assert site.watcher.watched == 0


def test_a_session_that_ends_loses_its_stream(settings: Settings, database: Database, run_id: str) -> None:
    with (
        serving(settings, database, grants_seconds=0) as site,
        site.person("rosa") as rosa,
        stream(rosa, run_id) as events,
    ):
        assert next(events)[0] == "progress"
        close_session(site.app.state.site, token_hash(rosa.cookies[COOKIE]))
        assert list(events) == []


@pytest.mark.parametrize(("limits", "status", "said"), [
    ({"most_of_one": 1}, 429, "You watch 1 run in other windows already."),
    ({"most": 1}, 503, "As many people watch runs here as may."),
])  # fmt: skip
def test_one_stream_too_many_is_refused_with_words(
    settings: Settings, database: Database, run_id: str, limits: dict[str, int], status: int, said: str
) -> None:
    with serving(settings, database, **limits) as site, site.person("rosa") as rosa, stream(rosa, run_id) as events:
        next(events)
        refused = rosa.get(f"/runs/{run_id}/events")
        assert refused.status_code == status
        assert said in refused.text
        assert site.watcher.watched == 1


@pytest.mark.parametrize("which", ["review", "both"])
def test_a_server_that_stops_ends_its_streams_and_does_not_wait_for_them(
    settings: Settings, database: Database, run_id: str, which: Which
) -> None:
    server = make_server(settings, database, which, host="127.0.0.1", port=free_port())
    server.config.timeout_graceful_shutdown = 60  # a stop that waited for streams would be seen
    with (
        running(server, watcher=None, database=database, app=None) as site,
        site.person("rosa") as rosa,
        stream(rosa, run_id) as events,
    ):
        assert next(events)[0] == "progress"
        site.stop()
        assert list(events) == [], "ended as a stream ends, and not cut off"
