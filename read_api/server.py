"""A uvicorn server that ends event streams before it waits for open connections, or it would wait for ever."""

from __future__ import annotations

import socket
from typing import Protocol

import uvicorn

GRACE_SECONDS = 3


class Streams(Protocol):
    """Whoever holds open event streams."""

    def end_streams(self) -> None:
        """End all of them without waiting."""


class StreamServer(uvicorn.Server):
    """Serves an app whose event streams are held by ``holders``."""

    def __init__(self, config: uvicorn.Config, *holders: Streams) -> None:
        config.timeout_graceful_shutdown = config.timeout_graceful_shutdown or GRACE_SECONDS
        super().__init__(config)
        self._holders = holders

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell every stream that the server stops, then wait for the rest."""
        for holder in self._holders:
            holder.end_streams()
        await super().shutdown(sockets)
