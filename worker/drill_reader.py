"""``python -m worker.drill_reader``: one process of a drill with some readers in it, each a client of its own.

Each reader has its own ``AsyncMemory``: its own cache, event stream and lease. The orders come as lines of JSON on
standard input, the token among them, so that no list of processes shows it; what is found goes out the same way.
Where standard input ends, so does the process: no reader outlives its drill.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

from slowwave_client import AsyncMemory, SlowwaveError
from worker.drill_readers import Orders

OPENED_AT_ONCE = 8
OPEN_SECONDS = 60.0
SEARCH = "/v1/rules/search"
SEARCH_EVERY_SECONDS = 0.1
"""Between two searches of one process: 200 readers still search more often than as many agents do."""
REST_SECONDS = 0.5
"""How often a reader that stopped looks whether it is served again."""


class Pace:
    """Turns, one after the other, each so long after the one before."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for the next turn."""
        now = time.monotonic()
        self._next = max(now, self._next + self._seconds)
        await asyncio.sleep(self._next - now)


class PacedTransport(httpx.AsyncHTTPTransport):
    """Lets searches take turns: all readers of a machine that search in one moment would measure the search, and hold
    up the very process that notes when each of them stopped. A question is noted when it is asked, before its turn."""

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self._pace = pace

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """One request; everything else than a search goes at once."""
        if request.url.path == SEARCH:
            await self._pace.turn()
        return await super().handle_async_request(request)


@dataclass
class Reader:
    """One agent that goes on asking, and what it was answered: spells of (served, first asked, last answered)."""

    name: str
    orders: Orders
    memory: AsyncMemory
    spells: list[list[Any]] = field(default_factory=list)

    @property
    def is_refused(self) -> bool:
        """Whether the last answer was without the canary."""
        return bool(self.spells) and not self.spells[-1][0]

    async def open(self) -> None:
        """Have the canary in the cache, and the event stream up.

        Raises:
            RuntimeError: the canary is not served.
            SlowwaveError: the server cannot be had.
        """
        if not await self._is_served():
            raise RuntimeError(f"reader {self.name} was not given the canary: is {self.orders.namespace} a drill's?")
        await self.memory.wait_until_connected(timeout=OPEN_SECONDS)

    async def ask(self) -> None:
        """One question, noted with when it was asked and answered."""
        asked = time.monotonic()
        try:
            served = await self._is_served()
        except SlowwaveError:
            served = False  # it fails closed: what is not answered is not served
        answered = time.monotonic()
        if self.spells and self.spells[-1][0] == served:
            self.spells[-1][2] = answered
        else:
            self.spells.append([served, asked, answered])

    async def go_on(self) -> None:
        """Ask for ever."""
        while True:
            await self.ask()
            await asyncio.sleep(REST_SECONDS if self.is_refused else self.orders.every_seconds)

    async def _is_served(self) -> bool:
        found = await self.memory.rules(self.orders.task, session_id=self.name)
        return any(rule.id == self.orders.rule for rule in found)


def say(what: str, **values: Any) -> None:
    """One line to the drill."""
    sys.stdout.write(json.dumps({"say": what, **values}) + "\n")
    sys.stdout.flush()


async def read(orders: Orders, over: asyncio.Event) -> None:
    """Open every reader, go on asking until it is over, then tell what each noted."""
    pace = Pace(SEARCH_EVERY_SECONDS)
    readers = [Reader(name, orders, _client(orders, name, pace)) for name in orders.names]
    gate = asyncio.Semaphore(OPENED_AT_ONCE)

    async def opened(reader: Reader) -> None:
        async with gate:
            await reader.open()

    await asyncio.gather(*map(opened, readers))
    asking = [asyncio.create_task(reader.go_on()) for reader in readers]
    watching = asyncio.create_task(_tell_when_stopped(readers))
    while not all(reader.spells for reader in readers):
        await asyncio.sleep(orders.every_seconds)
    say("ready", readers=len(readers))
    await over.wait()
    for task in (*asking, watching):
        task.cancel()
    say("findings", spells={reader.name: reader.spells for reader in readers})


def _client(orders: Orders, name: str, pace: Pace) -> AsyncMemory:
    return AsyncMemory(
        orders.url, orders.token, orders.namespace, client_instance=name, transport=PacedTransport(pace)
    )  # fmt: skip


async def _tell_when_stopped(readers: list[Reader]) -> None:
    while not all(reader.is_refused for reader in readers):
        await asyncio.sleep(REST_SECONDS / 10)
    say("stopped", readers=len(readers))


async def _until_told(over: asyncio.Event) -> None:
    await asyncio.to_thread(sys.stdin.readline)
    over.set()


async def main() -> None:
    """Take the orders and do them; the next line, or the end of the input, is the end."""
    orders = Orders(**json.loads(sys.stdin.readline()))
    over = asyncio.Event()
    told = asyncio.create_task(_until_told(over))
    try:
        await read(orders, over)
    except (SlowwaveError, RuntimeError) as problem:
        say("failed", why=str(problem))
    finally:
        told.cancel()


if __name__ == "__main__":
    asyncio.run(main())
