"""Who holds a lease, told so that the living of this machine can see whether the holder is dead."""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from pathlib import Path

import psutil


def owner() -> str:
    """``host/pid/start`` of this process; asked again after a fork, it gives the child's."""
    return _of(os.getpid())


@lru_cache(maxsize=4)
def _of(pid: int) -> str:
    return f"{socket.gethostname()}/{pid}/{started(pid)}"


def started(pid: int) -> str:
    """A mark that tells a process from a later one with the same number.

    On Linux the kernel's tick count since boot, which a step of the wall clock does not change.

    Raises:
        psutil.NoSuchProcess: if there is no such process.
    """
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return after_name[19]
    except (FileNotFoundError, ProcessLookupError):
        return f"{psutil.Process(pid).create_time():.2f}"


def is_dead(owner: str) -> bool:
    """Whether the holder ran on this host and is gone. False where it cannot be known: then its lease decides."""
    parts = owner.rsplit("/", 2)
    if len(parts) != 3 or parts[0] != socket.gethostname() or not parts[1].isdigit():
        return False
    pid = int(parts[1])
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE or started(pid) != parts[2]
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False
