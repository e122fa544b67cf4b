"""The review pages over a real store, and browsers that are logged in.

What a page shows does not hang on the database under it. So a test of a page runs on one of the two, told by its name
so that it is the same one each time; the files that ask queries of their own, and the walk over all pages, run on both.
``SLOWWAVE_BOTH=1`` runs everything on both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from zlib import crc32

import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.testclient import TestClient

from review_ui.app import create_app
from storage.engine import Database
from storage.settings import Settings
from support import factories
from support.review_pages import ORIGIN, SPACE, Browse, Clock, log_in

ON_BOTH = frozenset({
    "test_audit_page.py", "test_events.py", "test_hostile_text.py", "test_people.py", "test_queue.py", "test_races.py",
    "test_rule_page.py",
})  # fmt: skip


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the other database of each test of a page."""
    left_out = [] if os.environ.get("SLOWWAVE_BOTH") else [item for item in items if _is_left_out(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def _is_left_out(item: pytest.Item) -> bool:
    if item.path.parent != Path(__file__).parent or item.path.name in ON_BOTH:
        return False
    database = getattr(item, "callspec", None) and item.callspec.params.get("database")  # type: ignore[attr-defined]
    name = item.nodeid.replace("sqlite", "").replace("postgres", "")
    return database is not None and database != ("sqlite", "postgres")[crc32(name.encode()) % 2]


@pytest.fixture
def clock(now: datetime) -> Clock:
    """The app's clock."""
    return Clock(now)


@pytest.fixture
def app(database: Database, tmp_path: Path, secret: bytes, clock: Clock) -> FastAPI:
    """The review pages."""
    settings = Settings(home=tmp_path, secret_key=SecretStr(secret.decode()))
    factories.make_namespace(database, SPACE, clock())
    return create_app(settings, database, clock)


@pytest.fixture
def anonymous(app: FastAPI) -> Iterator[TestClient]:
    """A browser in which nobody is logged in."""
    with TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False) as browser:
        yield browser


@pytest.fixture
def browse(app: FastAPI, database: Database, clock: Clock) -> Iterator[Browse]:
    """Makes an account and a browser in which it is logged in."""
    with ExitStack() as stack:

        def make(name: str = "rosa", role: str = "reviewer", namespaces: tuple[str, ...] = ()) -> TestClient:
            _, token = factories.make_person(database, name, clock(), role=role, namespaces=namespaces)
            browser = stack.enter_context(
                TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False)
            )
            answer = log_in(browser, name, token)
            assert answer.status_code == 303, answer.text
            return browser

        yield make
