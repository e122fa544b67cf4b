"""Acts that make several candidates of one, or one of several: split by scope, merge a duplicate."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query
from fastapi.responses import RedirectResponse, Response

from review_ui import links
from review_ui.access import DecidingViewer, Viewer, ViewerDep
from review_ui.errors import NotYours, PageRefused
from review_ui.gather import only_row
from review_ui.routes.answers import refused
from review_ui.site import Site, SiteDep
from review_ui.views.parts import Parts, parts_view, picked, with_choices, with_duplicates, with_named
from review_ui.words import _
from storage.queries.candidates import candidate_by_id
from tasks.context import PipelineSettings
from tasks.promote.errors import DecisionRefused
from tasks.stage.merge import Likely
from tasks.stage.merge_step import likely_duplicates, merge
from tasks.stage.refresh import OPEN
from tasks.stage.split_step import choices_of, split

router = APIRouter()
PATH = "/candidates/{namespace:path}/{candidate_id}"
Field = Annotated[str, Form()]
SETTINGS = PipelineSettings()


@router.get(PATH + "/split")
def show_choices(site: SiteDep, who: ViewerDep, namespace: str, candidate_id: str) -> Response:
    """What a candidate can be split by, with what the runs of each side say: weighed when it is asked for."""
    parts = _parts(site, who, namespace, candidate_id)
    return _page(
        site, who, "_split.html", with_choices(parts, choices_of(site.database, namespace, candidate_id, SETTINGS))
    )


@router.post(PATH + "/split")
def split_candidate(
    site: SiteDep,
    who: DecidingViewer,
    namespace: str,
    candidate_id: str,
    content_hash: Field,
    by: Field = "",
    reason: Field = "",
) -> Response:
    """Put one candidate for each side in its place."""
    _seen(site, who, namespace, candidate_id)
    link = links.candidate(namespace, candidate_id)
    if not by:
        raise PageRefused(_("It is not said what to split it by."), _("Go back and choose one of the ways."))
    given: dict[str, Any] = {"content_hash": content_hash, "by": by, "settings": SETTINGS}
    try:
        split(site.database, namespace, candidate_id, **given, **_act(site, who, reason))
    except DecisionRefused as refusal:
        return refused(site, who, refusal, link, _("Back to the candidate, as it is now"))
    return RedirectResponse(links.with_query(link, said="split"), status_code=303)


@router.get(PATH + "/merge")
def show_duplicates(
    site: SiteDep,
    who: ViewerDep,
    namespace: str,
    candidate_id: str,
    other: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Candidates that may be duplicates, and one that the reviewer named by its id."""
    parts, named = _parts(site, who, namespace, candidate_id, duplicates=True), other.strip()
    if named:
        with site.database.read() as session:
            row = candidate_by_id(session, namespace, named)
        fits = row is not None and row.id != candidate_id and row.state in OPEN
        found = Likely(row.id, row.title, row.content_hash, "named") if row is not None and fits else None
        parts = with_named(parts, namespace, named, found)
    return _page(site, who, "_merge.html", replace(parts, merge_open=True))


@router.post(PATH + "/merge")
def merge_candidates(
    site: SiteDep,
    who: DecidingViewer,
    namespace: str,
    candidate_id: str,
    content_hash: Field,
    other: Field = "",
    reason: Field = "",
) -> Response:
    """Merge another candidate into this one. ``other`` is its id and the hash that was shown."""
    _seen(site, who, namespace, candidate_id)
    link = links.candidate(namespace, candidate_id)
    other_id, other_hash = picked(other)
    if not other_id:
        raise PageRefused(_("It is not said which candidate to merge into it."), _("Go back and choose one."))
    hashes: dict[str, Any] = {"content_hash": content_hash, "other_hash": other_hash}
    try:
        merge(site.database, namespace, candidate_id, other_id, **hashes, **_act(site, who, reason))
    except DecisionRefused as refusal:
        return refused(site, who, refusal, link, _("Back to the candidate, as it is now"))
    return RedirectResponse(links.with_query(link, said="merged"), status_code=303)


def _seen(site: Site, who: Viewer, namespace: str, candidate_id: str) -> None:
    """A candidate that the viewer may see, or it is not found."""
    with site.database.read() as session:
        only_row(session, who.namespaces, namespace, candidate_id)


def _parts(site: Site, who: Viewer, namespace: str, candidate_id: str, *, duplicates: bool = False) -> Parts:
    """The forms, for whoever may use them; with the duplicates that are likely, where they are asked for."""
    with site.database.read() as session:
        candidate, revision = only_row(session, who.namespaces, namespace, candidate_id)
        parts = parts_view(candidate)
        if parts is not None and duplicates:
            parts = with_duplicates(parts, namespace, likely_duplicates(session, candidate, revision))
    if not who.reviewer().may_decide(namespace):
        raise NotYours(_("Your role reads and does not decide."), _("Ask a reviewer, or an admin for the role."))
    if parts is None or candidate.state not in OPEN:
        raise PageRefused(
            _("Only a rule that waits for a decision can be split or merged."), _("Go back and look at its state.")
        )
    return parts


def _page(site: Site, who: Viewer, form: str, parts: Parts) -> Response:
    """One form by itself: what its link leads to without a script, and what the page takes it from with one."""
    return site.page(
        "message.html", who=who, active="queue", part="_parted.html", title=parts.title, form=form, parts=parts
    )


def _act(site: Site, who: Viewer, reason: str) -> dict[str, Any]:
    """Databases take no NUL."""
    words = reason.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return {"reviewer": who.reviewer(), "reason": words, "now": site.clock(), "secret": site.secret}
