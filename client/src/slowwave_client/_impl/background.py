"""What runs behind a client: the event stream, and the renewal of the lease. Flows without an end."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import NoReturn

from slowwave_client._impl import protocol
from slowwave_client._impl.core import Core
from slowwave_client._impl.effects import Call, Connect, Disconnect, Flow, Pause, Read, Response
from slowwave_client._impl.errors import AccessRefused, SlowwaveError, TransportFailed
from slowwave_client._impl.sse import EventParser, ServerEvent

FIRST_RETRY, LAST_RETRY = 0.1, 5.0

Spread = Callable[[], float]
"""A number in [0, 1): keeps a thousand clients from coming back in the same moment."""


class StreamEnded(Exception):
    """The stream closed, or may not be trusted: connect again."""


def listen(core: Core, spread: Spread = random.random) -> Flow[NoReturn]:
    """Follow the event stream for ever, coming back after each loss with growing, jittered pauses."""
    failures = 0
    while True:
        try:
            yield from _one_stream(core)
        except (StreamEnded, TransportFailed, SlowwaveError) as problem:
            failures = 0 if core.connected else failures + 1
            core.stream(False, str(problem))
            if isinstance(problem, AccessRefused):
                core.lost_access(problem)
        yield Disconnect()
        ceiling = min(LAST_RETRY, FIRST_RETRY * 2 ** min(failures, 10))
        yield Pause(ceiling * (0.5 + spread() / 2))


def _one_stream(core: Core) -> Flow[NoReturn]:
    response: Response = yield Connect(protocol.events(core.namespace, core.epoch))
    if response.status != 200:
        raise protocol.error(response)
    parser = EventParser()
    while True:
        chunk: bytes = yield Read()
        if not chunk:
            raise StreamEnded("the event stream was closed by the server")
        for event in parser.feed(chunk):
            take(core, event)


def take(core: Core, event: ServerEvent) -> None:
    """Apply one event of the stream.

    Raises:
        StreamEnded: the event says that the stream is over, or makes no sense.
    """
    try:
        data = json.loads(event.data)
        if event.kind == "dropped":
            raise StreamEnded(f"the server dropped this client: {data.get('reason')}")
        epoch = int(data["epoch"])
        if event.kind == "changes":
            core.apply(epoch, data["changes"])
        elif event.kind == "resync":
            core.refresh(epoch)
        elif event.kind in ("hello", "heartbeat"):
            _check_back_in_time(core, epoch, event.kind)
            core.see(epoch)
        if not core.connected and event.kind != "heartbeat":
            core.stream(True)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise StreamEnded(f"the event stream sent something unreadable ({event.kind}: {problem})") from None


def _check_back_in_time(core: Core, epoch: int, kind: str) -> None:
    if kind == "hello" and core.epoch is not None and epoch < core.epoch:
        raise StreamEnded(f"the server is at epoch {epoch}, older than {core.epoch}, which was seen before")


def renew(core: Core, spread: Spread = random.random) -> Flow[NoReturn]:
    """Keep the lease alive, three times a lease; and tell the server which epoch was applied."""
    while True:
        ticket = core.ticket()
        try:
            response: Response = yield Call(protocol.lease(core.namespace))
            lease = protocol.parse_lease(protocol.body(response))
            core.learn(ticket, lease.epoch, lease.lease_seconds, lease.age_seconds)
            pause = core.lease_seconds / 3
            yield from _acknowledge(core)
        except AccessRefused as problem:
            core.lost_access(problem)
            pause = core.lease_seconds / 3
        except (TransportFailed, SlowwaveError) as problem:
            core.stream(core.connected, str(problem))
            pause = min(core.lease_seconds / 10, 1.0)
        yield Pause(pause * (0.75 + spread() / 4))


def _acknowledge(core: Core) -> Flow[None]:
    epoch = core.epoch
    if epoch is None or core.acked == epoch:
        return
    try:
        response: Response = yield Call(protocol.ack(core.namespace, core.instance, epoch))
        protocol.body(response)
    except (TransportFailed, SlowwaveError):
        return  # a courtesy to the operator: it must not cost the lease
    core.acked = epoch
