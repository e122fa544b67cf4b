"""Server-sent events: parsed in any pieces, applied to the core, come back after a loss."""

from __future__ import annotations

import json
from typing import Any

import pytest

from slowwave_client._impl import background
from slowwave_client._impl.core import Core
from slowwave_client._impl.effects import Call, Connect, Disconnect, Pause, Read, Response
from slowwave_client._impl.errors import AccessRefused, TransportFailed
from slowwave_client._impl.sse import EventParser, ServerEvent

WIRE = (
    'event: changes\r\nid: 4-0\ndata: {"epoch":4,\ndata: "naïve":"日本"}\n\n: a comment\n\nevent: x\n\ndata: last\r\r'
).encode()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_however_the_bytes_are_cut(size: int) -> None:
    parser = EventParser()
    found = [event for at in range(0, len(WIRE), size) for event in parser.feed(WIRE[at : at + size])]
    found += parser.feed(b"\n")
    assert found == [
        ServerEvent("changes", '{"epoch":4,\n"naïve":"日本"}', "4-0"),
        ServerEvent("message", "last", "4-0"),
    ]


def take(core: Core, kind: str, **data: Any) -> None:
    background.take(core, ServerEvent(kind, json.dumps(data), ""))


def test_a_client_whose_access_was_taken_away_is_refused_before_it_asks_again(core: Core) -> None:
    take(core, "hello", epoch=3)
    with pytest.raises(AccessRefused, match="took this client's access away"):
        background.take(core, ServerEvent("dropped", json.dumps({"reason": "revoked", "kind": "revoked"}), ""))


def test_hello_connects(core: Core) -> None:
    take(core, "hello", epoch=3)
    assert core.connected
    assert core.epoch == 3


def test_a_heartbeat_with_a_newer_epoch_is_a_gap(core: Core) -> None:
    take(core, "hello", epoch=3)
    take(core, "heartbeat", epoch=5, age_seconds=0)
    assert core.epoch == 5


def test_no_event_of_the_stream_renews_a_lease(core: Core) -> None:
    before = core.deadline
    take(core, "hello", epoch=3, lease_seconds=15)
    take(core, "heartbeat", epoch=3, age_seconds=0)
    take(core, "changes", epoch=4, changes=[])
    assert core.deadline == before


@pytest.mark.parametrize(
    ("kind", "data"), [("dropped", {"reason": "too slow"}), ("changes", {"epoch": 4}), ("hello", {}), ("hello", [])]
)
def test_a_stream_that_ends_or_makes_no_sense_is_left(core: Core, kind: str, data: Any) -> None:
    with pytest.raises(background.StreamEnded):
        background.take(core, ServerEvent(kind, json.dumps(data), ""))


def test_a_server_older_than_what_was_seen_is_left(core: Core) -> None:
    core.see(7)
    with pytest.raises(background.StreamEnded, match="older than 7"):
        take(core, "hello", epoch=6)


def test_it_resumes_after_the_last_epoch_seen_and_waits_longer_each_time(core: Core) -> None:
    core.see(7)
    flow = background.listen(core, spread=lambda: 1.0)
    pauses = []
    effect = next(flow)
    for _ in range(9):
        assert isinstance(effect, Connect)
        assert effect.request.headers["Last-Event-ID"] == "7-0"
        assert isinstance(flow.throw(TransportFailed("refused")), Disconnect)
        pause = flow.send(None)
        assert isinstance(pause, Pause)
        pauses.append(pause.seconds)
        effect = flow.send(None)
    assert pauses == sorted(pauses)
    assert pauses[0] < 0.5
    assert pauses[-1] == background.LAST_RETRY
    assert not core.connected
    assert core.last_error == "refused"


def test_a_stream_that_closes_after_it_was_up_is_opened_again_at_once(core: Core) -> None:
    flow = background.listen(core, spread=lambda: 0.0)
    next(flow)
    assert isinstance(flow.send(Response(200, {}, b"")), Read)
    assert isinstance(flow.send(b'event: hello\ndata: {"epoch":1}\n\n'), Read)
    assert core.connected
    assert isinstance(flow.send(b""), Disconnect)
    assert not core.connected
    pause = flow.send(None)
    assert isinstance(pause, Pause)
    assert pause.seconds <= background.FIRST_RETRY


