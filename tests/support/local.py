"""The local mode as a user has it: the command in a process of its own, a home folder, the stack of ``slowwave up``."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from storage.engine import Database
from support.processes import Child, free_port, wait_until
from support.servers import short_folder

COMMAND = [sys.executable, "-m", "worker.cli"]
ROOT = Path(__file__).resolve().parents[2]


def clean_environment(**given: str) -> dict[str, str]:
    """This process's environment without any setting of ours, and with these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLOWWAVE_")}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **given}


class CommandWentWrong(AssertionError):
    """A command ended with an unexpected exit code; the message holds all it said."""


@dataclass
class Home:
    """A home folder and the commands run on it."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    ups: list[Up] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        """The environment of every command here."""
        return clean_environment(SLOWWAVE_HOME=str(self.folder), **self.settings)

    @property
    def url(self) -> str:
        """The store's address."""
        return self.settings.get("SLOWWAVE_DATABASE_URL", f"sqlite:///{self.folder}/slowwave.db")

    def run(self, *arguments: str | Path, code: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end.

        Raises:
            CommandWentWrong: if it ended with another code.
        """
        argv = [*COMMAND, *map(str, arguments)]
        done = subprocess.run(
            argv, env={**self.env, **env}, cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if done.returncode != code:
            said = f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
            raise CommandWentWrong(f"slowwave {' '.join(argv[3:])}: exit code {done.returncode}, not {code}\n{said}")
        return done

    def json(self, *arguments: str | Path, code: int = 0, **env: str) -> Any:
        """Run a command with ``--json``; returns its one document."""
        return json.loads(self.run(*arguments, "--json", code=code, **env).stdout)

    def start(self, *arguments: str, name: str) -> Child:
        """Start a command that goes on."""
        return Child([*COMMAND, *arguments], cwd=self.folder, env=self.env, name=name).start()

    def up(self, *arguments: str) -> Up:
        """Start the stack and wait until it greets."""
        port = free_port()
        up = Up(self.start("up", "--port", str(port), *arguments, name="up"), port)
        self.ups.append(up)
        up.child.wait_for_output("Ctrl-C stops everything", seconds=60)
        return up

    def database(self) -> Database:
        """The store, opened by the test itself."""
        return Database(self.url)

    def stop(self) -> None:
        """Stop whatever was started here."""
        for up in self.ups:
            up.stop()


@dataclass
class Up:
    """A running ``slowwave up``."""

    child: Child
    port: int

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def processes(self) -> list[psutil.Process]:
        """Itself and everything below it."""
        try:
            main = psutil.Process(self.child.pid)
            return [main, *main.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def part(self, name: str) -> psutil.Process:
        """The first process of one part: web, worker, beat, relay."""
        for process in self.processes():
            if name in process.cmdline()[:6]:
                return process
        raise LookupError(f"no process of {name}: {[process.cmdline() for process in self.processes()]}")

    def stop(self, number: int = signal.SIGINT) -> int:
        """Ctrl-C, as the terminal sends it; returns the exit code."""
        for process in self.processes():
            if process.status() == psutil.STATUS_STOPPED:
                process.resume()
        return self.child.stop(number, seconds=30)


def answers(url: str) -> bool:
    """Whether a server answers there with success."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def wait_until_ready(url: str, alive: Child | None = None) -> None:
    """Wait until the agents' side is ready."""
    wait_until(f"{url} is ready", lambda: answers(f"{url}/health/ready"), alive=alive)


@pytest.fixture
def home() -> Iterator[Home]:
    """A fresh home folder; everything started on it is stopped at the end."""
    folder = short_folder()
    made = Home(folder)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def demo_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with world episodes and one finished night in each world."""
    folder = tmp_path_factory.mktemp("demo")
    Home(folder).json("demo", "--no-up")
    return folder


@pytest.fixture
def demo_home(demo_template: Path, home: Home) -> Home:
    """A copy of it, for one test."""
    shutil.copytree(demo_template, home.folder, dirs_exist_ok=True)
    return home
