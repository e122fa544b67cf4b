"""What a drill refuses before it starts anything, and how results are shown."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from storage.drills import keep_result
from storage.engine import Database
from storage.episodes import ensure_namespace
from support.served import NOW
from worker.cli.root import run
from worker.drill_stack import NotForDrills, Stack, settings_of


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, migrated_sqlite_file: Path) -> Database:
    """The store of the settings."""
    (tmp_path / "slowwave.db").write_bytes(migrated_sqlite_file.read_bytes())
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path))
    return Database(f"sqlite:///{tmp_path}/slowwave.db")


def keep(store: Database, minutes: int, **given: Any) -> None:
    values: dict[str, Any] = {
        "mode": "revoke", "condition": "connected", "during": "", "database": "sqlite", "readers": 200,
        "lease_seconds": 15.0, "limit_seconds": 1.0, "passed": True, "now": NOW + timedelta(minutes=minutes),
        "summary": {"refused": {"p99": 0.5, "max": 0.6}, "served": {"p99": 0.4, "max": 0.5}},
    }  # fmt: skip
    with store.write() as session:
        keep_result(session, **(values | given))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert run(["drill", *arguments, "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    return f"{error['what']} {error['now']}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--mode", "fire"), "no mode 'fire'. Choose of: revoke, incomplete"),
        (("--mode", ""), "no mode ''"),
        (("--conditions", "connected,offline"), "no condition 'offline'"),
        (("--conditions", ","), "No condition is named"),
        (("--during", "lunch"), "no load 'lunch'. Choose of: night, ingest"),
        (("--mode", "incomplete", "--during", "night"), "takes no --during"),
        (("--postgres", "no address"), "cannot be used"),
    ],
)
def test_what_is_wrong_is_told_before_anything_starts(
    store: Database, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    assert words in refused(capsys, *arguments)


def test_the_database_that_agents_read_from_is_refused(
    store: Database, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", store.url)
    assert "agents read from" in refused(capsys, "--postgres", store.url)


def test_a_database_with_a_namespace_that_is_no_drills_is_refused(store: Database, tmp_path: Path) -> None:
    with store.write() as session:
        ensure_namespace(session, "slowwave/drill/earlier", NOW)
        ensure_namespace(session, "slowwave/drills", NOW)
    stack = Stack(settings_of(tmp_path, store.url, 15.0), store, "slowwave/drill")
    with pytest.raises(NotForDrills, match="'slowwave/drills'"), stack:
        pass
    assert stack.redis.pid is None


def test_nothing_of_the_deployment_comes_into_a_drills_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("REDIS_URL", "redis://deployment"), ("TOKEN", "sw_secret"), ("DATABASE_URL", "sqlite:///d")):
        monkeypatch.setenv(f"SLOWWAVE_{name}", value)
    settings = settings_of(tmp_path, None, 2.0)
    assert (settings.redis_url, settings.token, settings.database_url) == (None, None, None)
    assert settings.lease_seconds == 2.0


def test_the_history_shows_how_much_of_the_limit_each_took(store: Database, capsys: pytest.CaptureFixture[str]) -> None:
    keep(store, 1)
    keep(store, 2, condition="web-down", limit_seconds=0.4, passed=False)
    capsys.readouterr()
    assert run(["drill", "--history"]) == 0
    newest, oldest = capsys.readouterr().out.splitlines()
    assert newest.split() == [
        "2026-11-30",
        newest.split()[1],
        "█" * 16 + "▶",
        "0.500",
        "FAIL",
        "web-down,",
        "200",
        "on",
        "sqlite",
    ]
    assert "████████········  0.500" in oldest
    assert max(map(len, (newest, oldest))) <= 80


def test_an_empty_history_says_what_to_type(store: Database, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drill", "--history"]) == 0
    assert "slowwave drill --readers" in capsys.readouterr().out
