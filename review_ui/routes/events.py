"""What changed for readers, and how far each of them is."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response
from sqlmodel import Session

from review_ui.access import Viewer, ViewerDep
from review_ui.errors import NotFound
from review_ui.paging import SIZE, edged, offset_of, paged
from review_ui.site import Site, SiteDep
from review_ui.views.events import drawing_of, event_row, is_kept, reader_row
from review_ui.views.listing import Listing, Nothing, Select, values
from review_ui.views.spread import Spread, spread_of
from review_ui.words import _
from storage.acks import KEPT_FOR
from storage.queries import pages, pages_events
from storage.queries.pages_events import EventKey
from storage.tables import OutboxEvent

router = APIRouter()
EDGE = re.compile(r"(?P<namespace>.{1,200})@(?P<epoch>\d{1,18})")


@router.get("/events")
def show_events(site: SiteDep, who: ViewerDep, namespace: str = "", older: str = "", newer: str = "") -> Response:
    """Events of the viewer's namespaces, the latest first, with how far each got."""
    with site.database.read() as session:
        below, above = _edge(session, who, older), _edge(session, who, newer)
        found = pages_events.events_page(
            session, who.namespaces, namespace=namespace or None, older=below, newer=above, limit=SIZE + 1
        )
        rows, pager = edged(
            "/events",
            found,
            lambda event: f"{event.namespace}@{event.epoch}",
            older=older if below else "",
            newer=newer if above else "",
            namespace=namespace,
        )
        spreads = _spreads(session, site, rows)
        namespaces = pages.visible_namespaces(session, who.namespaces)
    now = site.clock()
    shown = [
        event_row(event, spread, is_kept(event.created_at, now, KEPT_FOR))
        for event, spread in zip(rows, spreads, strict=True)
    ]
    listing = Listing(
        title=_("Events"),
        lead=_("Each change to what agents are served, and how long it took to reach every reader."),
        path="/events",
        row="_event_row.html",
        rows=shown,
        pager=pager,
        empty=Nothing(
            _("No event"),
            _("Nothing was promoted, revoked or put back yet in the namespaces you see.")
            if not namespace
            else _("Nothing was promoted, revoked or put back yet in this namespace."),
            *(("/events", _("Show all namespaces")) if namespace else ("/queue", _("Go to the queue"))),
        ),
        filters=[Select("namespace", _("Namespace"), values(namespaces), namespace, _("all"))],
        above="_spread.html",
        extra={"drawing": drawing_of(list(zip(rows, spreads, strict=True)), site.settings.lease_seconds)},
    )
    return site.page("list.html", who=who, active="events", list=listing)


@router.get("/events/{namespace:path}/{epoch}")
def show_event(
    site: SiteDep,
    who: ViewerDep,
    namespace: str,
    epoch: Annotated[int, Path(ge=0, lt=2**63)],
    page: Annotated[int, Query(ge=1)] = 1,
) -> Response:
    """One event: every change, and each reader."""
    with site.database.read() as session:
        event = pages_events.event_at(session, who.namespaces, namespace, epoch)
        if event is None:
            raise NotFound(_("There is no such event in the namespaces you see."), _("Go back to the list of events."))
        (spread,) = _spreads(session, site, [event])
    now = site.clock()
    view = event_row(event, spread, is_kept(event.created_at, now, KEPT_FOR), whole=True)
    size, first = SIZE, offset_of(page)
    rows, pager = paged(
        view.link, page, [reader_row(one, now) for one in spread.readers[first : first + size + 1]], size
    )
    listing = Listing(
        title=_("Event {epoch} of {namespace}").format(epoch=epoch, namespace=namespace),
        lead=view.readers,
        path=view.link,
        row="_reader_row.html",
        rows=rows,
        pager=pager,
        empty=Nothing(
            _("No reader"), _("Nobody acknowledged this event, and no cache that is known was open at the time.")
        ),
        crumbs=[("/events", _("Events"))],
        above="_event.html",
        extra={"event": view},
    )
    return site.page("list.html", who=who, active="events", list=listing)


def _edge(session: Session, who: Viewer, named: str) -> EventKey | None:
    """Where an event that an address names lies in the list; None where there is none that the viewer sees."""
    found = EDGE.fullmatch(named)
    if found is None or int(found["epoch"]) >= 2**63:
        return None
    event = pages_events.event_at(session, who.namespaces, found["namespace"], int(found["epoch"]))
    return None if event is None else (event.created_at, event.namespace, event.epoch)


def _spreads(session: Session, site: Site, events: Sequence[OutboxEvent]) -> list[Spread]:
    """How far each of these events got: two statements for each namespace among them."""
    epochs: defaultdict[str, list[int]] = defaultdict(list)
    for event in events:
        epochs[event.namespace].append(event.epoch)
    known = pages_events.propagation(session, epochs)
    return [
        spread_of(event.epoch, event.created_at, *known[event.namespace], site.settings.lease_seconds)
        for event in events
    ]
