"""The review pages served for real over a store that has something on every page, for tests in a browser."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.testclient import TestClient

from review_ui.app import create_app
from storage.engine import Database
from storage.settings import Settings
from support import factories
from support.processes import free_port, wait_until
from support.review_pages import ORIGIN, SPACE, Clock, log_in
from support.stocked import Said, fill
from support.tour import Tour

NOW = datetime(2026, 11, 30, 20, 5, tzinfo=UTC)
"""The clock of the app: a time whose date is another one further east."""


@dataclass(frozen=True)
class Served:
    """A running app. ``paths``: every address of the tour, with the status of its answer."""

    url: str
    name: str
    secret: str
    database: Database
    paths: dict[str, int]


@contextmanager
def listening(app: FastAPI) -> Iterator[str]:
    """A real server on loopback, in a thread of its own; gives its address."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run, name="review-pages")
    thread.start()
    try:
        wait_until("the pages answer", lambda: server.started, seconds=20)
        yield f"http://127.0.0.1:{port}"
    finally:
        app.state.watcher.end_streams()
        server.should_exit = True
        thread.join(timeout=15)
        assert not thread.is_alive(), "the server did not stop"


@contextmanager
def served(folder: Path, migrated: Path, said: Said) -> Iterator[Served]:
    """The pages over a store that was walked through once, with some candidates that wait besides."""
    file = folder / "slowwave.db"
    shutil.copy(migrated, file)
    database = Database(f"sqlite:///{file}")
    settings = Settings(home=folder, secret_key=SecretStr("a secret for tests, 32 bytes long"))
    factories.make_namespace(database, SPACE, NOW)
    app = create_app(settings, database, Clock(NOW))
    paths = walked(app, database, said)
    for place in range(3, 7):
        content = factories.content_for(SPACE, when_to_use=f"{said.text} {place}", guidance=[said.text])
        factories.make_candidate(database, SPACE, f"cand-{place}", NOW, content=content, rank=float(place),
                                 evidence=[(f"ep-{place}", "support")])  # fmt: skip
        paths[f"/candidates/{SPACE}/cand-{place}"] = 200
    _, token = factories.make_person(database, "rosa", NOW)
    try:
        with listening(app) as url:
            yield Served(url, "rosa", token, database, paths)
    finally:
        database.dispose()


def walked(app: FastAPI, database: Database, said: Said) -> dict[str, int]:
    """Fill the store and walk the tour; every address with the status that it was answered with."""
    fill(database, NOW, said)
    found: dict[str, int] = {}

    def see(browser: TestClient, path: str, status: int) -> str:
        answer = browser.get(path)
        assert answer.status_code == status, path
        found[path] = status
        return answer.text

    guides = [TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False) for _ in range(3)]
    for browser, name, role in zip(guides, ("guide", "ada"), ("reviewer", "admin"), strict=False):
        _, token = factories.make_person(database, name, NOW, role=role)
        assert log_in(browser, name, token).status_code == 303
    Tour(database, NOW, said, *guides, see, lambda path, page: None).walk()
    return found
