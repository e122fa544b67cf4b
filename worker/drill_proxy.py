"""A small TCP proxy on loopback that a drill can make fall silent, as a network does that lost its way."""

from __future__ import annotations

import asyncio
import contextlib
import threading

START_SECONDS = 10.0
CHUNK = 65_536


class Proxy:
    """Passes bytes both ways until ``cut``; then nothing passes, and nobody is told: connections stay open, and new
    ones are taken and never answered. Only a client's own clock can tell."""

    def __init__(self, to_port: int, host: str = "127.0.0.1") -> None:
        self._host, self._to_port = host, to_port
        self._loop = asyncio.new_event_loop()
        self._cut = threading.Event()
        self._ready = threading.Event()
        # Held here: a task that waits for what nobody else holds is collected, and its connection with it.
        self._never = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="drill-proxy", daemon=True)
        self.port = 0

    def __enter__(self) -> Proxy:
        self._thread.start()
        if not self._ready.wait(START_SECONDS):
            raise TimeoutError("the drill's proxy did not start: is there a free port on loopback?")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end)
        self._thread.join(START_SECONDS)

    def cut(self) -> None:
        """From now on nothing passes."""
        self._cut.set()

    def _end(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError), asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._accept, self._host, 0, backlog=1024)
        self.port = int(server.sockets[0].getsockname()[1])
        self._ready.set()
        async with server:
            await server.serve_forever()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, both ways, until one side ends it."""
        ends: list[asyncio.StreamWriter] = [writer]
        try:
            await self._hold_if_cut()
            far_reader, far_writer = await asyncio.open_connection(self._host, self._to_port)
            ends.append(far_writer)
            ways = [asyncio.create_task(self._pass(reader, far_writer)),
                    asyncio.create_task(self._pass(far_reader, writer))]  # fmt: skip
            _, left = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in left:
                way.cancel()
        except (OSError, asyncio.CancelledError):
            pass  # the far side is gone, or the drill is over: either way this connection is
        finally:
            for end in ends:
                end.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                await self._hold_if_cut()
                writer.write(data)
                await writer.drain()
            await self._hold_if_cut()

    async def _hold_if_cut(self) -> None:
        if self._cut.is_set():
            await self._never.wait()