def renewed(epoch: int) -> Response:
    body = {"epoch": epoch, "lease_seconds": 15, "age_seconds": 0}
    return Response(200, {}, json.dumps(body).encode())


def test_the_lease_is_renewed_three_times_a_lease_and_the_epoch_acknowledged_once(core: Core) -> None:
    flow = background.renew(core, spread=lambda: 1.0)
    assert next(flow) == Call(background.protocol.lease("acme/shop"))
    assert flow.send(renewed(4)) == Call(background.protocol.ack("acme/shop", "client-1", 4))
    assert rested(flow, flow.send(Response(200, {}, b"{}"))) == (5.0, Call(background.protocol.lease("acme/shop")))
    assert rested(flow, flow.send(renewed(4)))[0] == 5.0


def rested(flow: Any, effect: Any) -> tuple[float, Any]:
    """Seconds of pauses one after the other, and what comes after them."""
    seconds = 0.0
    while isinstance(effect, Pause):
        seconds, effect = seconds + effect.seconds, flow.send(None)
    return seconds, effect


def test_what_was_applied_is_told_within_a_second_and_once_for_all_events_of_it(core: Core) -> None:
    flow = background.renew(core, spread=lambda: 0.0)
    next(flow)
    flow.send(renewed(4))
    take(core, "hello", epoch=4)
    assert flow.send(Response(200, {}, b"{}")) == Pause(background.ACK_SECONDS / 2)
    take(core, "changes", epoch=5, changes=[])
    take(core, "changes", epoch=6, changes=[])
    assert flow.send(None) == Call(background.protocol.ack("acme/shop", "client-1", 6))
    assert isinstance(flow.send(Response(200, {}, b"{}")), Pause)
    assert isinstance(flow.send(None), Pause), "nothing new: nothing is told"


def test_where_an_acknowledgement_gets_no_answer_the_lease_is_renewed_at_once(core: Core) -> None:
    flow = background.renew(core, spread=lambda: 1.0)
    next(flow)
    flow.send(renewed(4))
    take(core, "hello", epoch=4)
    flow.send(Response(200, {}, b"{}"))
    take(core, "changes", epoch=5, changes=[])
    assert isinstance(flow.send(None), Call)
    assert flow.throw(TransportFailed("timed out")) == Call(background.protocol.lease("acme/shop"))


def test_a_failed_renewal_is_tried_again_soon_and_remembered(core: Core) -> None:
    flow = background.renew(core, spread=lambda: 1.0)
    next(flow)
    assert flow.throw(TransportFailed("refused")) == Pause(1.0)
    assert core.last_error == "refused"


@pytest.mark.parametrize("content", [b"", b"[]", b'{"epoch": null}', b'{"lease_seconds": 1}'])
def test_nonsense_ends_no_renewal(core: Core, content: bytes) -> None:
    flow = background.renew(core, spread=lambda: 1.0)
    next(flow)
    assert isinstance(flow.send(Response(200, {}, content)), Pause)


def test_a_refused_acknowledgement_costs_no_lease(core: Core) -> None:
    flow = background.renew(core, spread=lambda: 1.0)
    next(flow)
    flow.send(renewed(4))
    assert rested(flow, flow.send(Response(403, {}, b"{}"))) == (5.0, Call(background.protocol.lease("acme/shop")))
    assert core.stale() is None


def test_a_stream_that_is_refused_for_now_is_asked_for_when_the_server_said(core: Core) -> None:
    flow = background.listen(core, spread=lambda: 0.0)
    assert isinstance(next(flow), Connect)
    assert isinstance(flow.send(Response(429, {"retry-after": "7"}, b"")), Disconnect)
    assert flow.send(None) == Pause(7.0)


@pytest.mark.parametrize(("said", "least"), [("1", 1.0), ("60", 3.0)])
def test_a_renewal_waits_as_long_as_it_is_told_and_no_longer_than_its_lease_lets_it(
    core: Core, said: str, least: float
) -> None:
    flow = background.renew(core, spread=lambda: 0.0)
    assert isinstance(next(flow), Call)
    effect, waited = flow.send(Response(429, {"retry-after": said}, b"")), 0.0
    while isinstance(effect, Pause):
        waited += effect.seconds
        effect = flow.send(None)
    assert isinstance(effect, Call)
    assert least <= waited + 1e-9 <= core.lease_seconds / 3 + 1e-9
