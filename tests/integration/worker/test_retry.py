"""Another try for what was refused: from the file where it is there, else from the bytes that were kept."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from storage.engine import Database
from storage.queries import episodes as queries
from storage.tables import DeadLetter, Episode
from tasks.ingest.importers import registry
from tasks.ingest.importers.canonical import Canonical
from tasks.ingest.step import ingest_paths, ingest_records
from worker.retry import TAKEN_FROM_BYTES, Retry, RetryReport

SPACE = "acme/support"
SECRET = b"k" * 32
START = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
GOOD = {"id": "r-1", "task": "cancel 7", "steps": [{"kind": "user", "text": "please"}], "outcome": "success"}
TOO_NEW = {"id": "r-2", "task": "cancel 8", "turns": [{"kind": "user", "text": "please"}], "outcome": "success"}


class Newer(Canonical):
    """Knows a spelling that the version before refused."""

    version = 99

    def read(self, source: Any) -> Any:
        source.stream = io.BytesIO(b"".join(line.data for line in source.lines()).replace(b'"turns"', b'"steps"'))
        yield from super().read(type(source)(source.stream, source.name, source.path, source.scope))


@pytest.fixture
def clock() -> Any:
    hours = count(1)
    return lambda: START + timedelta(hours=next(hours))


@pytest.fixture
def retry(database: Database, clock: Any) -> Any:
    return lambda: Retry(database, SPACE, "operator:ann", SECRET, clock).run()


def ingest(database: Database, *paths: Path) -> None:
    ingest_paths(database, paths, SPACE, principal="operator:ann", now=START, secret=SECRET)


def post(database: Database, *records: Any, **given: Any) -> None:
    body = b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in records)
    given = {"principal": "token:7", "principal_capped": True, **given}
    ingest_records(database, io.BytesIO(body), SPACE, now=START, secret=SECRET, **given)


def letters(database: Database) -> list[DeadLetter]:
    with database.read() as session:
        return queries.dead_letters(session, SPACE, unresolved=False)


def episodes(database: Database) -> list[Episode]:
    with database.read() as session:
        return queries.current(session, SPACE)


def counts(report: RetryReport) -> tuple[int, int, int, int]:
    return report.retried, report.taken, len(report.still_refused), len(report.nothing_to_retry_from)


def test_a_mended_file_is_read_once_for_all_its_letters(
    database: Database, retry: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(GOOD) + "\n{broken\n" + json.dumps({"task": "x"}) + "\n")
    ingest(database, file)
    file.write_text(
        json.dumps(GOOD) + "\n" + json.dumps({**GOOD, "id": "r-3"}) + "\n" + json.dumps({"task": "x"}) + "\n"
    )
    report = retry()
    assert counts(report) == (2, 1, 1, 0)
    assert (report.still_refused[0].line, report.still_refused[0].attempts) == (3, 2)
    assert [each.attempts for each in letters(database) if each.resolved_at is None] == [2]
    assert len(episodes(database)) == 2
    assert counts(retry()) == (1, 0, 1, 0)


def test_what_was_changed_and_is_refused_on_its_line_again_is_not_told_as_taken(
    database: Database, retry: Any, tmp_path: Path
) -> None:
    file = tmp_path / "a.jsonl"
    for task in ("one", "two"):
        file.write_text(json.dumps({"id": "q", "task": task, "steps": []}) + "\n")
        report = retry() if task == "two" else ingest(database, file)
    assert counts(report) == (1, 0, 1, 0)
    (waiting,) = (each for each in letters(database) if each.resolved_at is None)
    assert (waiting.line, waiting.attempts) == (1, 2)


def test_a_file_that_was_packed_meanwhile_is_found(database: Database, retry: Any, tmp_path: Path) -> None:
    import gzip

    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(GOOD) + "\n{broken\n")
    ingest(database, file)
    file.unlink()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(json.dumps(GOOD).encode() + b"\n"))
    assert counts(retry()) == (1, 1, 0, 0)


def test_what_an_agent_sent_is_retried_from_its_bytes_as_the_agents_own(
    database: Database, retry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(database, GOOD, TOO_NEW)
    assert counts(retry()) == (1, 0, 1, 0)
    monkeypatch.setitem(registry.importers(), "canonical", Newer())
    assert counts(retry()) == (1, 1, 0, 0)
    (letter,) = letters(database)
    assert (letter.resolution, letter.attempts) == (TAKEN_FROM_BYTES, 2)
    taken = next(each for each in episodes(database) if each.source_id == "r-2")
    assert (taken.principal, taken.principal_capped, taken.outcome_source) == ("token:7", True, "self-reported")
    assert taken.source_scope == "request:token:7"
    assert counts(retry()) == (0, 0, 0, 0)


def test_a_file_that_is_gone_is_retried_from_the_bytes(
    database: Database, retry: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(GOOD) + "\n" + json.dumps(TOO_NEW) + "\n")
    ingest(database, file)
    file.unlink()
    monkeypatch.setitem(registry.importers(), "canonical", Newer())
    assert counts(retry()) == (1, 1, 0, 0)
    taken = next(each for each in episodes(database) if each.source_id == "r-2")
    assert (taken.source_scope, taken.principal) == (str(file.resolve()), "operator:ann")


def test_a_retry_of_bytes_makes_no_second_letter_even_where_they_were_redacted(database: Database, retry: Any) -> None:
    post(database, GOOD, {"task": "x", "steps": "none", "metadata": {"api_key": "tulip-field-77"}})
    for attempts in (2, 3):
        report = retry()
        assert [each.attempts for each in report.still_refused] == [attempts]
    assert len(letters(database)) == 1


def test_where_there_is_nothing_left_to_read_that_is_said(database: Database, retry: Any, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(json.dumps(GOOD).encode() + b"\n{" + b"x" * 70_000 + b"\n")
    ingest(database, file)
    file.unlink()
    report = retry()
    assert counts(report) == (0, 0, 0, 1)
    (told,) = report.nothing_to_retry_from
    assert told.reason.startswith("its file is gone, and no bytes of it were kept (there were none, or more than 64")
    assert all(each.resolved_at is None for each in letters(database))


def test_a_request_is_never_looked_for_on_the_disk(
    database: Database, retry: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "request").write_text(json.dumps(GOOD) + "\n")
    post(database, b"{broken\n", GOOD, importer="canonical", scope=None)
    assert counts(retry()) == (1, 0, 1, 0)
