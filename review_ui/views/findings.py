"""What a run concluded, by how far each conclusion may go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from review_ui import links
from storage.tables import Inference

FIRST = 5
"""Conclusions of a kind on the run's own page; the rest is on a page of its own."""

VERDICT_WORDS = {
    "confirmed": "Confirmed on groups it was not found on",
    "unconfirmed": "Found, not confirmed",
    "insufficient": "Too little evidence yet",
    "confounded": "Only across tasks: gone within them",
    "agent-confounded": "Gone when adjusted for the agent",
    "consequence": "Follows from what was done",
    "hypothesis": "Untested cause",
}


@dataclass(frozen=True)
class Kind:
    """One section: the verdicts in it, its heading, and what it means."""

    verdicts: tuple[str, ...]
    heading: str
    meaning: str


KINDS: Mapping[str, Kind] = {
    "confirmed": Kind(
        ("confirmed",), "Confirmed", "Found within tasks and seen again on groups it was not found on. Drafted."
    ),
    "needs-more": Kind(
        ("unconfirmed", "insufficient"), "Needs more evidence", "It may be so. Each says what a verdict would take."
    ),
    "confounded": Kind(
        ("confounded",),
        "Strong but confounded",
        "Only across tasks: gone within them. Strong over all runs together, it tells hard tasks from easy ones.",
    ),
    "by-agent": Kind(
        ("agent-confounded",), "Confounded by agent", "It cannot be told from which agent ran. Not drafted."
    ),
    "consequences": Kind(
        ("consequence",), "Follows from other things", "How long runs are. It tells good from bad and is no advice."
    ),
    "hypotheses": Kind(
        ("hypothesis",), "Hypotheses", "Untested causes, each with its next step. None is ever staged or served."
    ),
}


@dataclass(frozen=True)
class FindingView:
    """One conclusion. ``verdict_words`` is empty where its section's heading says it."""

    verdict_words: str
    statement: str
    next_step: str
    ruled_out: tuple[str, ...]


@dataclass(frozen=True)
class SectionView:
    """The first conclusions of a kind, how many there are, and where all of them are."""

    name: str
    heading: str
    meaning: str
    total: int
    shown: tuple[FindingView, ...]
    link: str

    @property
    def left(self) -> int:
        """How many are not on this page."""
        return self.total - len(self.shown)


def finding_view(found: Inference, *, alone: bool) -> FindingView:
    """A conclusion as it is told; ``alone``: its section holds no other verdict, so the heading says it."""
    words = "" if alone else VERDICT_WORDS[found.verdict]
    return FindingView(words, found.statement, found.next_step or "", tuple(found.ruled_out))


def section_view(run_id: str, name: str, verdicts: Mapping[str, int], found: Sequence[Inference]) -> SectionView:
    """A section of the run's page from the counts of all verdicts and the conclusions to show."""
    kind = KINDS[name]
    total = sum(verdicts.get(verdict, 0) for verdict in kind.verdicts)
    shown = tuple(finding_view(one, alone=len(kind.verdicts) == 1) for one in found)
    return SectionView(name, kind.heading, kind.meaning, total, shown, links.findings(run_id, name))
