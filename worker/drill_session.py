"""``python -m worker.drill_session``: one process of a drill with some sessions in it that read a rule and act on it.

Before each action a session asks whether what it read still holds, as agents should; told otherwise, it keeps the rest
of its plan to itself. Orders and findings go as in ``worker.drill_reader``.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from slowwave_client import AsyncMemory, AsyncSession, SlowwaveError
from worker.drill_reader import say
from worker.drill_readers import Orders

PLANNED = 500
"""Actions that a session means to take: more than it gets to, so that some are pending when it is stopped."""
UNKNOWN = "unanswered"


@dataclass
class Actor:
    """One session: when its actions began, and what it was told last."""

    name: str
    orders: Orders
    done: list[float] = field(default_factory=list)
    verdict: str = ""

    async def act(self) -> None:
        """Read, then act until told otherwise, or until nothing is left to do.

        Raises:
            RuntimeError: the rule is not served.
            SlowwaveError: the server cannot be had.
        """
        orders = self.orders
        async with (
            AsyncMemory(orders.url, orders.token, orders.namespace, client_instance=self.name) as memory,
            memory.session(self.name) as session,
        ):
            read = await session.rules(orders.task, k=1)
            if [rule.id for rule in read] != [orders.rule]:
                raise RuntimeError(f"session {self.name} was given {[rule.id for rule in read]}, not {orders.rule}")
            while len(self.done) < PLANNED and await self._may_go_on(session):
                self.done.append(time.monotonic())
                await asyncio.sleep(orders.every_seconds)

    async def _may_go_on(self, session: AsyncSession) -> bool:
        try:
            self.verdict = (await session.check()).verdict
        except SlowwaveError:
            self.verdict = UNKNOWN  # whoever cannot ask does not act
        return self.verdict == "fine"

    def told(self) -> dict[str, Any]:
        """What the drill is told of it."""
        return {"rule": self.orders.rule, "done": self.done, "pending": PLANNED - len(self.done),
                "verdict": self.verdict}  # fmt: skip


async def main() -> None:
    """Take the orders, act until every session is stopped, tell what became of them."""
    orders = Orders(**json.loads(sys.stdin.readline()))
    actors = [Actor(name, orders) for name in orders.names]
    acting = [asyncio.create_task(actor.act()) for actor in actors]
    try:
        while not all(actor.done for actor in actors) and not any(task.done() for task in acting):
            await asyncio.sleep(0.02)
        say("ready")
        await asyncio.gather(*acting)
    except (SlowwaveError, RuntimeError) as problem:
        say("failed", why=str(problem))
        return
    say("stopped")
    say("findings", sessions={actor.name: actor.told() for actor in actors})


if __name__ == "__main__":
    asyncio.run(main())
