from __future__ import annotations

import json
import os
import signal
import socket
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from storage.engine import Database
from storage.episodes import ensure_namespace
from storage.settings import Settings
from support.local import Home, Up, answers
from support.processes import wait_until
from worker.cli.demo import first_start
from worker.cli.store import Store
from worlds import generate

pytestmark = pytest.mark.processes


def left(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


def test_the_stack_serves_both_sides_and_leaves_nothing_behind(home: Home) -> None:
    up = home.up()
    assert answers(f"{up.url}/login")
    assert answers(f"{up.url}/health/live")
    started = up.processes()
    assert len(started) >= 6
    assert up.stop() == 0
    assert left(started) == []
    assert not (home.folder / "redis.sock").exists()


def test_a_killed_supervisor_takes_its_children_along(home: Home) -> None:
    up = home.up()
    started = up.processes()
    os.kill(up.child.pid, signal.SIGKILL)
    wait_until("every child is gone", lambda: not left(started), seconds=15)
    again = home.up()
    wait_until("the new stack answers", lambda: answers(f"{again.url}/health/live"), alive=again.child)
    assert again.stop() == 0


def test_a_crashed_part_is_started_again_and_it_is_said(home: Home) -> None:
    up = home.up()
    relay = up.part("relay")
    relay.kill()
    up.child.wait_for_output("relay ended unasked (signal SIGKILL); starting it again now")
    wait_until("another relay runs", lambda: _another(up, relay), alive=up.child)


def _another(up: Up, before: psutil.Process) -> bool:
    try:
        return up.part("relay").pid != before.pid
    except (LookupError, psutil.NoSuchProcess):
        return False


def test_a_second_stack_on_the_same_home_is_refused_with_the_first_ones_address(home: Home) -> None:
    up = home.up()
    said = home.run("up", "--port", "0", code=1).stderr
    assert f"process {up.child.pid}" in said
    assert up.url in said


def test_a_taken_port_is_told_before_anything_starts(home: Home) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        said = home.run("up", "--port", port, code=1).stderr
    assert f"port {port}" in said
    assert str(os.getpid()) in said
    assert not (home.folder / "logs").exists()


@pytest.mark.long
def test_a_night_through_the_worker_has_the_result_of_a_local_one(home: Home, tmp_path: Path) -> None:
    made = generate(5, 60, worlds=("travel",), start=datetime(2026, 1, 5, tzinfo=UTC))
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in made))
    home.json("ingest", path, "-n", "here")
    home.json("ingest", path, "-n", "there")
    home.up()
    far = home.json("consolidate", "-n", "there", "--night", "2026-11-29", "--wait")
    near = home.json("consolidate", "-n", "here", "--night", "2026-11-29", "--local")
    assert far["state"] == near["state"] == "completed"
    counts = ("episodes", "clusters", "tests", "candidates")
    assert [far[name] for name in counts] == [near[name] for name in counts]


def test_the_demo_has_something_to_review_in_every_world(demo_home: Home) -> None:
    waits = {each["namespace"] for each in demo_home.json("queue")}
    assert waits == {"demo/shopping", "demo/travel", "demo/support"}


def test_the_runs_of_a_fresh_demo_are_recent_enough_for_a_reach(demo_home: Home) -> None:
    assert all(each["reach"] > 0 for each in demo_home.json("queue"))


def test_a_later_demo_makes_the_runs_of_the_first(database: Database) -> None:
    with database.write() as session:
        ensure_namespace(session, "demo/travel", datetime(2026, 3, 20, 23, 59, 30, tzinfo=UTC))
    store = Store(Settings(_env_file=None), database)  # type: ignore[call-arg]
    assert {first_start(store, "demo/travel") for _ in range(2)} == {datetime(2026, 3, 6, 8, tzinfo=UTC)}


def test_the_demo_is_harmless_a_second_time(home: Home) -> None:
    first = home.json("demo", "--no-up", "--episodes", "90")
    second = home.json("demo", "--no-up", "--episodes", "90")
    assert [each["accepted"] for each in first["namespaces"]] == [30, 30, 30]
    assert [each["accepted"] for each in second["namespaces"]] == [0, 0, 0]
    runs = [[each["run_id"] for each in demo["namespaces"]] for demo in (first, second)]
    assert runs[0] == runs[1]
