"""The names that others build on."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import slowwave_client
from slowwave_client import AsyncMemory, AsyncSession, Memory, MemoryStale, MemoryUnavailable, Session, SlowwaveError

PUBLIC = {
    "AccessRefused", "AsyncMemory", "AsyncSession", "BadRequest", "ClientClosed", "EpisodeRecord", "EvidenceFigures",
    "ForeignSession", "Memory",
    "MemoryStale", "MemoryUnavailable", "NotFound", "Rule", "RuleSet", "Session", "SessionCheck", "SlowwaveError",
    "StaleRead", "VersionGone", "WaitTimeout", "Withheld",
}  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert set(slowwave_client.__all__) == PUBLIC
    assert {getattr(slowwave_client, name).__module__ for name in PUBLIC} == {"slowwave_client"}


@pytest.mark.parametrize(("sync", "awaited"), [(Memory, AsyncMemory), (Session, AsyncSession)])
def test_both_clients_have_the_same_methods_and_signatures(sync: type, awaited: type) -> None:
    def methods(of: type) -> dict[str, list[str]]:
        names = [name for name, value in inspect.getmembers(of) if callable(value) and not name.startswith("_")]
        return {name: list(inspect.signature(getattr(of, name)).parameters)[1:] for name in names}

    assert methods(sync) == methods(awaited)
    assert list(inspect.signature(Memory).parameters) == list(inspect.signature(AsyncMemory).parameters)


def test_whoever_catches_unavailable_catches_stale() -> None:
    assert issubclass(MemoryStale, MemoryUnavailable)
    assert issubclass(MemoryUnavailable, SlowwaveError)


def test_a_token_is_in_no_representation() -> None:
    with Memory("http://127.0.0.1:1", "sw_secret", "acme/shop") as memory:
        assert "sw_secret" not in repr(memory)


def test_it_imports_httpx_and_nothing_of_the_server() -> None:
    look = "import sys, slowwave_client; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = set(
        subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split()
    )
    assert "httpx" in loaded
    assert not loaded & {"worker", "tasks", "storage", "review_ui", "read_api", "sqlalchemy", "pydantic", "celery"}


def test_it_is_written_in_the_python_it_promises() -> None:
    package = Path(slowwave_client.__file__).parent
    assert (package / "py.typed").exists()
    for file in package.rglob("*.py"):
        ast.parse(file.read_text(), str(file), feature_version=(3, 10))
