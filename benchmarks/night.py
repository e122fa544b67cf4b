"""Times and memory of ingest and of a night: ``make bench``, or ``python benchmarks/night.py --episodes 5000``.

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
    asked.add_argument("--episodes", type=int, default=2000, help="how many, over three worlds")
    asked.add_argument("--seed", type=int, default=7)
    given = asked.parse_args()
    print(f"{given.episodes} episodes, seed {given.seed}, {os.cpu_count()} cores")
    for each in measure(given.episodes, given.seed):
        print(f"{each.what:32} {each.seconds:8.2f} s {each.megabytes:8.0f} MB   {each.said}")


def measure(episodes: int, seed: int) -> Iterator[Measured]:
    """Ingest, ingest again, one night, the same night again."""
    with tempfile.TemporaryDirectory(prefix="slowwave-bench-") as home:
        file = Path(home) / "episodes.jsonl"
        began = time.perf_counter()
        made = list(generate(seed, episodes, worlds=tuple(WORLDS), start=START))
        file.write_text("".join(json.dumps(each) + "\n" for each in made))
        yield Measured("run the worlds", time.perf_counter() - began, _own_megabytes(), f"{len(made)} episodes")
        take_in = ("ingest", str(file), "--namespace", NAMESPACE)
        night = ("consolidate", "--namespace", NAMESPACE, "--local")
        yield run("ingest", home, *take_in, show=("accepted", "duplicates"))
        yield run("ingest the same again", home, *take_in, show=("accepted", "duplicates"))
        yield run("one night", home, *night, show=("state", "clusters", "tests", "candidates"))
        yield run("the same night again", home, *night, show=("state",))
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
