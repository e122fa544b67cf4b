"""``GET /runs/{id}/events``: how far a run is, as it goes. The stream itself never touches the database."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Request
from fastapi.responses import StreamingResponse

from review_ui.access import ViewerDep
from review_ui.document import STREAM, only
from review_ui.site import SiteDep
from review_ui.views.runs import no_such_run
from review_ui.watch import Standing, Watcher
from storage.queries import pages_runs

router = APIRouter()

HEARTBEAT_SECONDS = 15.0
LONGEST_SECONDS = 600.0
"""A stream ends after so long, and the browser connects again: whoever may no longer look is found out then at last."""
RETRY_MS = 2000


@dataclass(frozen=True)
class Watching:
    """Who watches what, checked before the stream begins."""

    run_id: str
    session_id: str


def watcher_of(request: Request) -> Watcher:
    """The watcher of the app that answers."""
    watcher: Watcher = request.app.state.watcher
    return watcher


WatcherDep = Annotated[Watcher, Depends(watcher_of)]


def watching(site: SiteDep, who: ViewerDep, run_id: str) -> Watching:
    """Check, off the event loop, that whoever asks may see the run.

    Raises:
        NotFound: if there is no such run in the viewer's namespaces.
    """
    with site.database.read() as session:
        if pages_runs.run_by_id(session, who.namespaces, run_id) is None:
            raise no_such_run()
    return Watching(run_id, who.session_id)


@router.get("/runs/{run_id}/events", response_class=StreamingResponse, responses=only(STREAM))
async def run_events(asked: Annotated[Watching, Depends(watching)], watcher: WatcherDep) -> StreamingResponse:
    """Server-sent events: ``progress`` at the start and when a step ends, ``end`` once the run is closed, as the last.

    Both carry ``{"percent": 0-100, "done": n, "total": n, "state": "running"}``; ``total`` is of the steps known so
    far. Silence is broken by a comment. 429 or 503 where too many streams are open.
    """
    watcher.check_room(asked.session_id)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_stream(watcher, asked), media_type="text/event-stream", headers=headers)


async def _stream(watcher: Watcher, asked: Watching) -> AsyncIterator[bytes]:
    subscription = watcher.attach(asked.run_id, asked.session_id)
    until = time.monotonic() + LONGEST_SECONDS
    try:
        yield b"retry: %d\n\n" % RETRY_MS
        while time.monotonic() < until:
            standing = await subscription.next(HEARTBEAT_SECONDS)
            if standing is not None:
                yield frame(standing)
                if standing.is_over:
                    return
            elif subscription.ended:
                return
            else:
                yield b": still here\n\n"
    finally:
        watcher.detach(subscription)


def frame(standing: Standing) -> bytes:
    """One event as it goes over the wire."""
    kind = b"end" if standing.is_over else b"progress"
    told = {"percent": standing.percent, "done": standing.done, "total": standing.total, "state": standing.state}
    return b"event: %s\ndata: %s\n\n" % (kind, orjson.dumps(told))
