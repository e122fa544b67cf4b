"""A uvicorn server that ends event streams before it waits for open connections, or it would wait for ever."""

from __future__ import annotations

import socket

import uvicorn

from read_api.notifier import Notifier

GRACE_SECONDS = 3


class StreamServer(uvicorn.Server):
    """Serves an app that holds event streams of ``notifier``."""

    def __init__(self, config: uvicorn.Config, notifier: Notifier) -> None:
        config.timeout_graceful_shutdown = config.timeout_graceful_shutdown or GRACE_SECONDS
        super().__init__(config)
        self._notifier = notifier

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell every stream that the server stops, then wait for the rest."""
        self._notifier.end_streams()
        await super().shutdown(sockets)
