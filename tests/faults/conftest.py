"""A real broker, a real worker and a real beat on a store of its own, through pytest-celery's nodes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from storage.engine import Database
from storage.settings import Settings
from support import nights
from support.local import Home
from support.process_nodes import RedisProcess
from support.processes import Child
from support.servers import short_folder
from worker.app import make_app


@pytest.fixture(scope="session")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of episodes for one night."""
    return nights.write_episodes(tmp_path_factory.mktemp("episodes") / "travel.jsonl")


@pytest.fixture(scope="session")
def ingested(episodes: Path) -> Iterator[Path]:
    """A home folder with the night's episodes in its SQLite store, to copy."""
    home = Home(short_folder(), dict(nights.FAST))
    nights.take_in(home, episodes)
    yield home.folder
    shutil.rmtree(home.folder)


@pytest.fixture(scope="session")
def undisturbed(ingested: Path) -> Iterator[tuple[nights.Outcome, list[nights.StepTime]]]:
    """What the night comes to when nothing goes wrong, and how long each of its steps takes."""
    home = Home(short_folder(), dict(nights.FAST))
    shutil.copytree(ingested, home.folder, dirs_exist_ok=True)
    result = home.json("consolidate", "--namespace", nights.NAMESPACE, "--night", nights.NIGHT, "--local")
    assert result["state"] == "completed"
    database = home.database()
    found = nights.outcome(database)
    assert found.candidates, "a night without candidates compares nothing"
    yield found, nights.step_times(database)
    database.dispose()
    shutil.rmtree(home.folder)


@pytest.fixture(params=["sqlite"])
def store_url(request: pytest.FixtureRequest) -> str | None:
    """Which store the night runs on; None is the home folder's own."""
    return None if request.param == "sqlite" else request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def night_home(
    home: Home, store_url: str | None, default_redis_broker: RedisProcess, episodes: Path, ingested: Path
) -> Home:
    """A home folder with the night's episodes, whose broker is pytest-celery's node."""
    home.settings |= {**nights.FAST, "SLOWWAVE_REDIS_URL": default_redis_broker.host_url}
    if store_url is None:
        shutil.copytree(ingested, home.folder, dirs_exist_ok=True)
    else:
        home.settings["SLOWWAVE_DATABASE_URL"] = store_url
        nights.take_in(home, episodes)
    return home


@pytest.fixture
def night_store(night_home: Home) -> Iterator[Database]:
    """Its store, opened by the test."""
    database = night_home.database()
    yield database
    database.dispose()


@pytest.fixture
def beat(night_home: Home) -> Iterator[Child]:
    """A beat beside the worker."""
    child = night_home.start("beat", name="beat")
    yield child
    child.stop()


@pytest.fixture
def celery_backend_cluster() -> None:
    """Results are ignored: there is no backend."""


@pytest.fixture
def default_worker_command() -> list[str]:
    """The worker as an operator starts it."""
    return ["worker.cli", "worker", "--concurrency", "2"]


@pytest.fixture
def default_worker_env(night_home: Home) -> dict[str, str]:
    """The settings of its home."""
    return night_home.env


@pytest.fixture
def default_worker_initial_content() -> dict[str, Any]:
    """Nothing: the code under test is installed."""
    return {}


@pytest.fixture
def celery_setup_app(night_home: Home) -> Celery:
    """Our own application, pointed at the nodes."""
    return make_app(Settings(redis_url=night_home.settings["SLOWWAVE_REDIS_URL"]))


@pytest.fixture
def default_worker_app(celery_setup_app: Celery) -> Celery:
    """The same."""
    return celery_setup_app
