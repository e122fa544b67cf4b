"""A candidate's page and the decisions on it."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import APIRouter, Form, Query
from fastapi.responses import RedirectResponse, Response
from sqlmodel import Session

from review_ui import links
from review_ui.access import DecidingViewer, Viewer, ViewerDep
from review_ui.errors import PageRefused
from review_ui.gather import gather, only_row
from review_ui.paging import offset_of
from review_ui.reserving import reserve_for
from review_ui.routes.answers import refused
from review_ui.routes.changes import changes_of
from review_ui.site import Site, SiteDep
from review_ui.viewed import record_view
from review_ui.views.candidate import Found, candidate_view
from review_ui.views.decision import contradicts, offered
from review_ui.views.evidence import SIZE, EvidenceColumn, evidence_column
from review_ui.views.packet import content_of
from review_ui.views.parts import parts_view
from review_ui.views.reading import parts_of, reading
from review_ui.views.reserved import reserved_view
from review_ui.views.spoken import spoken_of
from review_ui.words import N_, _
from storage.bodies import load_bodies
from storage.ids import keyed_hash
from storage.queries import pages
from storage.queries.candidates import authors_of
from storage.queries.neighbours import Key, neighbours
from storage.queries.queue import Asked
from storage.tables import Candidate, CandidateRevision
from tasks.promote.errors import DecisionRefused
from tasks.promote.step import DecisionResult, approve, reject

router = APIRouter()
PATH = "/candidates/{namespace:path}/{candidate_id}"
SAID = {
    "approved": N_(
        "Your approval is recorded. One more reviewer has to approve this hash before agents are served it."
    ),
    "promoted": N_("Approved and promoted: agents of this namespace are served it from now on."),
    "rejected": N_("Rejected, with your reason. It comes back only if its content changes."),
    "edited": N_("Saved. Earlier approvals fell, and another reviewer has to approve your words."),
    "taken-back": N_("It has the night's text again. Earlier approvals fell."),
    "asked": N_("It waits for the evidence you asked for. It is back once that came, or on the day you set."),
    "split": N_("It was split: its parts are in the queue, and it comes back only if none of them stands."),
    "merged": N_("Merged: the other candidate is closed, and its evidence counts here."),
    "resumed": N_("The request is taken back: it waits for a decision again."),
}
STEPS = {"approve": approve, "reject": reject}
Page = Annotated[int, Query(ge=1)]


@router.get(PATH)
def show_candidate(
    site: SiteDep,
    who: ViewerDep,
    namespace: str,
    candidate_id: str,
    part: int = 1,
    seen: str = "",
    support: Page = 1,
    counter: Page = 1,
    said: str = "",
) -> Response:
    """The packet. A text in several parts is read in order: each part carries the proof that the ones before were
    shown, and the form to approve comes with the last."""
    now = site.clock()
    with site.database.read() as session:
        found = gather(session, who.namespaces, namespace, candidate_id, now)
        columns = [
            _evidence(session, found, "support", support, counter),
            _evidence(session, found, "counter", counter, support),
        ]
        beside = neighbours(session, Asked(now, who.namespaces), found.candidate)
        changes = changes_of(session, site, found.candidate, found.revision)
        is_author = who.user_id in authors_of(session, namespace, candidate_id)
    view = candidate_view(found)
    text = reading(view.content, part)
    if text.part > 1 and not hmac.compare_digest(
        seen.encode(), _seen(site, who, found.revision, text.part - 1).encode()
    ):
        return RedirectResponse(view.link, status_code=303)
    record_view(site, who, namespace, f"candidate:{candidate_id}")
    may_decide = view.is_open and who.reviewer().may_decide(namespace)
    holder = reserve_for(site, who, namespace, candidate_id) if may_decide else None
    mark = _seen(site, who, found.revision, text.part)
    return site.page(
        "candidate.html",
        who=who,
        active="queue",
        view=view,
        text=text,
        seen=mark,
        next_part=links.with_query(view.link, part=text.part + 1, seen=mark),
        columns=columns,
        before=_link(beside.before),
        after=_link(beside.after),
        may_decide=may_decide,
        is_author=is_author,
        can_approve=text.is_last and not (view.missing or view.is_parked or is_author),
        shows_edit=text.is_last or (changes.edit is not None and bool(changes.edit.too_long)),
        reserved=reserved_view(holder, who.user_id, view.link, now),
        changes=changes,
        parts=parts_view(found.candidate),
        said=_(SAID.get(said, "")),
        approve_reasons=offered("approve"),
        reject_reasons=offered("reject"),
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
    _candidate, revision = _load(site, who, namespace, candidate_id)
    last = len(parts_of(content_of(revision.content, namespace)))
    # a changed content is the decision's to refuse, with its own words
    if content_hash == revision.content_hash and not hmac.compare_digest(
        seen.encode(), _seen(site, who, revision, last).encode()
    ):
        raise PageRefused(
            _("Not all of the text was shown before it was approved."), _("Read it to its end, then approve.")
        )
    return _decide(site, who, revision, "approve", content_hash, packet_hash, preset, reason)


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
    _candidate, revision = _load(site, who, namespace, candidate_id)
    return _decide(site, who, revision, "reject", content_hash, packet_hash, preset, reason)


def _decide(
    site: Site,
    who: Viewer,
    revision: CandidateRevision,
    verdict: str,
    content_hash: str,
    packet_hash: str,
    preset: str,
    reason: str,
) -> Response:
    namespace, candidate_id = revision.namespace, revision.candidate_id
    link = links.candidate(namespace, candidate_id)
    if contradicts(verdict, preset):
        said = (
            _("“{reason}” is no reason to approve.")
            if verdict == "approve"
            else _("“{reason}” is no reason to reject.")
        )
        raise PageRefused(said.format(reason=preset), _("Go back and pick a reason that fits."))
    try:
        result: DecisionResult = STEPS[verdict](
            site.database,
            namespace,
            candidate_id,
            content_hash=content_hash,
            packet_hash=packet_hash,
            reviewer=who.reviewer(),
            reason=full_reason(preset, reason),
            now=site.clock(),
            secret=site.secret,
        )
    except DecisionRefused as refusal:
        return refused(site, who, refusal, link, _("Back to the candidate, as it is now"))
    return RedirectResponse(links.with_query(link, said=result.state), status_code=303)


def full_reason(preset: str, reason: str) -> str:
    """A preset and a reviewer's own words, as one reason. Databases take no NUL."""
    return " ".join(part.strip() for part in (preset, reason) if part.strip()).replace(
        "\x00", "\N{REPLACEMENT CHARACTER}"
    )


