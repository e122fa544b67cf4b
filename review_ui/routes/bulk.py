"""Decisions on several candidates at once. Each is named with its hashes, and decided by itself, or refused."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Form
from fastapi.responses import Response

from review_ui import links
from review_ui.access import DecidingViewer, Viewer
from review_ui.paging import Pager
from review_ui.routes.answers import refused, told
from review_ui.site import Site, SiteDep
from review_ui.text import shortened
from review_ui.views.bulk import BULK_TIER, DONE, BulkResult, Picked, not_in_bulk, picks_of
from review_ui.views.listing import Listing, Nothing
from review_ui.views.queue import Filters
from review_ui.words import _, ngettext
from storage.queries import pages
from tasks.promote.errors import DecisionRefused
from tasks.promote.quorum import check_reason
from tasks.promote.step import DecisionResult, approve, reject

router = APIRouter()
Verdict = Literal["approve", "reject"]


@router.post("/queue/bulk")
def decide_in_bulk(
    site: SiteDep,
    who: DecidingViewer,
    verdict: Annotated[Verdict, Form()],
    pick: Annotated[list[str] | None, Form()] = None,
    reason: Annotated[str, Form()] = "",
    filters: Annotated[str, Form()] = "",
) -> Response:
    """Approve or reject each of the chosen candidates for one reason, and say what came of each."""
    back = links.with_query("/queue", **Filters.of_query(filters).query())
    picks = picks_of(pick or [])
    try:
        words = check_reason(reason.replace("\x00", "\N{REPLACEMENT CHARACTER}"))
    except DecisionRefused as refusal:
        return refused(site, who, refusal, back, _("Back to the queue"))
    results = [_decide(site, who, verdict, each, words) for each in picks]
    done = sum(each.done for each in results)
    left = len(results) - done
    listing = Listing(
        title=ngettext("{n} candidate decided", "{n} candidates decided", done).format(n=done),
        lead=ngettext("{n} was left as it was.", "{n} were left as they were.", left).format(n=left)
        if left
        else _("All that you chose."),
        path="/queue",
        row="_bulk_result.html",
        rows=results,
        pager=Pager(1, "", ""),
        empty=Nothing("", ""),
        crumbs=((back, _("Queue")),),
    )
    return site.page("list.html", who=who, active="queue", list=listing)


def _decide(site: Site, who: Viewer, verdict: Verdict, pick: Picked, reason: str) -> BulkResult:
    with site.database.read() as session:
        found = pages.candidate_with_revision(session, who.namespaces, pick.namespace, pick.candidate_id)
    if found is None:
        return BulkResult(
            pick.candidate_id, pick.namespace, "", done=False,
            outcome=_("There is no such candidate in the namespaces you review."),
        )  # fmt: skip
    candidate, revision = found
    title, link = shortened(candidate.title, 240), links.candidate(candidate.namespace, candidate.id)
    refusal = not_in_bulk(candidate, revision) if verdict == "approve" else ""
    if refusal:
        return BulkResult(
            title, candidate.namespace, link, done=False, outcome=_("Read it and decide on it by itself."), why=refusal
        )
    try:
        result = _step(site, who, verdict, pick, reason)
    except DecisionRefused as error:
        said, now = told(error)
        return BulkResult(title, candidate.namespace, link, done=False, outcome=said, why=f"{error}. {now}")
    return BulkResult(title, candidate.namespace, link, done=True, outcome=_(DONE[result.state]))


def _step(site: Site, who: Viewer, verdict: Verdict, pick: Picked, reason: str) -> DecisionResult:
    step = reject if verdict == "reject" else partial(approve, only_tier=BULK_TIER)
    return step(
        site.database,
        pick.namespace,
        pick.candidate_id,
        content_hash=pick.content_hash,
        packet_hash=pick.packet_hash,
        reviewer=who.reviewer(),
        reason=reason,
        now=site.clock(),
        secret=site.secret,
    )
