"""The queue: what waits for a decision, the most worthwhile first."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import RedirectResponse, Response

from review_ui.access import ViewerDep
from review_ui.paging import SIZE, offset_of, paged
from review_ui.site import SiteDep
from review_ui.views.queue import STATES, queue_row
from storage.queries import pages, pages_runs
from storage.tables.review import TIERS

router = APIRouter()


@router.get("/")
def home() -> Response:
    """The queue is the front door."""
    return RedirectResponse("/queue", status_code=303)


@router.get("/queue")
def show_queue(
    site: SiteDep,
    who: ViewerDep,
    namespace: str = "",
    tier: str = "",
    state: str = "waiting",
    page: Annotated[int, Query(ge=1)] = 1,
) -> Response:
    """Candidates of the viewer's namespaces."""
    states = STATES.get(state, STATES["waiting"])
    wanted = {"namespace": namespace or None, "tier": tier if tier in TIERS else None}
    with site.database.read() as session:
        found = pages.queue_page(
            session, who.namespaces, **wanted, states=states, offset=offset_of(page), limit=SIZE + 1
        )
        total = pages.queue_size(session, who.namespaces, **wanted, states=states)
        keys = [(candidate.namespace, candidate.id) for candidate, _ in found]
        conflicts = pages.open_conflict_counts(session, keys)
        namespaces = pages.visible_namespaces(session, who.namespaces)
        runs = pages_runs.runs_page(session, who.namespaces, limit=1)
    now, filtered = site.clock(), bool(namespace or tier or state != "waiting")
    rows = [queue_row(c, revision, conflicts[c.namespace, c.id], now) for c, revision in found]
    shown, pager = paged("/queue", page, rows, namespace=namespace, tier=tier, state=state)
    return site.page(
        "queue.html",
        who=who,
        active="queue",
        rows=shown,
        pager=pager,
        total=total,
        namespaces=namespaces,
        tiers=TIERS,
        states=tuple(STATES),
        chosen={"namespace": namespace, "tier": tier, "state": state if state in STATES else "waiting"},
        last_run=runs[0] if runs else None,
        fresh=not runs and not filtered,
        filtered=filtered,
    )
