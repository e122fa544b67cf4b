"""Whole nights with a model drafter: a real endpoint over HTTP, the real pipeline, both databases."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from storage.engine import Database
from storage.tables import Run
from support.model_nights import KEY, NOW, SECRET, Nights
from support.model_server import ModelServer
from tasks import pipeline
from tasks.context import PipelineSettings
from tasks.draft.model.budget import Drafting
from tasks.ingest.step import ingest_records
from tasks.pipeline import Worker
from worker.models.patience import Patient
from worker.models.wires import AnthropicWire, Endpoint, OpenAIWire


@pytest.fixture(params=["openai"])
def model(request: pytest.FixtureRequest, model_server: ModelServer) -> Iterator[Patient]:
    if request.param == "openai":
        wire: Any = OpenAIWire(Endpoint(f"{model_server.url}/v1", "m", KEY))
    else:
        wire = AnthropicWire(Endpoint(model_server.url, "m", KEY))
    yield Patient(f"{request.param}/m", wire, 30, pause=lambda _: None)
    wire._client.close()


@pytest.fixture
def at_night(database: Database, model: Patient) -> Nights:
    def running(number: int = 0, night: str | None = None, steps: Any = None, **drafting: Any) -> Run:
        now = NOW + timedelta(days=number)
        settings = PipelineSettings(drafting=Drafting("model", **drafting))
        worker = Worker("test", SECRET, clock=lambda: now, retry_seconds=0, settings=settings, model=model)
        if steps is not None:
            worker = replace(worker, steps=steps)
        run = pipeline.open_run(database, "lab", night or now.date().isoformat(), "test", now)
        return pipeline.drive(database, run.id, worker)

    return running


@pytest.fixture
def empty_copy(migrated_sqlite_file: Any, tmp_path: Any) -> Iterator[Database]:
    """A second store, for the run that nothing went wrong in."""

    shutil.copy(migrated_sqlite_file, tmp_path / "clean.db")
    store = Database(f"sqlite:///{tmp_path / 'clean.db'}")
    yield store
    store.dispose()


@pytest.fixture
def bring(database: Database) -> Any:
    """Bring records into this store, or another one."""

    def bringing(records: list[dict[str, Any]], **options: Any) -> Any:
        store = options.pop("database", database)
        body = io.BytesIO(b"".join(json.dumps(each).encode() + b"\n" for each in records))
        return ingest_records(store, body, "lab", **({"principal": "ops", "now": NOW, "secret": SECRET} | options))

    return bringing
