"""A candidate's page and the decisions on it."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import APIRouter, Form, Query
from fastapi.responses import RedirectResponse, Response

from review_ui import links
from review_ui.access import DecidingViewer, Viewer, ViewerDep
from review_ui.errors import NotFound, PageRefused
from review_ui.paging import offset_of
from review_ui.routes.answers import refused
from review_ui.site import Site, SiteDep
from review_ui.views.candidate import (
    APPROVE_REASONS,
    REJECT_REASONS,
    CandidateView,
    EvidenceColumn,
    candidate_view,
    evidence_view,
)
from review_ui.views.reading import parts_of, reading
from storage.bodies import load_bodies
from storage.ids import keyed_hash
from storage.queries import pages
from storage.queries.candidates import conflicts_touching
from storage.queries.rules import version_of_candidate
from tasks.promote.errors import DecisionRefused
from tasks.promote.step import DecisionResult, approve, reject

router = APIRouter()
PATH = "/candidates/{namespace:path}/{candidate_id}"
EVIDENCE_SIZE = 4
SAID = {
    "approved": "Your approval is recorded. One more reviewer has to approve this hash before agents are served it.",
    "promoted": "Approved and promoted: agents of this namespace are served it from now on.",
    "rejected": "Rejected, with your reason. It comes back only if its content changes.",
}
NO_CANDIDATE = "There is no such candidate in the namespaces you review."
STEPS = {"approve": approve, "reject": reject}
OPPOSITE_REASONS = {"approve": REJECT_REASONS, "reject": APPROVE_REASONS}


@router.get(PATH)
def show_candidate(
    site: SiteDep,
    who: ViewerDep,
    namespace: str,
    candidate_id: str,
    part: int = 1,
    seen: str = "",
    support: Annotated[int, Query(ge=1)] = 1,
    counter: Annotated[int, Query(ge=1)] = 1,
    said: str = "",
) -> Response:
    """The packet. A text in several parts is read in order: each part carries the proof that the ones before were
    shown, and the form to approve comes with the last."""
    view = _load(site, who, namespace, candidate_id)
    text = reading(view.content, part)
    if text.part > 1 and not hmac.compare_digest(seen.encode(), _seen(site, who, view, text.part - 1).encode()):
        return RedirectResponse(view.link, status_code=303)
    mark = _seen(site, who, view, text.part)
    return site.page(
        "candidate.html",
        who=who,
        active="queue",
        view=view,
        text=text,
        seen=mark,
        next_part=links.with_query(view.link, part=text.part + 1, seen=mark),
        columns=[
            _evidence(site, view, "support", "Evidence for it", support, counter),
            _evidence(site, view, "counter", "Evidence against it", counter, support),
        ],
        may_decide=view.is_open and who.reviewer().may_decide(namespace),
        can_approve=text.is_last and not view.missing,
        said=SAID.get(said, ""),
        approve_reasons=APPROVE_REASONS,
        reject_reasons=REJECT_REASONS,
    )


@router.post(PATH + "/approve")
def approve_candidate(
    site: SiteDep,
    who: DecidingViewer,
    namespace: str,
    candidate_id: str,
    content_hash: Annotated[str, Form()],
    packet_hash: Annotated[str, Form()],
    seen: Annotated[str, Form()] = "",
    preset: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Approve exactly what was shown, once all of it was."""
    view = _load(site, who, namespace, candidate_id)
    last = len(parts_of(view.content))
    # a changed content is the decision's to refuse, with its own words
    if content_hash == view.content_hash and not hmac.compare_digest(
        seen.encode(), _seen(site, who, view, last).encode()
    ):
        raise PageRefused("Not all of the text was shown before it was approved.", "Read it to its end, then approve.")
    return _decide(site, who, view, "approve", content_hash, packet_hash, preset, reason)


@router.post(PATH + "/reject")
def reject_candidate(
    site: SiteDep,
    who: DecidingViewer,
    namespace: str,
    candidate_id: str,
    content_hash: Annotated[str, Form()],
    packet_hash: Annotated[str, Form()],
    preset: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Reject exactly what was shown."""
    view = _load(site, who, namespace, candidate_id)
    return _decide(site, who, view, "reject", content_hash, packet_hash, preset, reason)


def _decide(
    site: Site,
    who: Viewer,
    view: CandidateView,
    verdict: str,
    content_hash: str,
    packet_hash: str,
    preset: str,
    reason: str,
) -> Response:
    if preset in OPPOSITE_REASONS[verdict]:
        raise PageRefused(f"“{preset}” is no reason to {verdict}.", "Go back and pick a reason that fits.")
    try:
        result: DecisionResult = STEPS[verdict](
            site.database,
            view.namespace,
            view.id,
            content_hash=content_hash,
            packet_hash=packet_hash,
            reviewer=who.reviewer(),
            reason=full_reason(preset, reason),
            now=site.clock(),
            secret=site.secret,
        )
    except DecisionRefused as refusal:
        return refused(site, who, refusal, view.link, "Back to the candidate, as it is now")
    return RedirectResponse(links.with_query(view.link, said=result.state), status_code=303)


def full_reason(preset: str, reason: str) -> str:
    """A preset and a reviewer's own words, as one reason. Databases take no NUL."""
    return " ".join(part.strip() for part in (preset, reason) if part.strip()).replace(
        "\x00", "\N{REPLACEMENT CHARACTER}"
    )


def _load(site: Site, who: Viewer, namespace: str, candidate_id: str) -> CandidateView:
    with site.database.read() as session:
        found = pages.candidate_with_revision(session, who.namespaces, namespace, candidate_id)
        if found is None:
            raise NotFound(NO_CANDIDATE, "Go back to the queue.")
        conflicts = conflicts_touching(session, namespace, [f"candidate:{candidate_id}"], state=None)
        decisions = pages.decisions_on(session, namespace, [candidate_id])
        version = version_of_candidate(session, namespace, candidate_id, found[0].content_hash)
    return candidate_view(*found, conflicts, decisions, version)


def _evidence(site: Site, view: CandidateView, stance: str, heading: str, page: int, other_page: int) -> EvidenceColumn:
    other = "counter" if stance == "support" else "support"
    offset = offset_of(page, EVIDENCE_SIZE)
    with site.database.read() as session:
        total = pages.evidence_counts(session, view.namespace, view.id, view.number).get(stance, 0)
        rows = pages.evidence_page(session, view.namespace, view.id, view.number, stance, offset, EVIDENCE_SIZE)
        bodies = load_bodies(session, view.namespace, [episode.id for _, episode in rows])

    def page_link(number: int) -> str:
        return links.with_query(view.link, **{stance: number, other: other_page}) + f"#{stance}"

    return EvidenceColumn(
        stance=stance,
        heading=heading,
        total=total,
        shown=tuple(evidence_view(evidence, episode, bodies.get(episode.id)) for evidence, episode in rows),
        first=offset + 1,
        last=offset + len(rows),
        previous_link=page_link(page - 1) if page > 1 else "",
        next_link=page_link(page + 1) if offset + len(rows) < total else "",
    )


def _seen(site: Site, who: Viewer, view: CandidateView, part: int) -> str:
    """Proof that this session was shown a text up to and including a part."""
    return keyed_hash(site.secret, "seen", who.session_id, view.id, view.content_hash, str(part), length=32)
