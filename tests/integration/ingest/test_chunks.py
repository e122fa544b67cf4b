"""What a child made ready is written whole, each record once, however the size of a batch changes meanwhile."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.engine import Database
from tasks.ingest import step
from tasks.ingest.prepare import Origin
from tasks.ingest.ready import prepare_lines
from tasks.ingest.source import Line

from .conftest import NOW, SECRET, record


class Made:
    """A pool whose one promise is kept already."""

    def __init__(self, worked: Any) -> None:
        self.result = lambda _: worked

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("target", "size"), [(-1.0, 50), (99.0, 5)], ids=["ever slower", "ever faster"])
def test_a_chunk_is_written_whole_and_once(
    database: Database, stored: Any, monkeypatch: pytest.MonkeyPatch, target: float, size: int
) -> None:
    monkeypatch.setattr(step, "TARGET_SECONDS", target)
    ingest = step._Ingest.begin(database, "lab", "auto", "ops", False, NOW, SECRET, (), None)
    lines = [Line(n, json.dumps(record(id=f"r-{n}", task=f"t {n}")).encode()) for n in range(1, 181)]
    origin = Origin("canonical", 1, "/a", "a")
    ingest.pool, ingest.batch_size = Made(prepare_lines(lines, ingest.door, origin)), size
    ingest._take_chunk(lines, object(), origin)  # type: ignore[arg-type]
    assert (ingest.report.accepted, ingest.report.duplicates, len(stored())) == (180, 0, 180)
