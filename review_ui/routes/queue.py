"""The queue: what waits for a decision, the most worthwhile first; taking the next one, letting one go, bulk."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from review_ui import links
from review_ui.access import DecidingViewer, ViewerDep
from review_ui.paging import FARTHEST, SIZE, offset_of, paged
from review_ui.routes.bulk import router as bulk
from review_ui.site import SiteDep
from review_ui.views.names import RUN_STATES, said
from review_ui.views.queue import ORDERS, STANDINGS, Filters, filters_view, nothing, queue_row
from review_ui.words import N_, _
from storage.queries import pages_runs
from storage.queries.queue import open_conflict_counts, queue_page
from storage.tables import Candidate
from tasks.stage.reserve_step import holders, release, take_next

router = APIRouter()
router.include_router(bulk)
PATH = "/queue"
SAID = {
    "none-free": N_("Nothing is free under these filters: somebody reads each one, or you decided on it already."),
    "let-go": N_("You let it go: another reviewer may take it."),
}


@router.get("/")
def home() -> Response:
    """The queue is the front door."""
    return RedirectResponse(PATH, status_code=303)


@router.get(PATH)
def show_queue(
    site: SiteDep, who: ViewerDep, request: Request, page: Annotated[int, Query(ge=1)] = 1, told: str = ""
) -> Response:
    """Candidates of the viewer's namespaces, with how many each filter would show."""
    filters, now = Filters.read(request.query_params), site.clock()
    asked = filters.asked(now, who.namespaces)
    counting, page = site.counts.start(asked), min(page, FARTHEST)
    with site.database.read() as session:
        found = queue_page(session, asked, filters.order, offset_of(page), SIZE + 1)
        keys = [_key(one) for one in found]
        conflicts = open_conflict_counts(session, keys)
        reading = holders(session, keys, now)
        runs = pages_runs.runs_page(session, who.namespaces, limit=1)
    may = {namespace: who.reviewer().may_decide(namespace) for namespace in {one.namespace for one in found}}
    rows = [
        queue_row(one, conflicts[key], reading.get(key), now, who.user_id, may_decide=may[one.namespace])
        for one, key in zip(found, keys, strict=True)
    ]
    facets = counting()
    if not rows and page > (last := max(1, -(-facets.total // SIZE))):  # beyond the end: the last page there is
        return show_queue(site, who, request, last, told)
    shown, pager = paged(PATH, page, rows, SIZE, **filters.query())
    return site.page(
        "queue.html",
        who=who,
        active="queue",
        rows=shown,
        pager=pager,
        total=facets.total,
        total_words=f"{facets.total:,}",
        standing=_(STANDINGS[filters.state]),
        order=_(ORDERS[filters.order]),
        empty=nothing(filters),
        can_pick=any(row.pick for row in shown),
        can_approve=any(one.tier == "low" for one in found),
        choices=filters_view(filters, facets),
        kept=urlencode(filters.query()),
        last_run=runs[0] if runs else None,
        last_run_state=said(RUN_STATES, runs[0].state) if runs else "",
        fresh=not (runs or facets.standing or filters.narrowed),
        said=_(SAID.get(told, "")),
    )


@router.post("/queue/next")
def take(site: SiteDep, who: DecidingViewer, filters: Annotated[str, Form()] = "") -> Response:
    """Take the first candidate that nobody reads, under the filters and in the order of the form, and go to it."""
    asked = Filters.of_query(filters)
    found = take_next(
        site.database, asked.asked(site.clock(), who.namespaces), asked.order, reviewer=who.reviewer()
    )  # fmt: skip
    if found is None:
        return RedirectResponse(links.with_query(PATH, **asked.query(), told="none-free"), status_code=303)
    return RedirectResponse(links.candidate(*found), status_code=303)


@router.post("/candidates/{namespace:path}/{candidate_id}/release")
def let_go(site: SiteDep, who: DecidingViewer, namespace: str, candidate_id: str) -> Response:
    """Stop reading a candidate, so that another reviewer may take it."""
    release(site.database, namespace, candidate_id, reviewer=who.reviewer())
    return RedirectResponse(links.with_query(PATH, told="let-go"), status_code=303)


def _key(candidate: Candidate) -> tuple[str, str]:
    return candidate.namespace, candidate.id
