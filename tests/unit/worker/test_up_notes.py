"""What the running stack tells people: where it is, and which namespaces no login shows."""

from __future__ import annotations

import fcntl
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from storage.settings import Settings
from storage.tables import User
from worker.cli.services import unseen
from worker.supervisor import running_at

NOW = datetime(2026, 1, 5, tzinfo=UTC)


def someone(*namespaces: str, disabled: bool = False) -> User:
    return User(
        id="u",
        name="u",
        role="reviewer",
        namespaces=[*namespaces],
        created_at=NOW,
        disabled_at=NOW if disabled else None,
    )


def test_without_an_account_it_is_said_how_to_make_one() -> None:
    for people in ([], [someone(disabled=True)]):
        (said,) = unseen(people, [])
        assert "slowwave user add" in said


def test_a_namespace_that_no_login_shows_is_named() -> None:
    (said,) = unseen([someone("demo"), someone(disabled=True)], ["acme/code", "acme/support", "demo/travel"])
    assert "no account sees acme/code and 1 more" in said
    assert said.endswith("--namespace acme/code")


@pytest.mark.parametrize("people", [[someone()], [someone("demo"), someone("acme")]])
def test_where_every_namespace_is_seen_nothing_is_said(people: list[User]) -> None:
    assert unseen(people, ["acme/code", "demo/travel"]) == []


def test_the_address_is_that_of_a_stack_that_runs(tmp_path: Path) -> None:
    settings, lock = Settings(home=tmp_path), tmp_path / "up.lock"
    assert running_at(settings) is None
    lock.write_text(json.dumps({"pid": 1, "address": "http://127.0.0.1:8500"}))
    assert running_at(settings) is None, "whoever wrote it has ended"
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert running_at(settings) == "http://127.0.0.1:8500"
        lock.write_text("")
        assert running_at(settings) is None, "it is only starting"
