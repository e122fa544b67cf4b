"""Conflicts: the list, one with both of its sides, and the decision which of them stands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

from fastapi import APIRouter, Form, Query
from fastapi.responses import RedirectResponse, Response
from sqlmodel import Session

from review_ui import links
from review_ui.access import DecidingViewer, Viewer, ViewerDep
from review_ui.errors import NotFound
from review_ui.paging import SIZE, offset_of, paged
from review_ui.routes.answers import refused
from review_ui.routes.candidates import full_reason
from review_ui.site import Site, SiteDep
from review_ui.views.conflicts import KINDS, STATES, Around, ConflictPage, conflict_page, episodes_of, is_mixed
from review_ui.views.listing import Listing, Nothing, Select, values
from review_ui.views.names import options
from review_ui.words import N_, _
from storage.queries import conflicts as queries
from storage.queries import pages
from storage.queries.candidates import current_revisions
from storage.queries.rules import versions_by_keys
from storage.tables import Conflict
from tasks.conflict.resolve.step import resolve
from tasks.promote.errors import DecisionRefused

router = APIRouter()
PATH = "/conflicts/{namespace:path}/{conflict_id}"
SAID = {"resolved": N_("Recorded, with your name and reason. It opens again only if a side says something else.")}


@router.get("/conflicts")
def show_conflicts(
    site: SiteDep,
    who: ViewerDep,
    namespace: str = "",
    kind: str = "",
    state: str = "open",
    run: str = "",
    page: Annotated[int, Query(ge=1)] = 1,
) -> Response:
    """Conflicts of the viewer's namespaces, contradictions first; mixed outcomes apart, after all others."""
    state, kind = state if state in STATES else "open", kind if kind in KINDS else ""
    wanted = {
        "namespace": namespace or None, "kind": kind or None, "state": None if state == "all" else state,
        "run_id": run or None,
    }  # fmt: skip
    with site.database.read() as session:
        found = queries.conflicts_page(session, who.namespaces, **wanted, offset=offset_of(page), limit=SIZE + 1)
        mixed_total = queries.count_mixed(session, who.namespaces, **wanted)
        namespaces = pages.visible_namespaces(session, who.namespaces)
        shown, pager = paged("/conflicts", page, found, namespace=namespace, kind=kind, state=state, run=run)
        around = _around_mixed(session, [row for row, _name in shown if is_mixed(row)])
    rows = [conflict_page(row, name, around.get(row.namespace, Around())) for row, name in shown]
    mixed = [row for row in rows if row.is_mixed]
    listing = Listing(
        title=_("Conflicts"),
        lead=_("What cannot both be followed, or both be so. Both sides are kept until a person says which stands."),
        path="/conflicts",
        row="_conflict_row.html",
        rows=[row for row in rows if not row.is_mixed],
        pager=pager,
        empty=_nothing(filtered=bool(namespace or kind or run or state != "open"), mixed=bool(mixed)),
        filters=(
            Select("namespace", _("Namespace"), values(namespaces), namespace, _("all")),
            Select("kind", _("Kind"), options(KINDS), kind, _("all")),
            Select("state", _("State"), options(STATES), state),
        ),
        crumbs=[("/runs", _("Runs")), (links.run(run), _("The run that found them"))] if run else (),
        below="_mixed.html" if mixed else "",
        extra={"mixed": mixed, "mixed_total": mixed_total},
    )
    return site.page("list.html", who=who, active="conflicts", list=listing)


def _nothing(*, filtered: bool, mixed: bool) -> Nothing:
    if mixed:
        return Nothing("", "")
    if filtered:
        words = _("Other filters may show more.")
        return Nothing(_("No conflict with this filter"), words, "/conflicts?state=all", _("Show all conflicts"))
    words = _("A night that finds one lists it here, with both sides.")
    return Nothing(_("No open conflict"), words, "/queue", _("Go to the queue"))


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
        said=_(SAID.get(said, "")),
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
        return refused(site, who, refusal, view.link, _("Back to the conflict, as it is now"))
    return RedirectResponse(links.with_query(view.link, said="resolved"), status_code=303)


def _load(site: Site, who: Viewer, namespace: str, conflict_id: str) -> ConflictPage:
    with site.database.read() as session:
        found = queries.conflict_seen(session, who.namespaces, namespace, conflict_id)
        around = _around(session, found[0]) if found is not None else Around()
    if found is None:
        raise NotFound(
            _("There is no such conflict in the namespaces you review."), _("Go back to the list of conflicts.")
        )
    return conflict_page(*found, around)


def _around(session: Session, row: Conflict) -> Around:
    """What is shown of a conflict beside its row: tasks of the episodes, texts of the sides, what rests on its runs."""
    episodes = set(episodes_of(row))
    return Around(
        tasks=queries.tasks_of_episodes(session, row.namespace, episodes),
        contents=_contents(session, row.namespace, (row.left_ref, row.right_ref)),
        leaning=queries.leaning_on_episodes(session, row.namespace, episodes) if is_mixed(row) else {},
    )


def _contents(session: Session, namespace: str, refs: Collection[str]) -> dict[str, dict[str, object]]:
    """What the candidates and rule versions among these refs say now."""
    ids = {ref.removeprefix("candidate:") for ref in refs if ref.startswith("candidate:")}
    found = {f"candidate:{one}": row.content for one, row in current_revisions(session, namespace, ids).items()}
    keys = []
    for ref in refs:
        rule_id, _at, version = ref.removeprefix("rule:").rpartition("@")
        if ref.startswith("rule:") and version.isdigit():
            keys.append((rule_id, int(version)))
    versions = versions_by_keys(session, namespace, keys) if keys else ()
    return found | {f"rule:{row.rule_id}@{row.version}": row.content for row in versions}


def _around_mixed(session: Session, rows: Sequence[Conflict]) -> dict[str, Around]:
    """By namespace, what rests on the runs of the mixed outcomes of a page."""
    episodes: dict[str, set[str]] = {}
    for row in rows:
        episodes.setdefault(row.namespace, set()).update(episodes_of(row))
    return {
        namespace: Around(leaning=queries.leaning_on_episodes(session, namespace, ids))
        for namespace, ids in episodes.items()
    }
