"""The queue's rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from review_ui import links
from review_ui.plot import Mini, mini
from review_ui.text import age_words, shortened
from review_ui.views.packet import checks_of, effect_of, facts_of, held_out_of
from storage.tables import Candidate, CandidateRevision

STATES = {
    "waiting": ("staged", "approved"),
    "promoted": ("promoted",),
    "rejected": ("rejected",),
    "void": ("void",),
}
STATE_WORDS = {
    "staged": "waiting",
    "approved": "one more approval needed",
    "promoted": "promoted",
    "rejected": "rejected",
    "void": "withdrawn",
}


@dataclass(frozen=True)
class QueueRow:
    """One candidate at a glance."""

    link: str
    title: str
    namespace: str
    kind: str
    tier: str
    state: str
    state_words: str
    effect_words: str
    drawing: Mini | None
    confirmed: str
    groups: str
    failing: int
    warning: int
    conflicts: int
    revoked_before: bool
    forced: bool
    age: str
    updated_at: datetime


def queue_row(candidate: Candidate, revision: CandidateRevision, conflicts: int, now: datetime) -> QueueRow:
    """A row from a candidate and its standing revision."""
    packet = revision.packet
    effect, verdicts = effect_of(packet), [check.verdict for check in checks_of(packet)]
    groups = next((fact.value for fact in facts_of(packet) if fact.name == "Independent groups"), "–")
    return QueueRow(
        link=links.candidate(candidate.namespace, candidate.id),
        title=shortened(candidate.title, 240),
        namespace=candidate.namespace,
        kind=candidate.kind,
        tier=candidate.tier,
        state=candidate.state,
        state_words=STATE_WORDS[candidate.state],
        effect_words=effect.words,
        drawing=mini(effect.estimate),
        confirmed=held_out_of(packet).verdict,
        groups=groups,
        failing=verdicts.count("fail"),
        warning=verdicts.count("warn"),
        conflicts=conflicts,
        revoked_before=candidate.revoked_before,
        forced=bool(packet.get("forced")),
        age=age_words(candidate.created_at, now),
        updated_at=candidate.updated_at,
    )
