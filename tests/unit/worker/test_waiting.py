"""A follower's sleep ends when a file changes, when time is up, or when the end was asked for."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from worker.following import wake
from worker.following.wake import Waiter


def test_a_change_wakes_before_time_is_up(tmp_path: Path) -> None:
    with Waiter([tmp_path], [].append, lambda: False, pause=0.0) as wait:
        wait(0.5)  # until the watch is set up
        threading.Timer(0.05, lambda: (tmp_path / "a.jsonl").write_text("x")).start()
        start = time.monotonic()
        wait(20)
        assert time.monotonic() - start < 10


def test_without_a_change_time_goes_by(tmp_path: Path) -> None:
    with Waiter([tmp_path], [].append, lambda: False) as wait:
        start = time.monotonic()
        wait(0.1)
        assert 0.1 <= time.monotonic() - start < 5


def test_the_end_is_not_slept_through(tmp_path: Path) -> None:
    asked = threading.Event()
    with Waiter([tmp_path], [].append, asked.is_set) as wait:
        threading.Timer(0.05, asked.set).start()
        start = time.monotonic()
        wait(20)
        assert time.monotonic() - start < 10


def test_where_there_are_no_wake_ups_that_is_said_and_time_still_goes_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_watches_left(*_: Any, **__: Any) -> None:
        raise OSError(28, "no space left on device: the system's limit of watches")

    monkeypatch.setattr(wake, "watch", no_watches_left)
    notes: list[str] = []
    with Waiter([tmp_path], notes.append, lambda: False) as wait:
        wait(0.2)
    assert [each.split("(")[0] for each in notes] == ["No wake-ups from the file system "]


def test_a_folder_that_is_not_there_yet_spoils_the_others_wake_ups_not(tmp_path: Path) -> None:
    with Waiter([tmp_path / "later", tmp_path], [].append, lambda: False, pause=0.0) as wait:
        wait(0.3)
        threading.Timer(0.05, lambda: (tmp_path / "a.jsonl").write_text("x")).start()
        start = time.monotonic()
        wait(20)
        assert time.monotonic() - start < 10
