"""The drill's proxy: passes bytes until it is cut, then falls silent without closing anything."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from worker.drill_proxy import Proxy


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that sends back what it is sent; gives its port."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(1024):
                connection.sendall(data)

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield listening.getsockname()[1]
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=5)


def is_silent(connection: socket.socket) -> bool:
    connection.settimeout(0.2)
    try:
        connection.sendall(b"is anybody there?")
        return connection.recv(1) is None
    except TimeoutError:
        return True


def test_bytes_pass_both_ways(echo: int) -> None:
    with Proxy(echo) as proxy, connect(proxy) as connection:
        connection.sendall(b"hello")
        assert connection.recv(1024) == b"hello"


def test_after_a_cut_open_connections_and_new_ones_are_silent_and_stay_open(echo: int) -> None:
    with Proxy(echo) as proxy, closing(connect(proxy)) as before:
        before.sendall(b"hello")
        before.recv(1024)
        proxy.cut()
        assert is_silent(before)
        with closing(connect(proxy)) as after:
            assert is_silent(after)


def test_a_server_that_is_gone_ends_the_connection(echo: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Proxy(port) as proxy, connect(proxy) as connection, suppress(ConnectionResetError):
        assert connection.recv(1) == b""
