"""Rules, their history, and the two acts on them: revoke after a preview, restore what was quarantined."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Form, Query
from fastapi.responses import RedirectResponse, Response
from sqlmodel import Session

from review_ui import links
from review_ui.access import DecidingViewer, Viewer, ViewerDep
from review_ui.errors import NotFound, NotYours
from review_ui.paging import SIZE, offset_of, paged
from review_ui.routes.answers import refused
from review_ui.routes.candidates import full_reason
from review_ui.routes.changes import VersionNumber
from review_ui.site import Site, SiteDep
from review_ui.views.readers import Readers, edges_of, readers_view
from review_ui.views.revocation import SHOWN, BlastRadius, Reached, blast_radius
from review_ui.views.rule_history import Happening, happenings, people_in, targets_of
from review_ui.views.rule_page import (
    MOST_HAPPENINGS,
    MOST_KIN,
    MOST_RECHECKS,
    MOST_VOIDED,
    RuleView,
    Told,
    rule_view,
    voided_by,
)
from review_ui.views.rules import PATH as LIST
from review_ui.views.rules import Asked, last_of, rule_row, rules_list
from review_ui.views.versions import Around, version_views
from review_ui.words import N_, _
from storage.bodies import load_bodies
from storage.queries import pages, pages_readers, pages_revoke, pages_rules
from storage.queries.candidates import candidates_by_ids, conflicts_touching
from storage.queries.runs import steps_of_run
from storage.queries.sessions import user_names
from storage.tables import Decision, Rule, RuleVersion
from storage.tables.review import TIERS
from storage.tables.rules import VERSION_STATES
from tasks.promote.errors import DecisionRefused
from tasks.promote.step import restore
from tasks.revoke.step import Preview, preview, revoke

router = APIRouter()
PATH = "/rules/{namespace:path}/{rule_id}"
WEEK = timedelta(days=7)
LONGEST_SEARCH = 200
SAID = {
    "revoked": N_("Revoked. Readers were told at once; a repair run now sorts out what leaned on it."),
    "restored": N_("Restored: agents are served this version again."),
    "proposed": N_("The new version is proposed. Agents are served the old one until another reviewer approves it."),
}


@router.get("/rules")
def show_rules(
    site: SiteDep,
    who: ViewerDep,
    namespace: str = "",
    state: str = "",
    tier: str = "",
    due: str = "",
    q: str = "",
    page: Annotated[int, Query(ge=1)] = 1,
) -> Response:
    """Rules by their newest version."""
    asked = Asked(
        namespace=namespace,
        state=state if state in VERSION_STATES else "",
        tier=tier if tier in TIERS else "",
        due=due == "1",
        words=q.replace("\x00", " ")[:LONGEST_SEARCH],
    )
    now = site.clock()
    with site.database.read() as session:
        found = pages_rules.rules_page(
            session,
            who.namespaces,
            namespace=asked.namespace or None,
            states=(asked.state,) if asked.state else (),
            tier=asked.tier or None,
            due_by=now if asked.due else None,
            words=asked.words,
            offset=offset_of(page),
            limit=SIZE + 1,
        )
        answers = pages_rules.answers_since(session, {(rule.namespace, rule.id) for rule, _row in found}, now - WEEK)
        tested = pages_rules.last_rechecks(session, {(row.namespace, row.rule_id, row.version) for _rule, row in found})
        waiting = pages_rules.rechecks_due(session, who.namespaces, now)
        namespaces = pages.visible_namespaces(session, who.namespaces)
    made = [
        rule_row(rule, row, last_of(tested, row), answers.get((rule.namespace, rule.id), 0), now)
        for rule, row in found
    ]  # fmt: skip
    rows, pager = paged(
        LIST,
        page,
        made,
        namespace=asked.namespace,
        state=asked.state,
        tier=asked.tier,
        due=asked.due_name,
        q=asked.words,
    )
    return site.page("list.html", who=who, active="rules", list=rules_list(asked, rows, pager, namespaces, waiting))


@router.get(PATH + "/revoke")
def preview_revoke(site: SiteDep, who: ViewerDep, namespace: str, rule_id: str) -> Response:
    """What a revocation would withdraw and whom it would reach, before anything is done."""
    with site.database.read() as session:
        rule, rows = _found(session, who, namespace, rule_id)
        if not who.reviewer().may_decide(namespace):
            raise NotYours(_("The role {role} reads and does not decide.").format(role=who.role), _("Ask a reviewer."))
        found = preview(session, namespace, rule_id)
        reached = _reached(session, namespace, found)
        view = _view(session, site, who, rule, rows)
    radius: BlastRadius = blast_radius(namespace, found, {row.version: row.state for row in rows}, reached)
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
    link = _seen_link(site, who, namespace, rule_id)
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
        return refused(site, who, refusal, link, _("Back to the rule, as it is now"))
    return RedirectResponse(links.with_query(link, said="revoked"), status_code=303)


@router.post(PATH + "/versions/{version}/restore")
def restore_version(
    site: SiteDep,
    who: DecidingViewer,
    namespace: str,
    rule_id: str,
    version: VersionNumber,
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Serve a quarantined version again, on a person's word."""
    link = _seen_link(site, who, namespace, rule_id)
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
        return refused(site, who, refusal, link, _("Back to the rule, as it is now"))
    return RedirectResponse(links.with_query(link, said="restored"), status_code=303)


