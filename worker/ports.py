"""Whether a port is free, and who has it if not."""

from __future__ import annotations

import socket

import psutil


class PortTaken(RuntimeError):
    """Another process listens where we would; stop it, or choose another port with --port."""


def check_free(host: str, port: int) -> None:
    """Refuse a port that another process has, before anything is started.

    Raises:
        PortTaken: naming the process where it may be seen.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As uvicorn binds: a port in TIME_WAIT after our own last run is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            raise PortTaken(_words(host, port, error)) from error


def free_port(host: str) -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _words(host: str, port: int, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"port {port} may not be opened by this user: choose one above 1023 with --port"
    holder = holder_of(port)
    by = f" by {holder}" if holder else ""
    return (
        f"port {port} on {host} cannot be used, it is taken{by} ({error.strerror}): stop that process, "
        f"or choose another: slowwave up --port {port + 1}"
    )


def holder_of(port: int) -> str | None:
    """Name and process id of whoever listens on a port; None where the system does not tell."""
    try:
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port and connection.pid:
                return f"{psutil.Process(connection.pid).name()} (process {connection.pid})"
    except (psutil.AccessDenied, psutil.NoSuchProcess):
        return None
    return None
