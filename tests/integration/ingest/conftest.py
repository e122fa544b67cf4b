"""A way to ingest and to look at what is stored."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from storage.engine import Database
from storage.queries import episodes as queries
from storage.tables import Episode
from tasks.ingest.step import IngestReport, ingest_paths, ingest_records

SECRET = b"k" * 32
NOW = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
Ingest = Callable[..., IngestReport]


@pytest.fixture
def ingest(database: Database) -> Ingest:
    def ingesting(*paths: str | Path, namespace: str = "lab", **options: Any) -> IngestReport:
        options = {"principal": "ops", "now": NOW, "secret": SECRET, **options}
        return ingest_paths(database, paths, namespace, **options)

    return ingesting


@pytest.fixture
def post(database: Database) -> Ingest:
    def posting(*records: Any, namespace: str = "lab", **options: Any) -> IngestReport:
        body = b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in records)
        options = {"principal": "ops", "now": NOW, "secret": SECRET, **options}
        return ingest_records(database, io.BytesIO(body), namespace, **options)

    return posting


@pytest.fixture
def stored(database: Database) -> Callable[..., list[Episode]]:
    def storing(namespace: str = "lab") -> list[Episode]:
        with database.read() as session:
            return queries.current(session, namespace, limit=5000)

    return storing


def record(**changes: Any) -> dict[str, Any]:
    """A canonical record, invented."""
    steps = [{"id": "1", "kind": "user", "text": "Cancel LMN42"}, {"id": "2", "kind": "tool_call", "name": "find"}]
    return {"id": "r-1", "task": "Cancel LMN42", "steps": steps, "outcome": "success", **changes}
