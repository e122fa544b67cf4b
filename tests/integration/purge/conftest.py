"""A store of its own for each purge, whose files may be looked through, and nights on which a model drafts."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from psycopg import sql
from sqlmodel import SQLModel

from storage import migrate
from storage.bodies import load_bodies
from storage.engine import Database
from storage.tables import Episode, Run
from support.model_nights import KEY, NOW, SECRET, Nights
from support.model_server import ModelServer
from support.reviewing import Desk
from support.servers import PostgresServer, short_folder
from tasks import pipeline
from tasks.context import PipelineSettings
from tasks.draft.model.budget import Drafting
from tasks.ingest.step import ingest_records
from tasks.pipeline import Worker
from worker.models.patience import Patient
from worker.models.wires import Endpoint, OpenAIWire


@dataclass
class Own:
    """A database that nobody else uses, and where its files are."""

    database: Database
    folder: Path
    server: PostgresServer | None = None

    def rows(self, word: str) -> set[str]:
        """Tables that hold a word, in whatever case: bodies are opened, everything else is read as it is."""
        wanted, found = word.casefold(), set()
        with self.database.read() as session:
            for table in SQLModel.metadata.sorted_tables:
                for row in session.execute(sa.select(table)):
                    if any(wanted in _readable(value).casefold() for value in row):
                        found.add(table.name)
            for episode in session.execute(sa.select(Episode)).scalars().all():
                body = load_bodies(session, episode.namespace, [episode.id])
                if wanted in str(body).casefold():
                    found.add("opened body")
        return found

    def files(self, word: str) -> set[str]:
        """Files of the database that hold a word, as bytes, in whatever case."""
        wanted = word.casefold().encode()
        files = [file for file in self.folder.rglob("*") if file.is_file() and not file.is_socket()]
        return {str(file.relative_to(self.folder)) for file in files if wanted in file.read_bytes().lower()}

    def settle(self) -> None:
        """What the guide tells an operator of PostgreSQL to do after a purge."""
        if self.server is None:
            return
        full = [sql.SQL("VACUUM FULL"), sql.SQL("CHECKPOINT")]
        switch = [sql.SQL("SELECT pg_switch_wal()"), sql.SQL("CHECKPOINT")]
        self.server.run(*full, *switch, *switch, database="purge")


def _readable(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


@pytest.fixture(params=["sqlite", "postgres"])
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Own]:
    if request.param == "sqlite":
        folder = tmp_path / "files"
        folder.mkdir()
        shutil.copy(request.getfixturevalue("migrated_sqlite_file"), folder / "slowwave.db")
        database = Database(f"sqlite:///{folder / 'slowwave.db'}")
        yield Own(database, folder)
        database.dispose()
        return
    folder = short_folder()
    server = PostgresServer(folder).start()
    try:
        server.run(sql.SQL("ALTER SYSTEM SET wal_recycle = off"), sql.SQL("ALTER SYSTEM SET min_wal_size = '32MB'"))
        server.run(sql.SQL("SELECT pg_reload_conf()"))
        database = Database(server.create("purge"))
        migrate.upgrade(database)
        yield Own(database, server.data, server)
        database.dispose()
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.fixture
def desk(database: Database, now: datetime, secret: bytes) -> Desk:
    return Desk(database, now, secret).open("ana", "bo", "cy")


@pytest.fixture
def model(model_server: ModelServer) -> Iterator[Patient]:
    wire = OpenAIWire(Endpoint(f"{model_server.url}/v1", "m", KEY))
    yield Patient("openai/m", wire, 30, pause=lambda _: None)
    wire._client.close()


@pytest.fixture
def at_night(own: Own, model: Patient) -> Nights:
    """One whole night with the model, ``number`` days after the first."""

    def running(number: int = 0) -> Run:
        now = NOW + timedelta(days=number)
        settings = PipelineSettings(drafting=Drafting("model"))
        worker = Worker("test", SECRET, clock=lambda: now, retry_seconds=0, settings=settings, model=model)
        run = pipeline.open_run(own.database, "lab", now.date().isoformat(), "test", now)
        return pipeline.drive(own.database, run.id, worker)

    return running


@pytest.fixture
def bring(own: Own) -> Callable[..., Any]:
    """Bring records in at the door."""

    def bringing(records: list[dict[str, Any]], namespace: str = "lab") -> Any:
        body = io.BytesIO(b"".join(json.dumps(each).encode() + b"\n" for each in records))
        return ingest_records(own.database, body, namespace, principal="ops", now=NOW, secret=SECRET)

    return bringing
