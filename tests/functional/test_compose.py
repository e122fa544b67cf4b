"""docker-compose.yml: what it promises, and that each service's command runs with its environment until it is healthy.

The image itself needs a Docker engine to be built; the commands, the settings and the health checks do not.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

from support import compose, nights
from support.local import ROOT, answers, clean_environment
from support.processes import Child, free_port, wait_until
from support.servers import PostgresServer, short_folder

FILE = ROOT / "docker-compose.yml"
SECRETS = {
    "POSTGRES_PASSWORD": "postgres-" + "a1" * 16,
    "REDIS_PASSWORD": "redis-" + "b2" * 16,
    "SLOWWAVE_SECRET_KEY": "key-" + "c3" * 32,
    **{f"SLOWWAVE_{role}_PASSWORD": role.lower() + "d4" * 16 for role in ("READER", "INGEST", "REVIEWER", "WORKER")},
}
OURS = ("worker", "beat", "relay", "review_ui", "read_api")
WEB = {"review_ui": "/login", "read_api": "/health/ready"}


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    """The services as written."""
    services: dict[str, Any] = compose.load(FILE)["services"]
    return services


def test_every_part_is_a_service(written: dict[str, Any]) -> None:
    assert set(written) == {"postgres", "redis", "migrate", *OURS}


def test_every_service_that_goes_on_has_a_health_check(written: dict[str, Any]) -> None:
    assert {name for name, service in written.items() if "healthcheck" not in service} == {"migrate"}


def test_every_port_is_bound_to_loopback(written: dict[str, Any]) -> None:
    ports = [port for service in written.values() for port in service.get("ports", [])]
    assert len(ports) == 4
    assert all(port.startswith("127.0.0.1:") for port in ports)


@pytest.mark.parametrize("missing", SECRETS)
def test_a_secret_that_is_not_given_is_refused_with_a_hint(written: dict[str, Any], missing: str) -> None:
    given = {name: value for name, value in SECRETS.items() if name != missing}
    with pytest.raises(compose.SecretMissing, match=missing):
        compose.resolve(written, given)


def test_no_variable_has_a_default_and_no_secret_is_written_down(written: dict[str, Any]) -> None:
    text = json.dumps(written)
    assert {name for name, _ in compose.REQUIRED.findall(text)} == set(SECRETS)
    assert not compose.ANY_VARIABLE.search(compose.REQUIRED.sub("", text))


def test_our_services_run_without_privileges(written: dict[str, Any]) -> None:
    for name in ("migrate", *OURS):
        assert written[name]["read_only"] is True
        assert written[name]["cap_drop"] == ["ALL"]
    assert "USER 10001" in (ROOT / "Dockerfile").read_text()


def test_the_image_holds_every_package_that_is_installed(root: Path) -> None:
    ignored = (root / ".dockerignore").read_text().splitlines()
    packages = ("worker", "tasks", "storage", "review_ui", "read_api", "worlds", "client")
    for package in (*packages, "pyproject.toml", "README.md"):
        assert f"!{package}" in ignored


class Project:
    """The services as processes on local servers."""

    def __init__(self, services: dict[str, Any], folder: Path, server: PostgresServer) -> None:
        self.services, self.folder, self.server = services, folder, server
        self.redis_port = free_port()
        self.shims = compose.redis_shims(folder / "bin", self.redis_port)
        self.ports = {name: free_port() for name in WEB}
        self.children: list[Child] = []

    def environment(self, name: str) -> dict[str, str]:
        """A service's environment, its container's addresses put in this machine's terms."""
        given = {key: self._here(str(value)) for key, value in self.services[name].get("environment", {}).items()}
        if name in self.ports:
            given |= {"SLOWWAVE_PORT": str(self.ports[name]), "SLOWWAVE_HOST": "127.0.0.1"}
        own = Path(sys.executable).parent
        path = os.pathsep.join([str(self.shims), str(own), str(self.server.programs), os.environ["PATH"]])
        return clean_environment(**given, PATH=path, PGHOST=str(self.server.folder))

    def _here(self, value: str) -> str:
        value = value.replace("@postgres:5432/slowwave", f"@/slowwave?host={self.server.folder}")
        value = value.replace("@redis:6379", f"@127.0.0.1:{self.redis_port}")
        return value.replace("/var/lib/slowwave", str(self.folder / "home"))

    def start(self, name: str) -> Child:
        """Start a service's command."""
        argv = self.services[name]["command"]
        child = Child(argv, cwd=self.folder, env=self.environment(name), name=name).start()
        self.children.append(child)
        return child

    def run(self, name: str, argv: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a command in a service's environment."""
        return subprocess.run(argv, env=self.environment(name), cwd=self.folder, capture_output=True, text=True)

    def wait_until_healthy(self, name: str, child: Child | None = None) -> None:
        """Until the health check passes."""
        argv = compose.health_command(self.services[name])
        wait_until(f"{name} is healthy", lambda: self.run(name, argv).returncode == 0, seconds=90, alive=child)

    def stop(self) -> None:
        """The last started first."""
        for child in reversed(self.children):
            child.stop()


@pytest.fixture
def project(written: dict[str, Any], postgres_server: PostgresServer) -> Iterator[Project]:
    """PostgreSQL and Redis are healthy, nothing of ours runs yet."""
    services = compose.resolve(written, SECRETS)
    folder = short_folder()
    database = services["postgres"]["environment"]
    owner, password = sql.Identifier(database["POSTGRES_USER"]), sql.Literal(database["POSTGRES_PASSWORD"])
    name = sql.Identifier(database["POSTGRES_DB"])
    postgres_server.run(
        sql.SQL("CREATE ROLE {} SUPERUSER LOGIN PASSWORD {}").format(owner, password),
        sql.SQL("CREATE DATABASE {} OWNER {}").format(name, owner),
    )
    made = Project(services, folder, postgres_server)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder)
        postgres_server.drop(database["POSTGRES_DB"])
        postgres_server.run(sql.SQL("DROP ROLE {}").format(owner))


@pytest.mark.processes
def test_every_service_becomes_healthy_and_a_night_runs_through_them(project: Project) -> None:
    project.wait_until_healthy("postgres")
    project.wait_until_healthy("redis", project.start("redis"))
    migrated = project.run("migrate", project.services["migrate"]["command"])
    assert migrated.returncode == 0, migrated.stderr

    running = {name: project.start(name) for name in OURS}
    for name, child in running.items():
        project.wait_until_healthy(name, child)
    for name, path in WEB.items():
        assert answers(f"http://127.0.0.1:{project.ports[name]}{path}")

    episodes = nights.write_episodes(project.folder / "travel.jsonl")
    taken = project.run("migrate", ["slowwave", "ingest", str(episodes), "-n", nights.NAMESPACE, "--json"])
    assert json.loads(taken.stdout)["accepted"] == nights.EPISODES, taken.stderr
    night = project.run("migrate", ["slowwave", "consolidate", "-n", nights.NAMESPACE, "--wait", "--json"])
    assert json.loads(night.stdout)["state"] == "completed", night.stderr

    codes = {name: child.stop() for name, child in running.items()}
    # uvicorn ends in order and then gives itself the signal that it was sent.
    assert all(code in (0, -signal.SIGTERM) for code in codes.values()), codes
