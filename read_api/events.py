"""``GET /v1/events``: what changed, as it changes. The stream itself never touches the database."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Header
from fastapi.responses import StreamingResponse

from read_api.auth import Reading, known_epoch
from read_api.schemas import Space
from read_api.site import Site, SiteDep
from storage.queries.readers import events_after
from storage.tables import OutboxEvent

router = APIRouter()

HEARTBEAT_SECONDS = 2.0
REPLAY = 500
STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}}
_ID = re.compile(r"(\d{1,18})(-\d{1,18})?")


@dataclass(frozen=True)
class Opening:
    """What was read in the database before the stream began."""

    namespace: str
    token_id: str
    token_hash: str
    epoch: int
    backlog: list[bytes]


def open_stream(
    namespace: Space,
    who: Reading,
    site: SiteDep,
    last_event_id: Annotated[str | None, Header(max_length=100)] = None,
) -> Opening:
    """Check who asks and read what they missed, off the event loop."""
    who.enter(namespace)
    resumed = _ID.fullmatch(last_event_id.strip()) if last_event_id else None
    with site.database.read() as session:
        epoch = known_epoch(session, namespace)
        since = int(resumed.group(1)) if resumed else epoch
        missed = events_after(session, namespace, since, REPLAY) if since < epoch else []
    if last_event_id and resumed is None:
        backlog = [frame("resync", epoch, orjson.dumps({"epoch": epoch, "reason": "Last-Event-ID is not <epoch>-0"}))]
    else:
        backlog = replay(missed, since, epoch)
    # the truth may have moved on between the two reads: events then reach past the epoch
    reached = max([epoch, *(event.epoch for event in missed)])
    return Opening(namespace, who.token_id, who.token_hash, reached, backlog)


@router.get("/v1/events", response_class=StreamingResponse, responses=STREAM)
async def events(opening: Annotated[Opening, Depends(open_stream)], site: SiteDep) -> StreamingResponse:
    """Server-sent events; ``id`` is ``<epoch>-0`` and resumes with ``Last-Event-ID``.

    ``changes`` carries one transaction's changes; ``resync`` says that some were lost: drop everything cached;
    ``hello`` comes once all that was missed is sent; ``heartbeat`` every two seconds of silence, with the age of what
    this process knows; ``dropped`` is the last one. None of them renews a lease.
    """
    site.rates.check_room(opening.token_id)
    hello = {"namespace": opening.namespace, "epoch": opening.epoch, "lease_seconds": site.settings.lease_seconds}
    start = [*opening.backlog, frame("hello", opening.epoch, orjson.dumps(hello))]
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_stream(site, opening, start), media_type="text/event-stream", headers=headers)


async def _stream(site: Site, opening: Opening, start: Sequence[bytes]) -> AsyncIterator[bytes]:
    notifier = site.notifier
    if not site.rates.opened(opening.token_id):
        yield frame("dropped", None, b'{"reason":"this token holds as many event streams open as it may"}')
        return
    subscription = notifier.attach(opening.namespace, opening.epoch, opening.token_id, opening.token_hash)
    told = opening.epoch
    try:
        yield b"".join(start)
        while True:
            item = await subscription.next(HEARTBEAT_SECONDS)
            if item is None:
                beat = {"epoch": told, "age_seconds": round(min(notifier.age_seconds(), 1e9), 3)}
                yield frame("heartbeat", None, orjson.dumps(beat))
            elif item.kind == "dropped":
                yield frame("dropped", None, item.data)
                return
            elif item.kind == "resync" or item.epoch > told:
                told = item.epoch
                yield frame(item.kind, item.epoch, item.data)
    finally:
        notifier.detach(subscription)
        site.rates.closed(opening.token_id)


def frame(kind: str, epoch: int | None, data: bytes) -> bytes:
    """One event as it goes over the wire. ``data`` is JSON on one line."""
    name = b"" if epoch is None else b"id: %d-0\n" % epoch
    return b"event: %s\n%sdata: %s\n\n" % (kind.encode(), name, data)


def replay(missed: Sequence[OutboxEvent], since: int, epoch: int) -> list[bytes]:
    """What someone who saw ``since`` missed: the events themselves, or a resync where they are too many or gone."""
    if since > epoch:
        why = f"the store is at {epoch} and never came to {since}: it was put back to an earlier state"
        return [frame("resync", epoch, orjson.dumps({"epoch": epoch, "reason": why}))]
    if since == epoch:
        return []
    newest = missed[-1].epoch if missed else since
    if not missed or missed[0].epoch != since + 1 or newest < epoch or len(missed) != newest - since:
        return [frame("resync", epoch, orjson.dumps({"epoch": epoch, "reason": f"event {since}-0 is too old"}))]
    return [
        frame(
            "changes",
            event.epoch,
            orjson.dumps({"namespace": event.namespace, "epoch": event.epoch, "changes": event.changes}),
        )
        for event in missed
    ]
