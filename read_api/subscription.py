"""One open event stream's queue: bounded, filled from the notifier's thread, emptied on the event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

QUEUE = 256


@dataclass(frozen=True)
class Item:
    """One event, already encoded. ``kind`` is ``changes``, ``resync`` or ``dropped`` (the last one)."""

    kind: str
    epoch: int
    data: bytes


class Subscription:
    """Created and read on one event loop; only ``deliver`` is called from elsewhere, through that loop."""

    def __init__(self, namespace: str, token_id: str, token_hash: str = "", size: int = QUEUE) -> None:
        self.namespace = namespace
        self.token_id = token_id
        self.token_hash = token_hash
        self.loop = asyncio.get_running_loop()
        self.ended: Item | None = None
        self._size = size
        self._items: deque[Item] = deque()
        self._ready = asyncio.Event()

    def deliver(self, items: Iterable[Item]) -> bool:
        """On the loop: queue items. False if this consumer is too slow: it loses them and will be told."""
        for item in items:
            if self.ended is not None:
                return False
            if item.kind == "dropped":
                self.ended = item
            elif len(self._items) >= self._size:
                self._items.clear()
                self.ended = Item("dropped", item.epoch, b'{"reason":"too slow: events were lost; connect again"}')
            else:
                self._items.append(item)
        self._ready.set()
        return self.ended is None

    async def next(self, timeout: float) -> Item | None:
        """The next item, the end once the queue is empty, or None after ``timeout`` seconds of silence."""
        if not self._items and self.ended is None:
            self._ready.clear()
            try:
                await asyncio.wait_for(self._ready.wait(), timeout)
            except TimeoutError:
                return None
        return self._items.popleft() if self._items else self.ended
