"""One stream's queue is bounded: a consumer that is too slow is told and let go."""

from __future__ import annotations

import asyncio

from read_api.subscription import Item, Subscription


def items(*epochs: int) -> list[Item]:
    return [Item("changes", epoch, b"{}") for epoch in epochs]


def test_items_come_in_order_and_silence_is_none() -> None:
    async def run() -> None:
        subscription = Subscription("n", "t")
        assert subscription.deliver(items(1, 2))
        assert [await subscription.next(1) for _ in range(2)] == items(1, 2)
        assert await subscription.next(0.001) is None

    asyncio.run(run())


def test_a_consumer_that_waits_is_woken() -> None:
    async def run() -> None:
        subscription = Subscription("n", "t")
        asyncio.get_running_loop().call_soon(subscription.deliver, items(1))
        assert await subscription.next(5) == items(1)[0]

    asyncio.run(run())


def test_a_slow_consumer_loses_its_queue_and_is_told() -> None:
    async def run() -> None:
        subscription = Subscription("n", "t", size=3)
        assert not subscription.deliver(items(1, 2, 3, 4))
        assert not subscription.deliver(items(5))
        last = await subscription.next(1)
        assert last is not None
        assert last.kind == "dropped"
        assert b"too slow" in last.data

    asyncio.run(run())


def test_what_came_before_the_end_is_still_delivered() -> None:
    async def run() -> None:
        subscription = Subscription("n", "t")
        subscription.deliver([*items(1), Item("dropped", 0, b"{}")])
        kinds = [item.kind for item in [await subscription.next(1), await subscription.next(1)] if item]
        assert kinds == ["changes", "dropped"]

    asyncio.run(run())
