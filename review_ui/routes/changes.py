"""Acts on a candidate besides deciding: edit it, take the night's text back, ask for evidence; propose a version."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Path
from fastapi.responses import RedirectResponse, Response
from sqlmodel import Session

from review_ui import links
from review_ui.access import DecidingViewer, Viewer, ViewerDep
from review_ui.errors import NotFound, NotYours
from review_ui.gather import only_row
from review_ui.routes.answers import refused, told
from review_ui.site import Site, SiteDep
from review_ui.views.changes import (
    AskForm,
    Changes,
    EditForm,
    Typed,
    ask_form,
    asked_form,
    changes_view,
    edit_form,
    propose_form,
    typed_form,
    wanted_from,
)
from review_ui.words import _
from storage.queries import pages
from storage.queries.people import user_by_id
from storage.queries.rules import version as version_of
from storage.tables import Candidate, CandidateRevision, RuleVersion
from tasks.promote.errors import DecisionRefused, ReasonMissing, TextRefused, WantedRefused
from tasks.stage.edit_step import edit, propose_version, take_back
from tasks.stage.park_step import ask, progress, unpark

router = APIRouter()
PATH = "/candidates/{namespace:path}/{candidate_id}"
VERSION = "/rules/{namespace:path}/{rule_id}/versions/{number}/propose"
Field = Annotated[str, Form()]
Fields = Annotated[list[str], Form()]
VersionNumber = Annotated[int, Path(ge=1, lt=2**31)]


def typed(
    when_to_use: Field = "",
    guidance: Field = "",
    component: Fields = [],  # noqa: B006  a default of FastAPI, copied for each request
    version: Fields = [],  # noqa: B006
    agents: Field = "",
    valid_from: Field = "",
    recheck_at: Field = "",
    reason: Field = "",
) -> Typed:
    """What the form of an edit sent."""
    return Typed(when_to_use, guidance, component, version, agents, valid_from, recheck_at, _stored(reason))


TypedForm = Annotated[Typed, Depends(typed)]


def changes_of(session: Session, site: Site, candidate: Candidate, revision: CandidateRevision) -> Changes:
    """The forms on a candidate's page, read in the page's own session."""
    asker = user_by_id(session, candidate.parked_by) if candidate.parked_by else None
    claimed = revision.content.get("predicate") or {}
    came = progress(session, candidate, claimed)
    return changes_view(candidate, revision, came=came, asked_by=asker.name if asker else "", now=site.clock())


@router.post(PATH + "/edit")
def edit_candidate(
    site: SiteDep, who: DecidingViewer, namespace: str, candidate_id: str, content_hash: Field, form: TypedForm
) -> Response:
    """Save other words, or another scope, as a new revision."""
    candidate, revision = _load(site, who, namespace, candidate_id)
    link = links.candidate(namespace, candidate_id)
    try:
        edit(
            site.database, namespace, candidate_id, content_hash=content_hash, when_to_use=form.when_to_use,
            guidance=form.steps(), scope=form.scope(), reason=form.reason, **_act(site, who),
        )  # fmt: skip
    except DecisionRefused as refusal:
        form_shown = replace(edit_form(candidate, revision, site.clock().date()), content_hash=content_hash)
        return _again(site, who, refusal, typed_form(form_shown, form), link)
    return RedirectResponse(links.with_query(link, said="edited"), status_code=303)


@router.post(PATH + "/take-back")
def take_nights_text(
    site: SiteDep, who: DecidingViewer, namespace: str, candidate_id: str, content_hash: Field, reason: Field = ""
) -> Response:
    """Take the night's text instead of a person's."""
    _load(site, who, namespace, candidate_id)
    link = links.candidate(namespace, candidate_id)
    try:
        given: dict[str, Any] = {"content_hash": content_hash, "reason": _stored(reason)}
        take_back(site.database, namespace, candidate_id, **given, **_act(site, who))
    except DecisionRefused as refusal:
        return refused(site, who, refusal, link, _("Back to the candidate, as it is now"))
    return RedirectResponse(links.with_query(link, said="taken-back"), status_code=303)


@router.post(PATH + "/ask")
def ask_for_evidence(
    site: SiteDep,
    who: DecidingViewer,
    namespace: str,
    candidate_id: str,
    content_hash: Field,
    runs: Field = "",
    agent: Field = "",
    component: Field = "",
    version: Field = "",
    task: Field = "",
    outcome: Field = "",
    words: Field = "",
    until: Field = "",
    reason: Field = "",
) -> Response:
    """Set it aside until what is asked for came in."""
    _candidate, revision = _load(site, who, namespace, candidate_id)
    link = links.candidate(namespace, candidate_id)
    given: dict[str, Any] = {
        "runs": runs, "agent": agent, "component": component, "version": version, "task": task, "outcome": outcome,
        "words": words, "until": until,
    }  # fmt: skip
    given = {name: _stored(text) for name, text in given.items()}
    reason = _stored(reason)
    try:
        shown: dict[str, Any] = {"content_hash": content_hash, "reason": reason}
        ask(site.database, namespace, candidate_id, wanted=wanted_from(given), **shown, **_act(site, who))
    except DecisionRefused as refusal:
        form = ask_form(link, content_hash, revision.content, site.clock().date())
        return _again(site, who, refusal, asked_form(form, given | {"reason": reason}), link)
    return RedirectResponse(links.with_query(link, said="asked"), status_code=303)


@router.post(PATH + "/resume")
def take_request_back(
    site: SiteDep, who: DecidingViewer, namespace: str, candidate_id: str, content_hash: Field, reason: Field = ""
) -> Response:
    """Wait for no evidence any more."""
    _load(site, who, namespace, candidate_id)
    link = links.candidate(namespace, candidate_id)
    try:
        given: dict[str, Any] = {"content_hash": content_hash, "reason": _stored(reason)}
        unpark(site.database, namespace, candidate_id, **given, **_act(site, who))
    except DecisionRefused as refusal:
        return refused(site, who, refusal, link, _("Back to the candidate, as it is now"))
    return RedirectResponse(links.with_query(link, said="resumed"), status_code=303)


@router.get(VERSION)
def show_proposal(site: SiteDep, who: ViewerDep, namespace: str, rule_id: str, number: VersionNumber) -> Response:
    """The text of an active version, to make the next one of."""
    row = _version(site, who, namespace, rule_id, number)
    if not who.reviewer().may_decide(namespace):
        raise NotYours(_("Your role reads and does not decide."), _("Ask a reviewer, or an admin for the role."))
    form = replace(propose_form(row, site.clock().date()), is_open=True)
    return _page(site, who, form, links.rule(namespace, rule_id))


@router.post(VERSION)
def propose(
    site: SiteDep,
    who: DecidingViewer,
    namespace: str,
    rule_id: str,
    number: VersionNumber,
    content_hash: Field,
    form: TypedForm,
) -> Response:
    """Put a new version of an active one before the reviewers."""
    row = _version(site, who, namespace, rule_id, number)
    link = links.rule(namespace, rule_id)
    try:
        propose_version(
            site.database, namespace, rule_id, number, content_hash=content_hash, when_to_use=form.when_to_use,
            guidance=form.steps(), scope=form.scope(), reason=form.reason, **_act(site, who),
        )  # fmt: skip
    except DecisionRefused as refusal:
        shown = replace(propose_form(row, site.clock().date()), content_hash=content_hash)
        return _again(site, who, refusal, typed_form(shown, form), link)
    return RedirectResponse(links.with_query(link, said="proposed"), status_code=303)


CORRECTABLE = (ReasonMissing, TextRefused, WantedRefused)
"""Refusals of what was typed: the form comes back with it. After any other, the text is shown to be copied."""


def _again(site: Site, who: Viewer, refusal: DecisionRefused, form: EditForm | AskForm, link: str) -> Response:
    """Why it was refused, with what was typed: it took somebody minutes, and a browser may not keep it."""
    title, now = told(refusal)
    wrong = (title, str(refusal), f"{_('Nothing was changed.')} {now}")
    return _page(
        site, who, form, link, wrong=wrong, status=refusal.status, may_send=isinstance(refusal, CORRECTABLE)
    )  # fmt: skip


def _page(
    site: Site,
    who: Viewer,
    form: EditForm | AskForm,
    link: str,
    *,
    wrong: tuple[str, str, str] | None = None,
    status: int = 200,
    may_send: bool = True,
) -> Response:
    is_edit = isinstance(form, EditForm)
    changes = Changes(form if is_edit else None, None, None if is_edit else form, None)  # type: ignore[arg-type]
    kept = "" if may_send or not isinstance(form, EditForm) else f"{form.when_to_use}\n\n{form.guidance}"
    return site.page(
        "message.html",
        status=status,
        who=who,
        active="",
        part="_change.html",
        title=wrong[0] if wrong else form.title if isinstance(form, EditForm) else "",
        wrong=wrong,
        changes=changes if may_send else None,
        kept=kept,
        link=link,
    )


def _load(site: Site, who: Viewer, namespace: str, candidate_id: str) -> tuple[Candidate, CandidateRevision]:
    with site.database.read() as session:
        return only_row(session, who.namespaces, namespace, candidate_id)


def _version(site: Site, who: Viewer, namespace: str, rule_id: str, number: int) -> RuleVersion:
    """A version that the viewer may see.

    Raises:
        NotFound: if there is none.
    """
    with site.database.read() as session:
        visible = namespace in pages.visible_namespaces(session, who.namespaces)
        row = version_of(session, namespace, rule_id, number) if visible else None
    if row is None:
        raise NotFound(_("There is no such rule in the namespaces you review."), _("Go back to the list of rules."))
    return row


def _act(site: Site, who: Viewer) -> dict[str, Any]:
    return {"reviewer": who.reviewer(), "now": site.clock(), "secret": site.secret}


def _stored(text: str) -> str:
    """Databases take no NUL."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
