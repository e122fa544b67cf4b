"""Rules, their history, and the two acts on them: revoke after a preview, restore what was quarantined."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query
from fastapi.responses import RedirectResponse, Response

from review_ui import links
from review_ui.access import DecidingViewer, Viewer, ViewerDep
from review_ui.errors import NotFound, NotYours
from review_ui.paging import SIZE, offset_of, paged
from review_ui.routes.answers import refused
from review_ui.routes.candidates import full_reason
from review_ui.site import Site, SiteDep
from review_ui.views.rules import RuleView, blast_radius, rule_row, rule_view
from storage.queries import pages
from storage.queries.rechecks import latest_rechecks
from storage.tables.rules import VERSION_STATES
from tasks.promote.errors import DecisionRefused
from tasks.promote.step import restore
from tasks.revoke.step import preview, revoke

router = APIRouter()
PATH = "/rules/{namespace:path}/{rule_id}"
SAID = {
    "revoked": "Revoked. Readers were told at once; a repair run now sorts out what leaned on it.",
    "restored": "Restored: agents are served this version again.",
}


@router.get("/rules")
def show_rules(
    site: SiteDep, who: ViewerDep, namespace: str = "", state: str = "", page: Annotated[int, Query(ge=1)] = 1
) -> Response:
    """Rules by their newest version."""
    states = (state,) if state in VERSION_STATES else ()
    with site.database.read() as session:
        found = pages.rules_page(
            session,
            who.namespaces,
            namespace=namespace or None,
            states=states,
            offset=offset_of(page),
            limit=SIZE + 1,
        )
        namespaces = pages.visible_namespaces(session, who.namespaces)
    now = site.clock()
    rows, pager = paged(
        "/rules", page, [rule_row(rule, version, now) for rule, version in found], namespace=namespace, state=state
    )
    return site.page(
        "rules.html",
        who=who,
        active="rules",
        rows=rows,
        pager=pager,
        namespaces=namespaces,
        states=VERSION_STATES,
        chosen={"namespace": namespace, "state": state},
        filtered=bool(namespace or state),
    )


@router.get(PATH + "/revoke")
def preview_revoke(site: SiteDep, who: ViewerDep, namespace: str, rule_id: str) -> Response:
    """What a revocation would withdraw and whom it would reach, before anything is done."""
    view = _load(site, who, namespace, rule_id)
    if not who.reviewer().may_decide(namespace):
        raise NotYours(f"The role {who.role} reads and does not decide.", "Ask a reviewer.")
    with site.database.read() as session:
        found = preview(session, namespace, rule_id)
    states = {version.number: version.state for version in view.versions}
    radius = blast_radius(namespace, found, states)
    return site.page("rule.html", who=who, active="rules", view=view, radius=radius, said="")


@router.post(PATH + "/revoke")
def revoke_rule(
    site: SiteDep,
    who: DecidingViewer,
    namespace: str,
    rule_id: str,
    preset: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Withdraw the rule and at once whatever leans on it."""
    view = _load(site, who, namespace, rule_id)
    try:
        revoke(
            site.database,
            namespace,
            rule_id,
            reason=full_reason(preset, reason),
            actor=who.reviewer(),
            now=site.clock(),
            secret=site.secret,
        )
    except DecisionRefused as refusal:
        return refused(site, who, refusal, view.link, "Back to the rule, as it is now")
    return RedirectResponse(links.with_query(view.link, said="revoked"), status_code=303)


@router.post(PATH + "/versions/{version}/restore")
def restore_version(
    site: SiteDep,
    who: DecidingViewer,
    namespace: str,
    rule_id: str,
    version: int,
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Serve a quarantined version again, on a person's word."""
    view = _load(site, who, namespace, rule_id)
    try:
        restore(
            site.database,
            namespace,
            rule_id,
            version,
            reviewer=who.reviewer(),
            reason=full_reason("", reason),
            now=site.clock(),
            secret=site.secret,
        )
    except DecisionRefused as refusal:
        return refused(site, who, refusal, view.link, "Back to the rule, as it is now")
    return RedirectResponse(links.with_query(view.link, said="restored"), status_code=303)


@router.get(PATH)
def show_rule(site: SiteDep, who: ViewerDep, namespace: str, rule_id: str, said: str = "") -> Response:
    """A rule with every version, who decided and why, and who has read it."""
    view = _load(site, who, namespace, rule_id)
    return site.page("rule.html", who=who, active="rules", view=view, radius=None, said=SAID.get(said, ""))


def _load(site: Site, who: Viewer, namespace: str, rule_id: str) -> RuleView:
    with site.database.read() as session:
        found = pages.rule_with_versions(session, who.namespaces, namespace, rule_id)
        if found is None:
            raise NotFound("There is no such rule in the namespaces you review.", "Go back to the list of rules.")
        rule, versions = found
        return rule_view(
            rule,
            versions,
            pages.decisions_on(session, namespace, sorted({version.candidate_id for version in versions})),
            pages.exposure_counts(session, namespace, rule_id),
            pages.grant_counts(session, namespace, rule_id),
            pages.descendants_of(session, namespace, rule_id),
            latest_rechecks(session, namespace, [(rule_id, version.version) for version in versions]),
            who.reviewer(),
        )
