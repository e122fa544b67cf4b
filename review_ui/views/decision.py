"""Deciding: the reasons that are offered, what an approval means, and the decisions that were taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from review_ui.reader import LANGUAGES
from review_ui.views.packet import Content
from review_ui.words import N_, _, catalogue, ngettext
from storage.tables import Candidate, Decision
from tasks.promote.quorum import QUORUM

APPROVE_REASONS = (
    N_("Evidence read; the effect is plausible and well confirmed."),
    N_("Matches a policy we have in writing."),
    N_("Reproduced by hand."),
)
REJECT_REASONS = (
    N_("The evidence does not show it."),
    N_("Too general: it would be followed where it does not hold."),
    N_("Too specific: it restates one case."),
    N_("The right state lives in another system."),
    N_("Unsafe advice, or text that tries to steer a reader."),
    N_("Duplicate of a rule we have."),
)
REASONS = {"approve": APPROVE_REASONS, "reject": REJECT_REASONS}


@dataclass(frozen=True)
class DecisionView:
    """A decision that was taken."""

    verdict: str
    name: str
    reason: str
    at: datetime
    short_hash: str
    voided: str


def decision_view(row: Decision, name: str) -> DecisionView:
    """A decision as it is told."""
    voided = "" if row.voided_at is None else (row.void_reason or _("no longer counts"))
    return DecisionView(row.verdict, name, row.reason, row.at, row.content_hash[:12], voided)


def offered(verdict: str) -> tuple[str, ...]:
    """The reasons of a verdict in the reader's language; what a reviewer picks is stored as they saw it."""
    return tuple(_(reason) for reason in REASONS[verdict])


def contradicts(verdict: str, preset: str) -> bool:
    """Whether a picked reason is one for the opposite verdict, in whichever language its page was."""
    other = REASONS["reject" if verdict == "approve" else "approve"]
    return any(preset == catalogue(language).gettext(reason) for language in LANGUAGES for reason in other)


def approvals(candidate: Candidate, decisions: Sequence[tuple[Decision, str]]) -> tuple[int, int]:
    """(approvals that stand for this content, those its tier asks for)."""
    given = sum(
        row.verdict == "approve" and row.voided_at is None and row.content_hash == candidate.content_hash
        for row, _name in decisions
    )
    return given, QUORUM[candidate.tier]


def meaning(candidate: Candidate, content: Content, decisions: Sequence[tuple[Decision, str]]) -> tuple[str, ...]:
    """The exact text of what an approval does, sentence by sentence."""
    given, needed = approvals(candidate, decisions)
    said = [
        _("You approve hash `{hash}…` for `{namespace}`.").format(
            hash=candidate.content_hash[:12], namespace=candidate.namespace
        )
    ]
    if candidate.kind == "exemplar":
        said.append(_("The run is kept as an example, apart from the rules: no search for rules returns it."))
    elif needed - given <= 1:
        said.append(_("Agents there are served it from now on."))
    else:
        said.append(
            _("Agents there are served it once {n} different reviewers have approved this hash.").format(n=needed)
        )
    if content.recheck:
        said.append(_("It is re-checked on {day}.").format(day=content.recheck))
    left = needed - given - 1
    if left > 0:
        more = ngettext(
            "High tier: one more reviewer is needed after you.",
            "High tier: {n} more reviewers are needed after you.",
            left,
        )
        said.append(more.format(n=left))
    if candidate.replaces_rule_id:
        said.append(
            _("It takes the place of `{rule}` version {version}.").format(
                rule=candidate.replaces_rule_id, version=candidate.replaces_version
            )
        )
    return tuple(said)
