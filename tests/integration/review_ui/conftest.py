"""The review pages over a real store, and browsers that are logged in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.testclient import TestClient

from review_ui.app import create_app
from storage.engine import Database
from storage.settings import Settings
from support import factories
from support.review_pages import ORIGIN, SPACE, Browse, Clock, log_in


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