def _load(site: Site, who: Viewer, namespace: str, candidate_id: str) -> tuple[Candidate, CandidateRevision]:
    with site.database.read() as session:
        return only_row(session, who.namespaces, namespace, candidate_id)


def _evidence(session: Session, found: Found, stance: str, page: int, other_page: int) -> EvidenceColumn:
    candidate, number = found.candidate, found.revision.number
    namespace, offset = candidate.namespace, offset_of(page, SIZE)
    total = pages.evidence_counts(session, namespace, candidate.id, number).get(stance, 0)
    rows = pages.evidence_page(session, namespace, candidate.id, number, stance, offset, SIZE)
    return evidence_column(
        links.candidate(namespace, candidate.id),
        stance,
        rows,
        load_bodies(session, namespace, [episode.id for _row, episode in rows]),
        spoken_of(found.revision.content.get("predicate") or {}),
        total=total,
        page=offset // SIZE + 1,
        other_page=other_page,
    )


def _link(key: Key | None) -> str:
    return links.candidate(*key) if key else ""


def _seen(site: Site, who: Viewer, shown: CandidateRevision, part: int) -> str:
    """Proof that this session was shown a text up to and including a part."""
    of = (who.session_id, shown.namespace, shown.candidate_id, shown.content_hash, str(part))
    return keyed_hash(site.secret, "seen", *of, length=32)
