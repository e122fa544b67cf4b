"""Answers that several endpoints give."""

from __future__ import annotations

from fastapi.responses import Response

from review_ui.access import Viewer
from review_ui.site import Site
from review_ui.words import N_, _
from tasks.conflict.resolve import errors as conflict_errors
from tasks.promote import errors as decision_errors
from tasks.promote.errors import DecisionRefused

TOLD: dict[type[DecisionRefused], tuple[str, str]] = {
    DecisionRefused: (N_("Nothing was decided"), N_("Go back, reload the page and look again.")),
    decision_errors.ReasonMissing: (N_("A reason is missing"), N_("Go back, write one and send it again.")),
    decision_errors.NotAllowed: (
        N_("Your role or your namespaces do not cover this"),
        N_("Ask an admin for the role, or leave it to someone who has it."),
    ),
    decision_errors.SelfApproval: (
        N_("Nobody approves what they wrote or edited"),
        N_("Ask another reviewer to look at it."),
    ),
    decision_errors.CandidateGone: (N_("This candidate is gone"), N_("Go back to the queue and reload it.")),
    decision_errors.RuleGone: (
        N_("There is no such rule, or no such version of it"),
        N_("Go to the list of rules and look again."),
    ),
    decision_errors.HashMismatch: (
        N_("This candidate is no longer what you were shown"),
        N_("Reload its page and read it again before you decide."),
    ),
    decision_errors.AlreadyDecided: (
        N_("The opposite was decided before"),
        N_("It stands until the content of the candidate changes."),
    ),
    decision_errors.PacketIncomplete: (
        N_("This candidate cannot be approved as it is"),
        N_("Its page says which part is missing or which check failed. It can be rejected."),
    ),
    decision_errors.EvidenceStale: (
        N_("The evidence says something else by now"),
        N_("Let the next night look again, then read it anew."),
    ),
    decision_errors.Quarantined: (
        N_("It leans on a version that is revoked or withheld"),
        N_("Look at that version first: what leans on it comes back only after it."),
    ),
    decision_errors.TextRefused: (
        N_("This text cannot be saved as it is"),
        N_("Put right what is named and send it again."),
    ),
    decision_errors.NothingChanged: (
        N_("Nothing was changed in this text"),
        N_("Change something, or leave it as it is."),
    ),
    decision_errors.WantedRefused: (
        N_("This cannot be waited for"),
        N_("Put right what is named and send it again."),
    ),
    decision_errors.WrongState: (N_("This cannot be done any more"), N_("Reload the page and look at its state.")),
    conflict_errors.ConflictGone: (N_("There is no such conflict"), N_("Go to the list of conflicts and look again.")),
    conflict_errors.ConflictClosed: (
        N_("The conflict closed by itself"),
        N_("A side is gone, or it is no longer found. There is nothing to decide."),
    ),
    conflict_errors.SideUnknown: (N_("It is not said which side is kept"), N_("Choose left, right, both or neither.")),
    conflict_errors.ConflictChanged: (
        N_("The conflict is no longer what you were shown"),
        N_("Reload the page and read both sides again."),
    ),
    conflict_errors.OtherwiseResolved: (
        N_("The opposite was decided before"),
        N_("It stands until one of the sides says something else."),
    ),
}
"""Each refusal's title, and what to do now. A refusal that is not named here is told as the kind that it is one of."""


def told(refusal: DecisionRefused) -> tuple[str, str]:
    """Title and advice for a refusal, in the reader's language; its own words are a record and stay as they are."""
    title, now = next(TOLD[kind] for kind in type(refusal).__mro__ if kind in TOLD)
    return _(title), _(now)


def refused(site: Site, who: Viewer, refusal: DecisionRefused, link: str, link_words: str) -> Response:
    """A decision was not taken: why, and what to do now."""
    title, now = told(refusal)
    return site.page(
        "message.html", status=refusal.status, who=who, active="", title=title, what=str(refusal),
        now=f"{_('Nothing was changed.')} {now}", link=link, link_words=link_words, recorded=True,
    )  # fmt: skip
