"""The notifier against a real outbox, driven by hand: nothing is skipped, told twice, or forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from read_api.notifier import Notifier
from read_api.subscription import Subscription
from storage.engine import Database
from storage.outbox import change, publish
from storage.tables import Namespace, OutboxEvent
from support.reviewing import Desk

from .conftest import SPACE


class HandDriven(Notifier):
    """A notifier whose thread is never started."""

    def start(self) -> None:
        """The test reads."""


@pytest.fixture
def announce(database: Database, desk: Desk, now: datetime) -> Callable[..., None]:
    def publishing(count: int = 1) -> None:
        for _ in range(count):
            with database.write() as session:
                publish(session, SPACE, [change("revoked", "some-rule", 1)], now)

    return publishing


async def drain(subscription: Subscription) -> list[tuple[str, int]]:
    await asyncio.sleep(0)
    found = []
    while (item := await subscription.next(0.01)) is not None:
        found.append((item.kind, item.epoch))
    return found


def test_everything_past_the_attachment_is_told_once(database: Database, announce: Any) -> None:
    async def run() -> None:
        notifier = HandDriven(database)
        announce(2)
        subscription = notifier.attach(SPACE, 2, "t")
        announce(2)
        notifier.read_once()
        notifier.read_once()
        assert await drain(subscription) == [("changes", 3), ("changes", 4)]

    asyncio.run(run())


def test_a_late_attachment_gets_what_others_were_told_meanwhile(database: Database, announce: Any) -> None:
    async def run() -> None:
        notifier = HandDriven(database)
        first = notifier.attach(SPACE, 0, "t")
        announce(3)
        notifier.read_once()
        late = notifier.attach(SPACE, 1, "t")
        assert await drain(late) == [("changes", 2), ("changes", 3)]
        assert len(await drain(first)) == 3

    asyncio.run(run())


def test_events_that_are_gone_are_a_resync(database: Database, announce: Any) -> None:
    async def run() -> None:
        notifier = HandDriven(database)
        subscription = notifier.attach(SPACE, 0, "t")
        announce(3)
        with database.write() as session:
            session.delete(session.get_one(OutboxEvent, (SPACE, 1)))
        notifier.read_once()
        assert await drain(subscription) == [("resync", 3)]
        assert await drain(notifier.attach(SPACE, 0, "t")) == [("resync", 3)]

    asyncio.run(run())


def test_a_store_that_went_back_in_time_is_a_resync(database: Database, announce: Any) -> None:
    async def run() -> None:
        notifier = HandDriven(database)
        announce(5)
        subscription = notifier.attach(SPACE, 5, "t")
        with database.write() as session:
            session.get_one(Namespace, SPACE).epoch = 2
        notifier.read_once()
        assert await drain(subscription) == [("resync", 2)]

    asyncio.run(run())


def test_a_stream_that_left_costs_nothing(database: Database, announce: Any) -> None:
    async def run() -> None:
        notifier = HandDriven(database)
        notifier.detach(notifier.attach(SPACE, 0, "t"))
        announce()
        notifier.read_once()
        assert notifier.metrics.sent._value.get() == 0
        assert notifier.age_seconds() < 5

    asyncio.run(run())


def test_streams_of_a_loop_that_is_closed_are_let_go(database: Database, announce: Any) -> None:
    async def attach() -> None:
        notifier.attach(SPACE, 0, "t")

    notifier = HandDriven(database)
    asyncio.run(attach())
    announce()
    notifier.read_once()
    assert notifier.metrics.subscribers._value.get() == 0


def test_closing_ends_every_stream_and_later_ones_too(database: Database, desk: Desk) -> None:
    async def run() -> None:
        notifier = HandDriven(database)
        subscription = notifier.attach(SPACE, 0, "t")
        await asyncio.to_thread(notifier.close)
        ended = await subscription.next(1)
        assert ended is not None
        assert ended.kind == "dropped"
        late = await notifier.attach(SPACE, 0, "t").next(1)
        assert late is not None
        assert late.kind == "dropped"

    asyncio.run(run())
