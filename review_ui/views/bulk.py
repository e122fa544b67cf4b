"""Decisions on several candidates at once: which ones, and what came of each."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from review_ui.errors import PageRefused
from review_ui.hidden import signs
from review_ui.views.packet import content_of
from review_ui.views.reading import parts_of
from review_ui.words import N_, _
from storage.tables import Candidate, CandidateRevision
from tasks.promote.packet import missing_parts

BULK_TIER = "low"
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
MOST = 50
DONE = {
    "approved": N_("Approved. One more reviewer has to approve it."),
    "promoted": N_("Approved and promoted."),
    "rejected": N_("Rejected."),
}


@dataclass(frozen=True)
class Picked:
    """One candidate, exactly as a box of the queue showed it."""

    namespace: str
    candidate_id: str
    content_hash: str
    packet_hash: str


@dataclass(frozen=True)
class BulkResult:
    """What came of one of them. ``link`` is empty where there is nothing to be seen."""

    title: str
    namespace: str
    link: str
    done: bool
    outcome: str
    why: str = ""


def picks_of(values: list[str]) -> list[Picked]:
    """What the boxes of a form named, each once.

    Raises:
        PageRefused: if there is none, too many, or one that no box of ours sends.
    """
    try:
        found = list(dict.fromkeys(Picked(*map(_text, json.loads(value))) for value in values))
    except (ValueError, TypeError, RecursionError) as error:
        raise PageRefused(
            _("A choice of this form is malformed."), _("Go back, reload the queue and choose.")
        ) from error
    if not found:
        raise PageRefused(_("No candidate was chosen."), _("Go back and check the boxes of those you mean."))
    if len(found) > MOST:
        raise PageRefused(_("More candidates were chosen than fit on a page."), _("Go back and choose fewer."))
    return found


def _text(value: object) -> str:
    if not isinstance(value, str) or UNSTORABLE.search(value):
        raise TypeError("a choice is made of four texts that a database takes")
    return value


def not_in_bulk(candidate: Candidate, revision: CandidateRevision) -> str:
    """Why this candidate has to be read and approved by itself; empty where it may be approved among others.

    A row shows its title alone. So nothing is approved from there that could hold more than a row of words lets one
    expect: another tier, hidden characters, a text of several parts, or an incomplete packet.
    """
    content = content_of(revision.content, candidate.namespace)
    if candidate.tier != BULK_TIER:
        return _("It is not of the low tier: only that one is approved in bulk.")
    if any(signs("\n".join([candidate.title, content.when_to_use, *content.guidance]))):
        return _("Its text holds characters that a reader would not see, or that pass for others.")
    if len(parts_of(content)) > 1:
        return _("Its text is too long to be approved unread.")
    if missing_parts(revision.content, revision.packet):
        return _("Its packet is not complete.")
    return ""