@router.get(PATH)
def show_rule(site: SiteDep, who: ViewerDep, namespace: str, rule_id: str, said: str = "", by: str = "") -> Response:
    """A rule with every version, who decided and why, and who has read it."""
    with site.database.read() as session:
        rule, rows = _found(session, who, namespace, rule_id)
        view = _view(session, site, who, rule, rows, by_hour=by == "hour")
    return site.page("rule.html", who=who, active="rules", view=view, radius=None, said=_(SAID.get(said, "")))


def _found(session: Session, who: Viewer, namespace: str, rule_id: str) -> tuple[Rule, list[RuleVersion]]:
    found = pages_rules.rule_with_versions(session, who.namespaces, namespace, rule_id)
    if found is None or not found[1]:
        raise NotFound(_("There is no such rule in the namespaces you review."), _("Go back to the list of rules."))
    return found


def _seen_link(site: Site, who: Viewer, namespace: str, rule_id: str) -> str:
    """The address of a rule that the viewer may see."""
    with site.database.read() as session:
        _found(session, who, namespace, rule_id)
    return links.rule(namespace, rule_id)


def _view(
    session: Session, site: Site, who: Viewer, rule: Rule, rows: list[RuleVersion], *, by_hour: bool = False
) -> RuleView:
    namespace, numbers = rule.namespace, [row.version for row in rows]
    may_decide = who.reviewer().may_decide(namespace)
    decisions = pages.decisions_on(session, namespace, sorted({row.candidate_id for row in rows}))
    around = Around(
        decisions=decisions,
        served=pages_readers.served_in_all(session, namespace, rule.id, numbers),
        caches=pages_readers.caches_of(session, namespace, rule.id),
        ancestors=pages_rules.ancestors_shown(session, namespace, rule.id, MOST_KIN),
        descendants=pages_rules.descendants_shown(session, namespace, rule.id, MOST_KIN),
    )
    history = _history(session, rule, numbers, decisions)
    refs = [f"rule:{rule.id}@{n}" for n in numbers] + sorted({f"candidate:{row.candidate_id}" for row in rows})
    run = pages_rules.repair_of(session, namespace, rule.id)
    steps = steps_of_run(session, run.id) if run is not None else []
    voided = candidates_by_ids(session, namespace, voided_by(steps)[:MOST_VOIDED])
    told = Told(
        history=history,
        readers=_readers(session, site, rule, numbers, history, by_hour=by_hour),
        rechecks=pages_rules.rechecks_newest(session, namespace, rule.id, MOST_RECHECKS),
        conflicts=conflicts_touching(session, namespace, refs, state=None),
        proposals=pages_rules.proposals_for(session, namespace, rule.id),
        repair=(run, steps) if run is not None else None,
        voided={one.id: one.title for one in voided.values()},
    )
    return rule_view(rule, rows, version_views(rows, around, may_decide), told, may_decide)


def _history(
    session: Session, rule: Rule, numbers: list[int], decisions: Sequence[tuple[Decision, str]]
) -> list[Happening]:
    events = pages_rules.events_naming(session, rule.namespace, rule.id, MOST_HAPPENINGS + 1)
    acts = pages_rules.acts_on(session, rule.namespace, targets_of(rule.id, numbers))
    return happenings(rule.id, events, acts, decisions, user_names(session, people_in(acts)))


def _readers(
    session: Session, site: Site, rule: Rule, numbers: list[int], history: Sequence[Happening], *, by_hour: bool
) -> Readers:
    edges = edges_of(by_hour, site.clock())
    of = (rule.namespace, rule.id, numbers, edges)
    served, granted = pages_readers.served_by_span(session, *of), pages_readers.granted_by_span(session, *of)
    return readers_view(links.rule(rule.namespace, rule.id), by_hour, edges, served, granted, history, numbers[0])


def _reached(session: Session, namespace: str, found: Preview) -> Reached:
    withdrawn = {*found.versions, *found.descendants}
    shown = pages_revoke.episodes_shown(session, namespace, found.episodes[:SHOWN])
    voided = candidates_by_ids(session, namespace, found.candidates[:SHOWN])
    families = pages_revoke.families_of_versions(session, namespace, withdrawn)
    leaning = pages_revoke.families_of_versions(session, namespace, found.descendants)
    return Reached(
        open_sessions=pages_revoke.sessions_standing(session, namespace, found.sessions),
        outcomes=pages_revoke.runs_made(session, namespace, found.episodes),
        shown=shown,
        bodies=load_bodies(session, namespace, [row.id for row in shown if row.purged_at is None]),
        titles=pages_revoke.titles_of(session, namespace, found.descendants[:SHOWN]),
        candidates={one.id: one.title for one in voided.values()},
        beside=pages_revoke.active_beside(session, namespace, families, withdrawn),
        to_weigh=pages_revoke.count_in_families(session, namespace, leaning),
    )
