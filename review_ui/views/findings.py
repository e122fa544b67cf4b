"""What a run concluded, by how far each conclusion may go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from review_ui import links
from review_ui.text import shortened
from storage.tables import Candidate, Draft, Inference
from tasks.verify.checks import HOLDS

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
    "confirmed": Kind(("confirmed",), "Confirmed", "Found within tasks and seen again on groups it was not found on."),
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
class Became:
    """What was made of a confirmed finding: words, and a link where there is something to open."""

    words: str
    link: str = ""
    title: str = ""


Drafts = Mapping[str, tuple[Draft, Candidate | None]]
"""The draft of each conclusion that has one, with the candidate that the night staged it in."""


@dataclass(frozen=True)
class FindingView:
    """One conclusion. ``verdict_words`` is empty where its section's heading says it; ``became`` if none is drafted."""

    verdict_words: str
    statement: str
    next_step: str
    ruled_out: tuple[str, ...]
    became: Became | None


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


def finding_view(found: Inference, drafts: Drafts, *, alone: bool) -> FindingView:
    """A conclusion as it is told; ``alone``: its section holds no other verdict, so the heading says it."""
    words = "" if alone else VERDICT_WORDS[found.verdict]
    said = found.next_step or ""
    return FindingView(
        verdict_words=words,
        statement=found.statement,
        next_step="" if said in found.statement else said,
        ruled_out=tuple(found.ruled_out),
        became=_became(found, drafts.get(found.id)) if found.verdict == "confirmed" else None,
    )


def _became(found: Inference, made: tuple[Draft, Candidate | None] | None) -> Became:
    if made is None:
        return Became("No text was made of it.")
    draft, candidate = made
    held = next((row for row in draft.checks if row.get("verdict") == "fail" and row.get("name") in HOLDS), None)
    if candidate is not None:
        return Became("Drafted:", links.candidate(found.namespace, candidate.id), shortened(candidate.title, 160))
    if held is None:
        return Became("A text was made of it; no candidate holds it now.")
    why = str(held.get("detail") or "")
    rule_id, _, says = why.partition(" version ")
    if held.get("name") == "recall" and says and " " not in rule_id:
        return Became("A rule says this already:", links.rule(found.namespace, rule_id), rule_id)
    return Became(f"Held back by the check “{held.get('name')}”: {why}")


def section_view(
    run_id: str, name: str, verdicts: Mapping[str, int], found: Sequence[Inference], drafts: Drafts
) -> SectionView:
    """A section of the run's page from the counts of all verdicts, the conclusions to show, and what came of them."""
    kind = KINDS[name]
    total = sum(verdicts.get(verdict, 0) for verdict in kind.verdicts)
    shown = tuple(finding_view(one, drafts, alone=len(kind.verdicts) == 1) for one in found)
    return SectionView(name, kind.heading, kind.meaning, total, shown, links.findings(run_id, name))
