"""Files that another's episodes read: never read alone, and their owner again whenever one of them changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from storage.engine import Database
from support.following import SETTLE, Time, database, folder, follow, line, names, put, rows, stored, time
from tasks.ingest.importers import registry
from tasks.ingest.importers.canonical import Canonical
from tasks.ingest.source import Source
from worker.following import loop

__all__ = ["database", "folder", "follow", "put", "time"]  # fixtures


class Joining(Canonical):
    """A session's file, with those of its sub-agents beside it."""

    name = "joining"

    def sniff(self, sample: Any) -> float:
        first = sample.records[0] if sample.records else None
        return 0.99 if isinstance(first, dict) and "joins" in first else 0.0

    def read(self, source: Source) -> Iterator[Any]:
        for found in super().read(source):
            parts = []
            for name in source.beside("agent-*.jsonl"):
                near = source.near(name)
                parts.append([record.value for record in near.records()] if near else [])
            yield type(found)(found.episode, {"own": found.record, "parts": parts}, found.line)

    def part_of(self, source: Source) -> str | None:
        return "session.jsonl" if source.name.startswith("agent-") and source.near("session.jsonl") else None


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch, put: Any) -> None:
    monkeypatch.setitem(registry.importers(), "joining", Joining())


def session_line(**given: Any) -> bytes:
    return json.dumps({**json.loads(line("s")), "metadata": {"joins": True}, **given}).encode() + b"\n"


@pytest.fixture
def session(joined: None, put: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(Joining, "sniff", lambda self, sample: 0.99 if "joins" in str(sample.records[:1]) else 0.0)
    put("agent-1.jsonl", b'{"said": 1}\n', age=60)
    put("agent-2.jsonl", b'{"said": 2}\n', age=60)
    return put("session.jsonl", session_line(), age=60)


def test_a_part_is_read_with_its_owner_and_only_so(follow: Any, session: Path, database: Database) -> None:
    summary, told, _ = follow(once=True)
    assert names(told) == ["session.jsonl"]
    assert (summary.accepted, summary.rejected) == (1, 0)
    found = rows(database)
    assert {name: row.state for name, row in found.items()} == {
        "agent-1.jsonl": "joined", "agent-2.jsonl": "joined", "session.jsonl": "read",
    }  # fmt: skip
    assert found["agent-1.jsonl"].owner == str(session.resolve())
    assert follow(once=True)[0].files == 0


def test_a_changed_part_has_its_owner_read_again_once(follow: Any, session: Path, put: Any, database: Database) -> None:
    follow(once=True)
    put("agent-1.jsonl", b'{"said": 1}\n{"said": 3}\n', age=50)
    put("agent-2.jsonl", b'{"said": 2}\n{"said": 4}\n', age=50)
    _, told, _ = follow(once=True)
    assert [(Path(each.file).name, each.report.revised, len(each.parts)) for each in told] == [("session.jsonl", 1, 2)]
    assert [row.revision for row in stored(database)] == [2]
    assert follow(once=True)[0].files == 0


def test_a_crash_before_the_owner_was_read_loses_no_part(
    follow: Any, session: Path, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow(once=True)
    put("agent-1.jsonl", b'{"said": 5}\n', age=50)

    def die(*_: Any, **__: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(loop, "ingest_source", die)
        follow(once=True)
    assert follow(once=True)[0].revised == 1


def test_a_part_waits_for_an_owner_that_is_still_growing(
    follow: Any, session: Path, put: Any, time: Time, database: Database
) -> None:
    follow(once=True)
    put("agent-1.jsonl", b'{"said": 6}\n', age=50)
    put("session.jsonl", session_line(outcome="failure"), age=1)
    assert follow(once=True)[0].files == 0
    time.now += timedelta(seconds=SETTLE)
    summary, _, _ = follow(once=True)
    assert (summary.files, summary.revised) == (1, 1)
    assert follow(once=True)[0].files == 0
