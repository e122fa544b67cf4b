"""The audit log, and the check of its chain."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from review_ui.access import CheckedViewer, Viewer, ViewerDep
from review_ui.errors import NotYours
from review_ui.paging import SIZE, offset_of, paged
from review_ui.site import Site, SiteDep
from review_ui.views.audit import audit_row
from storage.audit import ChainReport, verify
from storage.queries import pages, pages_runs
from storage.queries.sessions import user_names

router = APIRouter()


@router.get("/audit")
def show_audit(
    site: SiteDep,
    who: ViewerDep,
    namespace: str = "",
    action: str = "",
    target: str = "",
    page: Annotated[int, Query(ge=1)] = 1,
) -> Response:
    """Acts in the viewer's namespaces, the latest first."""
    return _page(site, who, namespace, action, target, page, None)


@router.post("/audit/verify")
def verify_audit(site: SiteDep, who: CheckedViewer) -> Response:
    """Walk the whole chain. It spans every namespace, so it takes somebody who sees them all."""
    if not who.sees_all:
        raise NotYours(
            "The chain spans every namespace, and your account sees some of them.",
            "Ask someone without that limit, or run: slowwave audit verify",
        )
    with site.database.read() as session:
        report = verify(session)
    return _page(site, who, "", "", "", 1, report)


def _page(
    site: Site, who: Viewer, namespace: str, action: str, target: str, page: int, report: ChainReport | None
) -> Response:
    with site.database.read() as session:
        found = pages_runs.audit_page(
            session,
            who.namespaces,
            namespace=namespace or None,
            action=action or None,
            target=target or None,
            offset=offset_of(page),
            limit=SIZE + 1,
        )
        people = {ref.removeprefix("user:") for entry in found for ref in (entry.actor, entry.target)}
        names = user_names(session, sorted(people))
        namespaces = pages.visible_namespaces(session, who.namespaces)
        actions = pages_runs.audit_actions(session, who.namespaces)
    rows, pager = paged(
        "/audit", page, [audit_row(entry, names) for entry in found], namespace=namespace, action=action, target=target
    )
    return site.page(
        "audit.html",
        who=who,
        active="audit",
        rows=rows,
        pager=pager,
        namespaces=namespaces,
        actions=actions,
        chosen={"namespace": namespace, "action": action, "target": target},
        report=report,
    )
