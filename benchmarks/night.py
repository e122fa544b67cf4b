"""Times and memory of ingest and of nights: ``make bench``, or ``python benchmarks/night.py --episodes 100000``.

A first night over everything, then the next one with 5,000 new episodes, and how both grow from a tenth of the store.
Each command runs in a process of its own, as an operator's would. Compare ratios between versions on one machine; the
seconds of two machines say nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from worlds import WORLDS, generate  # noqa: E402 - the path above comes first

NAMESPACE = "bench"
START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Measured:
    """One command: how long it took, the most memory it held, what it printed."""

    what: str
    seconds: float
    megabytes: float
    said: Any


def main() -> None:
    """Measure, then print a table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--episodes", type=int, default=20_000, help="how many, over three worlds")
    asked.add_argument("--added", type=int, default=None, help="new ones for the next night (default: a twentieth)")
    asked.add_argument("--seed", type=int, default=7)
    asked.add_argument("--no-task-keys", action="store_true", help="leave task_key out, as most real logs do")
    given = asked.parse_args()
    added = given.added if given.added is not None else given.episodes // 20
    print(f"{given.episodes} episodes and {added} more, seed {given.seed}, {os.cpu_count()} cores")
    nights: dict[int, list[Measured]] = {}
    for size, more in ((given.episodes // 10, added // 10), (given.episodes, added)):
        print(f"\n{size} episodes")
        for each in measure(size, more, given.seed, task_keys=not given.no_task_keys):
            nights.setdefault(size, []).append(each)
            print(f"{each.what:32} {each.seconds:8.2f} s {each.megabytes:8.0f} MB   {each.said}", flush=True)
    small, large = ({each.what: each.seconds for each in nights[size]} for size in sorted(nights))
    print("\nratios")
    print(f"next night / first night         {large['the next night'] / large['one night']:8.3f}")
    print(f"first night, ten times as many   {large['one night'] / small['one night']:8.2f}")
    print(f"next night, ten times as many    {large['the next night'] / small['the next night']:8.2f}")


def measure(episodes: int, added: int, seed: int, *, task_keys: bool = True) -> Iterator[Measured]:
    """Ingest, ingest again, one night, the same night again, and the next night with ``added`` new episodes."""
    with tempfile.TemporaryDirectory(prefix="slowwave-bench-") as home:
        file, later = Path(home) / "episodes.jsonl", Path(home) / "later.jsonl"
        began = time.perf_counter()
        made = generate(seed, episodes + added, worlds=tuple(WORLDS), start=START, task_keys=task_keys)
        with file.open("w") as first, later.open("w") as second:
            for index, each in enumerate(made):
                (first if index < episodes else second).write(json.dumps(each) + "\n")
        yield Measured("run the worlds", time.perf_counter() - began, _own_megabytes(), f"{episodes} episodes")
        take_in = ("--namespace", NAMESPACE)
        night = ("consolidate", "--namespace", NAMESPACE, "--local")
        shown = ("state", "episodes", "clusters", "tests", "candidates")
        yield run("ingest", home, "ingest", str(file), *take_in, show=("accepted", "duplicates"))
        yield run("ingest the same again", home, "ingest", str(file), *take_in, show=("accepted", "duplicates"))
        yield run("one night", home, *night, show=shown)
        yield run("the same night again", home, *night, show=("state",))
        yield run("ingest what is new", home, "ingest", str(later), *take_in, show=("accepted", "duplicates"))
        yield run("the next night", home, *night, "--night", "2100-01-02", show=shown)
        yield run("read the queue", home, "queue", "--namespace", NAMESPACE)


def run(what: str, home: str, *arguments: str, show: tuple[str, ...] = ()) -> Measured:
    """Run one command and measure it alone."""
    env = {**os.environ, "SLOWWAVE_HOME": home, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-m", "worker.cli", *arguments, "--json"]
    began = time.perf_counter()
    process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    answer = json.loads(process.stdout.read())
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    said = {name: answer[name] for name in show} if show else f"{len(answer)} rows"
    return Measured(what, time.perf_counter() - began, used.ru_maxrss / 1024, said)


def _own_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
