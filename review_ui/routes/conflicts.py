"""Conflicts: the list, one with both of its sides, and the decision which of them stands."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query
from fastapi.responses import RedirectResponse, Response

from review_ui import links
from review_ui.access import DecidingViewer, Viewer, ViewerDep
from review_ui.errors import NotFound
from review_ui.paging import SIZE, offset_of, paged
from review_ui.routes.answers import refused
from review_ui.routes.candidates import full_reason
from review_ui.site import Site, SiteDep
from review_ui.views.conflicts import KIND_WORDS, STATES, ConflictPage, conflict_page
from storage.queries import conflicts as queries
from storage.queries import pages
from tasks.conflict.resolve.errors import SideUnknown
from tasks.conflict.resolve.step import resolve
from tasks.promote.errors import DecisionRefused

router = APIRouter()
PATH = "/conflicts/{namespace:path}/{conflict_id}"
SAID = {"resolved": "Recorded, with your name and reason. It opens again only if a side says something else."}


@router.get("/conflicts")
def show_conflicts(
    site: SiteDep,
    who: ViewerDep,
    namespace: str = "",
    kind: str = "",
    state: str = "open",
    page: Annotated[int, Query(ge=1)] = 1,
) -> Response:
    """Conflicts of the viewer's namespaces, contradictions first."""
    state = state if state in STATES else "open"
    with site.database.read() as session:
        found = queries.conflicts_page(
            session,
            who.namespaces,
            namespace=namespace or None,
            kind=kind if kind in KIND_WORDS else None,
            state=None if state == "all" else state,
            offset=offset_of(page),
            limit=SIZE + 1,
        )
        mixed = queries.count_mixed(
            session,
            who.namespaces,
            namespace=namespace or None,
            kind=kind if kind in KIND_WORDS else None,
            state=None if state == "all" else state,
        )
        namespaces = pages.visible_namespaces(session, who.namespaces)
    rows, pager = paged(
        "/conflicts", page, [conflict_page(*each) for each in found], namespace=namespace, kind=kind, state=state
    )
    return site.page(
        "conflicts.html",
        who=who,
        active="conflicts",
        rows=[row for row in rows if not row.is_mixed],
        mixed=[row for row in rows if row.is_mixed],
        mixed_total=mixed,
        pager=pager,
        namespaces=namespaces,
        kinds=tuple(KIND_WORDS),
        states=STATES,
        chosen={"namespace": namespace, "kind": kind, "state": state},
        filtered=bool(namespace or kind or state != "open"),
    )


@router.get(PATH)
def show_conflict(site: SiteDep, who: ViewerDep, namespace: str, conflict_id: str, said: str = "") -> Response:
    """One conflict, with both sides' evidence and the form to resolve it."""
    view = _load(site, who, namespace, conflict_id)
    return site.page(
        "conflict.html",
        who=who,
        active="conflicts",
        view=view,
        may_decide=view.state == "open" and who.reviewer().may_decide(namespace),
        said=SAID.get(said, ""),
    )


@router.post(PATH + "/resolve")
def resolve_conflict(
    site: SiteDep,
    who: DecidingViewer,
    namespace: str,
    conflict_id: str,
    keep: Annotated[str, Form()],
    shown: Annotated[str, Form()],
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Record which side of what was shown stands."""
    view = _load(site, who, namespace, conflict_id)
    try:
        if view.is_mixed and keep != "both":
            raise SideUnknown("runs that did the same and ended differently can only be noted: neither is put aside")
        resolve(
            site.database,
            namespace,
            conflict_id,
            keep=keep,
            reviewer=who.reviewer(),
            reason=full_reason("", reason),
            now=site.clock(),
            secret=site.secret,
            shown=shown,
        )
    except DecisionRefused as refusal:
        return refused(site, who, refusal, view.link, "Back to the conflict, as it is now")
    return RedirectResponse(links.with_query(view.link, said="resolved"), status_code=303)


def _load(site: Site, who: Viewer, namespace: str, conflict_id: str) -> ConflictPage:
    with site.database.read() as session:
        found = queries.conflict_seen(session, who.namespaces, namespace, conflict_id)
    if found is None:
        raise NotFound("There is no such conflict in the namespaces you review.", "Go back to the list of conflicts.")
    return conflict_page(*found)
