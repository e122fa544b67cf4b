"""Much at once: what is known is not looked at twice, and other cores change nothing but the time."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from storage.bodies import load_bodies
from storage.engine import Database
from storage.queries import episodes as queries
from support.processes import wait_until
from tasks.ingest import pool, ready, step
from tasks.ingest.importers import canonical
from tasks.ingest.redact import Redactor
from tasks.ingest.step import ingest_paths

from .conftest import NOW, SECRET, record

KEY = "ghp_" + "a1B2" * 9


def lines() -> list[bytes]:
    """Good and bad records, some twice, one edited, one with a secret, one with a lone surrogate."""
    made = [json.dumps(record(id=f"r-{n}", session_id=f"s-{n}", task=f"Cancel LMN{n}")).encode() for n in range(150)]
    made[7] = b"{broken"
    made[31] = json.dumps(record(id="r-30", outcome="failure")).encode()
    made[60] = made[3]
    made[61] = json.dumps({"task": "no steps", "outcome": "success", "note": KEY}).encode()
    made[90] = json.dumps(record(id="r-90", task=f"use {KEY} \ud800 now")).encode()
    made[91] = b""
    copy = record(session_id="s-119", task="Cancel LMN119", agent="bot")
    made[120] = json.dumps({name: value for name, value in copy.items() if name != "id"}).encode()
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "a.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"\n".join(lines()) + b"\n")
    return path


def everything(database: Database, namespace: str) -> list[Any]:
    """Every column of every row, and its body; but for what is named by the namespace and by chance."""
    with database.read() as session:
        rows = queries.current(session, namespace, limit=5000)
        bodies = load_bodies(session, namespace, [row.id for row in rows])
        letters = queries.dead_letters(session, namespace)
    skipped = {"namespace", "id", "supersedes_id", "source_hash", "fingerprint", "task_key", "record_hash"}
    kept = [{**row.model_dump(exclude=skipped), "body": {**bodies[row.id], "task_key": ""}} for row in rows]
    return sorted(map(repr, [*kept, *(letter.model_dump(exclude=skipped) for letter in letters)]))


def with_a_pool(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Even small files go to a pool, which is waited for; returns what was handed to it."""
    handed: list[int] = []
    submit = pool.Pool.submit

    def submitting(self: Any, chunk: Any, origin: Any) -> Any:
        self.is_ready.wait(60)
        handed.append(len(chunk))
        return submit(self, chunk, origin)

    monkeypatch.setattr(step, "POOL_BYTES", 1)
    monkeypatch.setattr(pool.Pool, "submit", submitting)
    monkeypatch.setattr(pool, "children", lambda: 2)
    return handed


def test_what_is_stored_does_not_depend_on_the_pool(
    file: Path, ingest: Any, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = ingest(file, namespace="alone")
    handed = with_a_pool(monkeypatch)
    pooled = ingest(file, namespace="pooled")
    assert sum(handed) >= 100
    assert pooled == alone
    assert (alone.accepted, alone.duplicates, alone.revised, len(alone.rejected)) == (144, 2, 1, 2)
    assert everything(database, "pooled") == everything(database, "alone")
    again = ingest(file, namespace="pooled")
    assert (again.accepted, again.duplicates, again.revised) == (0, 147, 0)


@pytest.mark.parametrize("seconds", [0.0, 10.0])
def test_a_batch_that_shrinks_or_grows_meanwhile_loses_nothing(
    file: Path, ingest: Any, stored: Any, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    handed = with_a_pool(monkeypatch)
    monkeypatch.setattr(step, "TARGET_SECONDS", seconds)
    report = ingest(file)
    assert sum(handed) >= 100
    assert (report.accepted, report.duplicates, report.revised, len(report.rejected)) == (144, 2, 1, 2)
    assert len(stored()) == 144


def test_a_pool_whose_children_die_costs_nothing_but_time(
    file: Path, ingest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_a_pool(monkeypatch)
    monkeypatch.setattr(step, "prepare_lines", _dies)
    report = ingest(file)
    assert (report.accepted, report.duplicates, report.revised, len(report.rejected)) == (144, 2, 1, 2)


def _dies(*_: Any) -> None:
    os._exit(9)


def test_a_daemonic_process_uses_no_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "children", lambda: 2)
    assert pool.may_have_children()
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    assert not pool.may_have_children()


def test_a_request_uses_no_pool(post: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    handed = with_a_pool(monkeypatch)
    post(*(each + b"\n" for each in lines()))
    assert handed == []


def _ingest_with_a_pool(url: str, file: Path, told: Any) -> None:
    def tell(*_: Any) -> None:
        told.send([child.pid for child in psutil.Process().children(recursive=True)])
        signal.pause()

    with pytest.MonkeyPatch.context() as monkeypatch:
        with_a_pool(monkeypatch)
        ingest_paths(Database(url), [file], "lab", principal="ops", now=NOW, secret=SECRET, progress=tell)


@pytest.mark.processes
def test_children_end_with_a_parent_that_was_killed(file: Path, sqlite_url: str) -> None:
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_ingest_with_a_pool, args=(sqlite_url, file, there))
    process.start()
    assert here.poll(60)
    children = here.recv()
    assert len(children) >= 2
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join(10)
    wait_until("the children are gone", lambda: not any(map(psutil.pid_exists, children)), seconds=20)


def test_what_is_known_is_neither_redacted_nor_sealed_again(
    file: Path, ingest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ingest(file)

    def never(*_: Any) -> Any:
        raise AssertionError("known before")

    monkeypatch.setattr(Redactor, "redact", never)
    monkeypatch.setattr(ready, "seal_text", never)
    file.write_bytes(b"\n".join(each for number, each in enumerate(lines()) if number not in (7, 61, 120)))
    again = ingest(file)
    assert (again.accepted, again.duplicates, again.revised) == (0, first.accepted + first.revised + 1, 0)


def test_a_newer_redactor_looks_at_what_is_known_again(
    file: Path, ingest: Any, stored: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(file)
    monkeypatch.setattr(Redactor, "version", Redactor.version + 1)
    assert ingest(file).accepted == 0
    assert {row.redactor_version for row in stored()} == {Redactor.version}


def test_only_lines_that_are_records_of_their_own_go_to_a_pool() -> None:
    assert canonical.IMPORTER.by_line
