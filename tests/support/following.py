"""The loop of ``ingest --follow`` over a folder, with a clock that the test moves."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from storage.engine import Database
from storage.queries import episodes as queries
from storage.tables import Episode, FollowedFile
from worker.following.loop import FileRead, Follower, Summary

SPACE = "acme/runs"
SECRET = b"k" * 32
SETTLE = 30.0


class Time:
    """The clock and the sleeping of a loop: each sleep runs the next thing that the test does, then time is over."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
        self.acts: list[Callable[[], Any]] = []
        self.slept: list[float] = []

    def __call__(self) -> datetime:
        self.now += timedelta(microseconds=1)
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)
        if self.acts:
            self.acts.pop(0)()

    def is_over(self) -> bool:
        return not self.acts and bool(self.slept)

    def then(self, act: Callable[[], Any] = lambda: None, times: int = 1) -> Time:
        self.acts += [act] * times
        return self


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """One database for what the loop decides; on both it is run as a process (test_follow_process.py)."""
    return sqlite_database


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "runs"
    made.mkdir()
    return made


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def put(folder: Path, time: Time) -> Callable[..., Path]:
    """Writes a file as of now, by the clock of the test."""

    def putting(name: str, *ids: Any, age: float = 0, outcome: str = "success") -> Path:
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        lines = [each if isinstance(each, bytes) else line(each, outcome) for each in ids]
        data = b"".join(lines)
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        touch(path, time, age)
        return path

    return putting


def line(name: str, outcome: str = "success") -> bytes:
    steps = [{"id": "1", "kind": "user", "text": f"please {name}"}]
    return json.dumps({"id": name, "task": name, "steps": steps, "outcome": outcome}).encode() + b"\n"


def touch(path: Path, time: Time, age: float = 0) -> None:
    stamp = time.now.timestamp() - age
    os.utime(path, (stamp, stamp))


@pytest.fixture
def follow(database: Database, folder: Path, time: Time) -> Any:
    """Runs a loop until the acts of the test are done; returns its summary and what it told."""

    def following(*, once: bool = False, **given: Any) -> tuple[Summary, list[FileRead], list[str]]:
        told: list[FileRead] = []
        notes: list[str] = []
        time.slept = []
        given = {"folders": [folder], "should_stop": time.is_over, "settle": SETTLE, "rescan": 30.0, **given}
        follower = Follower(
            database=database, namespace=SPACE, principal="operator:ann", secret=SECRET, clock=time, wait=time.sleep,
            tell=told.append, note=notes.append, **given,
        )  # fmt: skip
        return follower.run(once=once), told, notes

    return following


def names(told: list[FileRead]) -> list[str]:
    return [Path(each.file).name for each in told]


def stored(database: Database) -> list[Episode]:
    with database.read() as session:
        return queries.current(session, SPACE)


def rows(database: Database) -> dict[str, FollowedFile]:
    with database.read() as session:
        return {Path(row.path).name: row for row in session.exec(select(FollowedFile))}
