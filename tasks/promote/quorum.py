"""The rules of deciding, without a store: who may, what repeats, what is closed, how many are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tasks.promote.errors import AlreadyDecided, CandidateGone, NotAllowed, ReasonMissing, SelfApproval
from tasks.promote.people import Reviewer

Verdict = Literal["approve", "reject"]
QUORUM: Mapping[str, int] = {"low": 1, "standard": 1, "high": 2}
"""Different reviewers a tier asks for."""

LONGEST_REASON = 4000
DONE: Mapping[Verdict, str] = {"approve": "promoted", "reject": "rejected"}


@dataclass(frozen=True)
class Standing:
    """What was decided so far on the exact content in question. ``votes`` maps a reviewer to their live verdict."""

    state: str
    tier: str
    votes: Mapping[str, str]
    authors: frozenset[str] = frozenset()

    @property
    def needed(self) -> int:
        """Approvals the tier asks for."""
        return QUORUM[self.tier]

    @property
    def have(self) -> int:
        """Approvals that stand."""
        return sum(verdict == "approve" for verdict in self.votes.values())


def check_person(reviewer: Reviewer, namespace: str) -> None:
    """Refuse whoever may not decide here.

    Raises:
        NotAllowed: by role, or by namespace.
    """
    if not reviewer.may_decide(namespace):
        raise NotAllowed(
            f"{reviewer.name} ({reviewer.role}) may not decide in {namespace}: it takes the role reviewer or admin, "
            "with this namespace among their namespaces"
        )


def check_reason(reason: str) -> str:
    """The reason, trimmed.

    Raises:
        ReasonMissing: if nothing is left, or it is longer than a reason.
    """
    reason = reason.strip()
    if not reason:
        raise ReasonMissing("a reason is required: say in a few words why")
    if len(reason) > LONGEST_REASON:
        raise ReasonMissing(f"the reason has {len(reason)} characters; keep it under {LONGEST_REASON}")
    return reason


def is_repeat(verdict: Verdict, standing: Standing, reviewer_id: str) -> bool:
    """Whether this decision changes nothing, because it was taken before.

    Raises:
        AlreadyDecided: if the opposite was decided and closed the candidate.
        CandidateGone: if the candidate was withdrawn.
        SelfApproval: if the reviewer wrote or edited what they approve.
    """
    if standing.state == "void":
        raise CandidateGone("this candidate was withdrawn, since its evidence no longer counts; reload the queue")
    if standing.state in DONE.values() and standing.state != DONE[verdict]:
        raise AlreadyDecided(f"this candidate is {standing.state} already; it reopens only when its content changes")
    if verdict == "approve" and reviewer_id in standing.authors:
        raise SelfApproval("whoever wrote or edited a text may not approve it; another reviewer has to")
    return standing.state == DONE[verdict] or standing.votes.get(reviewer_id) == verdict


def state_after(verdict: Verdict, standing: Standing, reviewer_id: str) -> str:
    """The candidate's state once this vote counts: any rejection closes; approvals wait for their quorum."""
    if verdict == "reject":
        return "rejected"
    approvers = {name for name, vote in standing.votes.items() if vote == "approve"} | {reviewer_id}
    return "promoted" if len(approvers) >= standing.needed else "approved"
