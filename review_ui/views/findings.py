"""What a run concluded, by how far each conclusion may go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from review_ui import links
from review_ui.text import shortened
from review_ui.views.names import CHECKS, said
from review_ui.words import N_, _, ngettext
from storage.tables import Candidate, Draft, Inference
from tasks.verify.checks import HOLDS

FIRST = 5
"""Conclusions of a kind on the run's own page; the rest is on a page of its own."""

VERDICT_WORDS = {
    "confirmed": N_("Confirmed on groups it was not found on"),
    "unconfirmed": N_("Found, not confirmed"),
    "insufficient": N_("Too little evidence yet"),
    "confounded": N_("Only across tasks: gone within them"),
    "agent-confounded": N_("Gone when adjusted for the agent"),
    "consequence": N_("Follows from what was done"),
    "hypothesis": N_("Untested cause"),
}


@dataclass(frozen=True)
class Kind:
    """One section: the verdicts in it, its heading, and what it means."""

    verdicts: tuple[str, ...]
    heading: str
    meaning: str


KINDS: Mapping[str, Kind] = {
    "confirmed": Kind(
        ("confirmed",), N_("Confirmed"), N_("Found within tasks and seen again on groups it was not found on.")
    ),
    "needs-more": Kind(
        ("unconfirmed", "insufficient"),
        N_("Needs more evidence"),
        N_("It may be so. Each says what a verdict would take."),
    ),
    "confounded": Kind(
        ("confounded",),
        N_("Strong but confounded"),
        N_("Only across tasks: gone within them. Strong over all runs together, it tells hard tasks from easy ones."),
    ),
    "by-agent": Kind(
        ("agent-confounded",),
        N_("Confounded by agent"),
        N_("It cannot be told from which agent ran. Not drafted."),
    ),
    "consequences": Kind(
        ("consequence",),
        N_("Follows from other things"),
        N_("How long runs are. It tells good from bad and is no advice."),
    ),
    "hypotheses": Kind(
        ("hypothesis",),
        N_("Hypotheses"),
        N_("Untested causes, each with its next step. None is ever staged or served."),
    ),
}
OUT_OF_REACH = 10
"""So many times what all nights compared so far, and more, is not to be waited for."""


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
    """One conclusion. ``verdict_words`` is empty where its section's heading says it; ``became`` if none is drafted.

    ``out_of_reach`` says so with both figures where what it needs is not to be waited for.
    """

    verdict_words: str
    statement: str
    next_step: str
    ruled_out: tuple[str, ...]
    ruled_out_words: str
    out_of_reach: str
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
    said, others = found.next_step or "", tuple(found.ruled_out)
    counted = ngettext("{n} other explanation ruled out", "{n} other explanations ruled out", len(others))
    return FindingView(
        verdict_words="" if alone else _(VERDICT_WORDS[found.verdict]),
        statement=found.statement,
        next_step="" if said in found.statement else said,
        ruled_out=others,
        ruled_out_words=counted.format(n=len(others)),
        out_of_reach=_out_of_reach(found.statistics),
        became=_became(found, drafts.get(found.id)) if found.verdict == "confirmed" else None,
    )


def _out_of_reach(statistics: Mapping[str, Any]) -> str:
    """The runs that a verdict would take against those that were compared so far, of the outcome that is scarcer."""
    needs = statistics.get("needs") or {}
    failures, successes = needs.get("failures"), needs.get("successes")
    if not isinstance(failures, int) or not isinstance(successes, int):
        return ""
    scarcer = "failure" if failures <= successes else "success"
    wanted = min(failures, successes)
    rows = [row for row in statistics.get("strata") or () if isinstance(row, dict)]
    have = sum(int(row.get(f"{scarcer}_{side}") or 0) for row in rows for side in ("with", "without"))
    if not have or wanted <= OUT_OF_REACH * have:
        return ""
    said = {
        "failure": _(
            "Out of reach: it would take about {wanted} more failures, and all nights so far compared {have}."
        ),
        "success": _(
            "Out of reach: it would take about {wanted} more successes, and all nights so far compared {have}."
        ),
    }
    return said[scarcer].format(wanted=f"{wanted:,}", have=f"{have:,}")


def _became(found: Inference, made: tuple[Draft, Candidate | None] | None) -> Became:
    if made is None:
        return Became(_("No text was made of it."))
    draft, candidate = made
    held = next((row for row in draft.checks if row.get("verdict") == "fail" and row.get("name") in HOLDS), None)
    if candidate is not None:
        return Became(_("Drafted:"), links.candidate(found.namespace, candidate.id), shortened(candidate.title, 160))
    if held is None:
        return Became(_("A text was made of it; no candidate holds it now."))
    why = str(held.get("detail") or "")
    rule_id, _version, says = why.partition(" version ")
    if held.get("name") == "recall" and says and " " not in rule_id:
        return Became(_("A rule says this already:"), links.rule(found.namespace, rule_id), rule_id)
    check = said(CHECKS, str(held.get("name")))
    return Became(_("Held back by the check “{check}”: {why}").format(check=check, why=why))


def section_view(
    run_id: str, name: str, verdicts: Mapping[str, int], found: Sequence[Inference], drafts: Drafts
) -> SectionView:
    """A section of the run's page from the counts of all verdicts, the conclusions to show, and what came of them."""
    kind = KINDS[name]
    total = sum(verdicts.get(verdict, 0) for verdict in kind.verdicts)
    shown = tuple(finding_view(one, drafts, alone=len(kind.verdicts) == 1) for one in found)
    return SectionView(name, _(kind.heading), _(kind.meaning), total, shown, links.findings(run_id, name))
