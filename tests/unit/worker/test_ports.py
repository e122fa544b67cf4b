from __future__ import annotations

import os
import socket

import pytest

from worker.ports import PortTaken, check_free, free_port


def test_a_free_port_is_free() -> None:
    check_free("127.0.0.1", free_port("127.0.0.1"))


def test_a_taken_port_is_told_with_its_holder_and_another_to_use() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match=f"(?s){port}.*process {os.getpid()}.*--port {port + 1}"):
            check_free("127.0.0.1", port)
