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
LONGEST_WAIT = 60.0
"""A server that wants more than this is asked all the same."""
ACK_SECONDS = 1.0
"""At most about so often a client says what it applied: one word for all the events of that time."""

Spread = Callable[[], float]
"""A number in [0, 1): keeps a thousand clients from coming back in the same moment."""


class StreamEnded(Exception):
    """The stream closed, or may not be trusted: connect again."""


def listen(core: Core, spread: Spread = random.random) -> Flow[NoReturn]:
    """Follow the event stream for ever, coming back after each loss with growing, jittered pauses."""
    failures = 0
    while True:
        wanted = 0.0
        try:
            yield from _one_stream(core)
        except (StreamEnded, TransportFailed, SlowwaveError) as problem:
            wanted = _wanted(problem)
            failures = 0 if core.connected else failures + 1
            core.stream(False, str(problem))
            if isinstance(problem, AccessRefused):
                core.lost_access(problem)
        yield Disconnect()
        ceiling = min(LAST_RETRY, FIRST_RETRY * 2 ** min(failures, 10))
        yield Pause(max(ceiling, wanted * 2) * (0.5 + spread() / 2))


def _wanted(problem: Exception) -> float:
    """How many seconds the server wants to be left alone, as far as that is heeded."""
    return min(getattr(problem, "retry_after", None) or 0.0, LONGEST_WAIT)


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
        AccessRefused: the token may no longer be used here: nothing is served from this moment on.
    """
    try:
        data = json.loads(event.data)
        if event.kind == "dropped" and data.get("kind") == "revoked":
            raise AccessRefused(f"the server took this client's access away: {data.get('reason')}")
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
    """Keep the lease alive, three times a lease; and tell the server soon which epoch was applied."""
    while True:
        ticket = core.ticket()
        try:
            response: Response = yield Call(protocol.lease(core.namespace))
            lease = protocol.parse_lease(protocol.body(response))
            core.learn(ticket, lease.epoch, lease.lease_seconds, lease.age_seconds)
            pause = core.lease_seconds / 3
            yield from _tell_applied(core)
        except AccessRefused as problem:
            core.lost_access(problem)
            pause = core.lease_seconds / 3
        except (TransportFailed, SlowwaveError) as problem:
            core.stream(core.connected, str(problem))
            # told to wait, it waits; but the lease is not let run out for it
            pause = max(min(core.lease_seconds / 10, 1.0), min(_wanted(problem) / 0.75, core.lease_seconds / 3))
        yield from _rest(core, pause * (0.75 + spread() / 4), spread)


def _rest(core: Core, seconds: float, spread: Spread) -> Flow[None]:
    """Wait for the next renewal, in pieces: after each one, what was applied meanwhile is told.

    The pieces are jittered, since an event reaches a thousand clients in one moment. Where no answer comes the rest is
    over: whether the server is there matters more, and only a renewal tells.
    """
    is_heard = True
    while seconds > 0:
        piece = min(seconds, ACK_SECONDS * (0.5 + spread() / 2))
        yield Pause(piece)
        seconds -= piece
        if seconds > 0 and core.connected and is_heard:
            try:
                is_heard = yield from _tell_applied(core)
            except TransportFailed:
                return


def _tell_applied(core: Core) -> Flow[bool]:
    """Tell the server up to where everything was applied, unless it knows; False if it refuses to hear it.

    Raises:
        TransportFailed: no answer came.
    """
    epoch = core.epoch
    if epoch is None or core.acked == epoch:
        return True
    response: Response = yield Call(protocol.ack(core.namespace, core.instance, epoch))
    try:
        protocol.body(response)
    except SlowwaveError:
        return False  # a courtesy to the operator: it must not cost the lease
    core.acked = epoch
    return True
