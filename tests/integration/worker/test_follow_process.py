"""``slowwave ingest`` as a process: followed, killed, started again, ended by a signal. Every count is exact."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from storage.engine import Database
from storage.queries import episodes as queries
from support.local import COMMAND, Home
from support.processes import Child, wait_until

pytestmark = pytest.mark.processes
SPACE = "acme/runs"
MANY = 500


def records(prefix: str, count: int, outcome: str = "success") -> bytes:
    made = (
        {"id": f"{prefix}-{n}", "task": f"{prefix} {n}", "outcome": outcome,
         "steps": [{"id": "1", "kind": "user", "text": f"please {prefix} {n} " + "word " * 200}]}
        for n in range(count)
    )  # fmt: skip
    return b"".join(json.dumps(each).encode() + b"\n" for each in made)


def put(folder: Path, name: str, data: bytes) -> Path:
    """Written beside and renamed, as careful programs do."""
    hidden = folder / f".{name}.new"
    hidden.write_bytes(data)
    os.replace(hidden, folder / name)
    return folder / name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "runs"
    made.mkdir()
    return made


@pytest.fixture
def where() -> str:
    """The database of a test that says nothing of it."""
    return "sqlite"


on_both = pytest.mark.parametrize("where", ["sqlite", "postgres"])


@pytest.fixture
def house(request: pytest.FixtureRequest, home: Home, where: str) -> Home:
    """A home on one of the databases."""
    url = request.getfixturevalue(f"{where}_url")
    home.settings |= {"SLOWWAVE_DATABASE_URL": url, "SLOWWAVE_SECRET_KEY": "k" * 40}
    return home


@pytest.fixture
def store(house: Home) -> Iterator[Database]:
    database = house.database()
    yield database
    database.dispose()


@pytest.fixture
def followers(house: Home) -> Iterator[list[Child]]:
    started: list[Child] = []
    yield started
    for child in started:
        child.kill()


def follow(house: Home, folder: Path, followers: list[Child], name: str = "follow", settle: str = "0.2") -> Child:
    arguments = ("ingest", "--follow", str(folder), "-n", SPACE, "--settle", settle, "--rescan", "0.5", "--json")
    followers.append(house.start(*arguments, name=name))
    return followers[-1]


def told(child: Child) -> list[dict[str, Any]]:
    """The lines of the process that are JSON: its standard output."""
    return [json.loads(line) for line in child.output().splitlines() if line.startswith("{")]


def wait_for_files(child: Child, count: int) -> list[dict[str, Any]]:
    wait_until(f"{count} files read", lambda: len(told(child)) >= count, alive=child)
    return told(child)


def stored(store: Database) -> int:
    with store.read() as session:
        return queries.count(session, SPACE)


@on_both
def test_a_follower_that_was_killed_reads_on_and_doubles_nothing(
    house: Home, folder: Path, store: Database, followers: list[Child]
) -> None:
    put(folder, "a.jsonl", records("a", 3))
    first = follow(house, folder, followers)
    assert wait_for_files(first, 1)[0]["accepted"] == 3
    put(folder, "b.jsonl", records("b", 2) + b"{broken\n")
    (_, b) = wait_for_files(first, 2)
    assert (Path(b["file"]).name, b["accepted"], b["rejected"][0]["line"]) == ("b.jsonl", 2, 3)

    put(folder, "big.jsonl", records("big", MANY))
    wait_until("it is in the middle of the big file", lambda: stored(store) > 5, alive=first)
    first.kill()
    half = stored(store) - 5
    assert 0 < half < MANY

    second = follow(house, folder, followers, "again")
    put(folder, "a.jsonl", records("a", 3, outcome="failure"))
    read = {Path(each["file"]).name: each for each in wait_for_files(second, 2)}
    assert read.keys() == {"a.jsonl", "big.jsonl"}, "b.jsonl is as it was read"
    assert read["a.jsonl"]["revised"] == 3
    assert (read["big.jsonl"]["accepted"], read["big.jsonl"]["duplicates"]) == (MANY - half, half)
    assert second.stop(signal.SIGTERM) == 0
    assert "Stopped. 2 files read into acme/runs" in second.output()
    assert stored(store) == 5 + MANY


def test_a_signal_ends_a_follower_after_the_batch_with_a_summary(
    house: Home, folder: Path, store: Database, followers: list[Child]
) -> None:
    put(folder, "big.jsonl", records("big", MANY))
    child = follow(house, folder, followers)
    wait_until("it is in the middle of the file", lambda: stored(store) > 0, alive=child)
    assert child.stop(signal.SIGINT) == 0
    assert told(child) == []
    done = stored(store)
    assert f"Stopped. 0 files read into acme/runs: {done} episodes taken" in child.output()
    assert "Traceback" not in child.output()


@pytest.mark.parametrize("where", ["postgres"])
def test_two_followers_of_one_folder_neither_double_nor_end(
    house: Home, folder: Path, store: Database, followers: list[Child]
) -> None:
    for number in range(20):
        put(folder, f"f{number:02}.jsonl", records(f"f{number}", 10))
    both = [follow(house, folder, followers, name) for name in ("one", "two")]
    wait_until("everything is stored", lambda: stored(store) == 200, alive=both[0])
    put(folder, "last.jsonl", records("last", 5))
    wait_until("the last is stored", lambda: stored(store) == 205, alive=both[1])
    # A file is told of after its last batch is stored: one stopped in between has taken it in and not said so.
    wait_until("the last is told", lambda: any("last.jsonl" in str(line) for one in both for line in told(one)))
    assert [child.stop(signal.SIGTERM) for child in both] == [0, 0]
    assert stored(store) == 205
    lines = [line for child in both for line in told(child)]
    assert sum(line["accepted"] for line in lines) == 205
    assert sum(line["revised"] for line in lines) == 0
    assert {line["state"] for line in lines} == {"read"}


def test_ctrl_c_on_a_plain_ingest_says_what_was_taken_and_running_it_again_finishes_it(
    house: Home, folder: Path, store: Database, followers: list[Child]
) -> None:
    file = put(folder, "big.jsonl", records("big", MANY))
    followers.append(house.start("ingest", str(file), "-n", SPACE, "--json", name="plain"))
    child = followers[0]
    wait_until("it is in the middle of the file", lambda: stored(store) > 0, alive=child)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to the children as well
    wait_until("it has ended", lambda: child.exit_code is not None)
    assert child.exit_code == 130
    out = child.output()
    document = json.loads(out[out.index("{\n") : out.rindex("}\n") + 2])
    done = stored(store)
    assert (document["accepted"], document["stopped"]) == (done, True)
    assert "Running it again finishes it" in out
    again = house.json("ingest", file, "-n", SPACE)
    assert (again["accepted"], again["duplicates"]) == (MANY - done, done)


def test_ctrl_c_ends_an_ingest_that_waits_for_its_standard_input(sqlite_url: str, home: Home) -> None:
    home.settings |= {"SLOWWAVE_DATABASE_URL": sqlite_url, "SLOWWAVE_SECRET_KEY": "k" * 40}
    store = home.database()
    argv = [*COMMAND, "ingest", "-", "-n", SPACE]
    with subprocess.Popen(
        argv, env=home.env, cwd=home.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(records("a", 120))
        process.stdin.flush()
        wait_until("a batch is stored", lambda: stored(store) > 0)
        taken = [-1.0]

        def is_idle() -> bool:
            """Whether it took no time of a processor since the last look: it has done with the batch, and waits."""
            taken.append(sum(psutil.Process(process.pid).cpu_times()))
            return len(taken) > 4 and len(set(taken[-4:])) == 1

        wait_until("it waits for more", is_idle)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        said = process.stdout.read().decode()
        assert "episodes taken into acme/runs" in said
        assert "Traceback" not in said
    store.dispose()
