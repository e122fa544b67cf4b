"""The drill's end of its reader processes: orders in, what they noted out."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

from tasks.revoke.drill import Reading, Spell, reading

TO_A_PROCESS = 50
"""Readers of one process: a client is light, an interpreter is not."""
OPEN_SECONDS = 120.0
END_SECONDS = 20.0


@dataclass(frozen=True)
class Orders:
    """What one reader process is to do: which readers it holds, what they ask, and which rule is the canary."""

    url: str
    token: str
    namespace: str
    task: str
    rule: str
    names: list[str]
    every_seconds: float


class ReadersFailed(RuntimeError):
    """The readers of a drill could not do their part: no figure comes of it."""


def shared(names: Sequence[str]) -> list[list[str]]:
    """The readers of each process, spread evenly."""
    processes = -(-len(names) // TO_A_PROCESS)
    return [list(names[at::processes]) for at in range(processes)]


class Readers:
    """Reader processes, as a context. Everything they say comes through one queue.

    ``module`` is what each of them runs; one process for each of the orders.
    """

    def __init__(self, orders: Sequence[Orders], module: str = "worker.drill_reader") -> None:
        self._module = module
        self._said: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()
        # What was said, by word and process: one may be at its end while another is still at its beginning.
        self._heard: defaultdict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        self._orders = orders
        self._processes: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Readers:
        for number, orders in enumerate(self._orders):
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and modules
                [sys.executable, "-m", self._module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: value for name, value in os.environ.items() if not name.startswith("SLOWWAVE_")},
                text=True,
            )
            self._processes.append(process)
            self._tell(process, json.dumps(asdict(orders)))
            threading.Thread(target=self._listen, args=(number, process), daemon=True).start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        for process in self._processes:
            if process.stdin is not None and not process.stdin.closed:
                process.stdin.close()  # the end of its input is the end of a reader process
        for process in self._processes:
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def wait_until_ready(self) -> None:
        """Every reader has the canary in its cache.

        Raises:
            ReadersFailed: one could not, or took too long.
        """
        if len(self._await("ready", time.monotonic() + OPEN_SECONDS)) < len(self._processes):
            raise ReadersFailed(f"not every reader had the canary within {OPEN_SECONDS:.0f} s: fewer --readers?")

    def wait_until_stopped(self, seconds: float) -> bool:
        """Whether every reader has stopped serving the canary within this time."""
        return len(self._await("stopped", time.monotonic() + seconds)) == len(self._processes)

    def readings(self, committed: float) -> list[Reading]:
        """End the reading; what each reader noted, in seconds from ``committed`` of this machine's monotonic clock."""
        noted = [spells for each in self.findings() for spells in each["spells"].values()]
        return [
            reading([Spell(served, asked - committed, answered - committed) for served, asked, answered in spells])
            for spells in noted
        ]

    def findings(self) -> list[dict[str, Any]]:
        """End it; what each process tells at its end. A process that tells nothing is missing."""
        for process in self._processes:
            self._tell(process, "over")
        return self._await("findings", time.monotonic() + END_SECONDS)

    def _await(self, what: str, end: float) -> list[dict[str, Any]]:
        """One word of this kind from every process, or of as many as spoke until ``end``."""
        found = self._heard[what]
        while len(found) < len(self._processes):
            try:
                number, said = self._said.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                break
            if said["say"] == "failed":
                raise ReadersFailed(f"the readers could not read: {said['why']}")
            self._heard[said["say"]][number] = said
        return list(found.values())

    def _listen(self, number: int, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self._said.put((number, json.loads(line)))
        if process.wait():
            why = f"a reader process ended with code {process.returncode}; is it installed? pip install slowwave-client"
            self._said.put((number, {"say": "failed", "why": why}))

    @staticmethod
    def _tell(process: subprocess.Popen[str], line: str) -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it is gone: the listener tells
