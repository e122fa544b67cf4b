"""The candidate page: the whole packet as finished values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from review_ui import links
from review_ui.hidden import signs
from review_ui.plot import Forest, forest
from review_ui.text import shortened
from review_ui.views import packet as parts
from review_ui.views.belief import Belief, belief_of
from review_ui.views.queue import STATE_WORDS
from review_ui.views.trace import Excerpt, excerpt
from storage.tables import Candidate, CandidateRevision, Conflict, Decision, Episode, Evidence, RuleVersion
from tasks.draft.exemplars import words_of
from tasks.ingest.outcome import source_words
from tasks.promote.packet import missing_parts
from tasks.promote.quorum import QUORUM

APPROVE_REASONS = (
    "Evidence read; the effect is plausible and well confirmed.",
    "Matches a policy we have in writing.",
    "Reproduced by hand.",
)
REJECT_REASONS = (
    "The evidence does not show it.",
    "Too general: it would be followed where it does not hold.",
    "Too specific: it restates one case.",
    "The right state lives in another system.",
    "Unsafe advice, or text that tries to steer a reader.",
    "Duplicate of a rule we have.",
)


@dataclass(frozen=True)
class EvidenceView:
    """One piece of evidence with its excerpt; ``excerpt`` is None where the body was purged."""

    episode_link: str
    step_link: str
    task: str
    stratum: str
    agent: str
    outcome: str
    outcome_words: str
    trust: str
    group: str
    stale: bool
    excerpt: Excerpt | None


@dataclass(frozen=True)
class EvidenceColumn:
    """Evidence of one stance, a page of it."""

    stance: str
    heading: str
    total: int
    shown: tuple[EvidenceView, ...]
    first: int
    last: int
    previous_link: str
    next_link: str


@dataclass(frozen=True)
class ConflictView:
    """Two texts that cannot both be followed. ``standing`` and ``outcome`` tell what a person decided about them."""

    title: str
    detail: str
    link: str
    page: str = ""
    standing: str = ""
    outcome: str = ""


@dataclass(frozen=True)
class ExampleView:
    """The recorded run that an exemplar points to."""

    link: str
    task: str
    calls: str


@dataclass(frozen=True)
class DecisionView:
    """A decision that was taken."""

    verdict: str
    name: str
    reason: str
    at: datetime
    short_hash: str
    voided: str


@dataclass(frozen=True)
class CandidateView:
    """Everything the page says."""

    namespace: str
    id: str
    title: str
    kind: str
    tier: str
    tier_why: str
    state: str
    state_words: str
    content: parts.Content
    summary: str
    effect: parts.Effect
    belief: Belief
    held_out: parts.HeldOut
    forest: Forest
    to_look_at: tuple[parts.Check, ...]
    passed: tuple[parts.Check, ...]
    passed_words: str
    exceptions: tuple[str, ...]
    facts: tuple[parts.Labelled, ...]
    conflicts: tuple[ConflictView, ...]
    counter_example: tuple[str, str] | None
    decisions: tuple[DecisionView, ...]
    content_hash: str
    packet_hash: str
    number: int
    drafter: str
    mode: str
    created_at: datetime
    replaces: tuple[str, str] | None
    revoked_before: bool
    forced: str
    example: ExampleView | None
    hidden: int
    mixed: int
    missing: tuple[str, ...]
    meaning: tuple[str, ...]
    is_open: bool
    link: str
    rule_link: str


def candidate_view(
    candidate: Candidate,
    revision: CandidateRevision,
    conflicts: Sequence[Conflict],
    decisions: Sequence[tuple[Decision, str]],
    version: RuleVersion | None = None,
) -> CandidateView:
    """The page of a candidate as it stands."""
    packet, namespace = revision.packet, candidate.namespace
    content = parts.content_of(revision.content, namespace)
    effect, held = parts.effect_of(packet), parts.held_out_of(packet)
    checks = parts.checks_of(packet)
    passed = tuple(check for check in checks if check.passed)
    hidden, mixed = signs("\n".join([content.when_to_use, *content.guidance]))
    return CandidateView(
        namespace=namespace,
        id=candidate.id,
        title=shortened(candidate.title, 240),
        kind=candidate.kind,
        tier=candidate.tier,
        tier_why=candidate.tier_why or str(packet.get("tier_why") or ""),
        state=candidate.state,
        state_words=STATE_WORDS[candidate.state],
        content=content,
        summary=str(packet.get("summary") or ""),
        effect=effect,
        belief=belief_of(revision.content.get("predicate") or {}, packet, effect, held),
        held_out=held,
        forest=forest(parts.strata_of(packet), effect.estimate),
        to_look_at=tuple(check for check in checks if not check.passed),
        passed=passed,
        passed_words=_passed_words(passed),
        exceptions=tuple(parts.exceptions_of(packet)),
        facts=tuple(parts.facts_of(packet)),
        conflicts=tuple(_conflict(row, candidate) for row in conflicts if row.state == "open" or row.resolution)
        or tuple(_packet_conflicts(packet)),
        counter_example=_counter_example(packet, namespace),
        decisions=tuple(decision_view(row, name) for row, name in decisions),
        content_hash=revision.content_hash,
        packet_hash=revision.packet_hash,
        number=revision.number,
        drafter=revision.drafter,
        mode=revision.mode,
        created_at=revision.created_at,
        replaces=_replaces(candidate),
        revoked_before=candidate.revoked_before,
        forced=str((packet.get("forced") or {}).get("why") or ""),
        example=_example(revision.content, namespace),
        hidden=hidden,
        mixed=mixed,
        missing=tuple(missing_parts(revision.content, packet)),
        meaning=tuple(_meaning(candidate, content, decisions)),
        is_open=candidate.state in ("staged", "approved"),
        link=links.candidate(namespace, candidate.id),
        rule_link=links.rule(namespace, version.rule_id) if version else "",
    )


def _passed_words(passed: Sequence[parts.Check]) -> str:
    """As words: "15 passed, 2 not applicable"."""
    beside = sum(check.badge == "n/a" for check in passed)
    return f"{len(passed) - beside} passed" + (f", {beside} not applicable" if beside else "")


def _example(content: dict[str, Any], namespace: str) -> ExampleView | None:
    shown = content.get("exemplar")
    if not shown:
        return None
    link = links.episode(namespace, str(shown.get("episode_id")))
    return ExampleView(link, str(shown.get("task") or ""), words_of([str(call) for call in shown.get("calls") or ()]))


def _meaning(candidate: Candidate, content: parts.Content, decisions: Sequence[tuple[Decision, str]]) -> list[str]:
    """The exact text of what an approval does, line by line."""
    needed = QUORUM[candidate.tier]
    given = sum(
        row.verdict == "approve" and row.voided_at is None and row.content_hash == candidate.content_hash
        for row, _ in decisions
    )
    left = max(needed - given, 0)
    said = [f"You approve the content {candidate.content_hash[:16]}… for {candidate.namespace}."]
    recheck = f"re-check on {content.recheck or 'a date that is not set'}"
    if candidate.kind == "exemplar":
        said.append(f"The run is kept as an example, apart from the rules: no search for rules returns it; {recheck}.")
    elif left <= 1:
        said.append(f"Agents that read this namespace are served it from that moment; {recheck}.")
    else:
        said.append(f"It is served once {needed} different reviewers have approved this content; {recheck}.")
    if candidate.replaces_rule_id:
        said.append(f"It supersedes {candidate.replaces_rule_id} version {candidate.replaces_version}.")
    said.append("Your name, your reason and the hashes of content and evidence enter the audit log.")
    return said


def _conflict(row: Conflict, candidate: Candidate) -> ConflictView:
    mine = f"candidate:{candidate.id}"
    other = row.right_ref if row.left_ref == mine else row.left_ref
    side = "left" if row.left_ref == mine else "right"
    stands = row.resolution == "both" or row.resolution == side
    return ConflictView(
        f"{row.kind} with {(row.sides.get('right' if side == 'left' else 'left') or {}).get('title') or other}",
        row.detail,
        ref_link(candidate.namespace, other),
        page=links.conflict(candidate.namespace, row.id),
        standing=("This side stands." if stands else "This side was put aside.") if row.resolution else "",
        outcome=(row.reason or "") if row.resolution else "",
    )


def _packet_conflicts(packet: dict[str, Any]) -> list[ConflictView]:
    return [ConflictView(found.name, found.value, "") for found in parts.packet_conflicts_of(packet)]


def ref_link(namespace: str, ref: str) -> str:
    """Where ``candidate:<id>`` or ``rule:<id>@<version>`` is shown; empty for anything else."""
    kind, _, name = ref.partition(":")
    if kind == "candidate":
        return links.candidate(namespace, name)
    if kind == "rule":
        return links.rule(namespace, name.partition("@")[0])
    return ""


def _counter_example(packet: dict[str, Any], namespace: str) -> tuple[str, str] | None:
    found = parts.counter_example_of(packet)
    if found is None:
        return None
    episode_id, step, why = found
    return (_at_step(links.episode(namespace, episode_id), step) if episode_id else ""), why


def _replaces(candidate: Candidate) -> tuple[str, str] | None:
    if candidate.replaces_rule_id is None:
        return None
    words = f"{candidate.replaces_rule_id} version {candidate.replaces_version}"
    return links.rule(candidate.namespace, candidate.replaces_rule_id), words


def decision_view(row: Decision, name: str) -> DecisionView:
    """A decision as it is told."""
    voided = "" if row.voided_at is None else (row.void_reason or "no longer counts")
    return DecisionView(row.verdict, name, row.reason, row.at, row.content_hash[:12], voided)


def evidence_view(evidence: Evidence, episode: Episode, payload: dict[str, Any] | None) -> EvidenceView:
    """One link with the steps it cites."""
    link = links.episode(evidence.namespace, episode.id)
    step = evidence.step_ids[0] if evidence.step_ids else ""
    return EvidenceView(
        episode_link=link,
        step_link=_at_step(link, step),
        task=shortened(episode.task, 160),
        stratum=evidence.stratum or episode.task_key,
        agent=" ".join(part for part in (episode.agent, episode.agent_version) if part) or "unnamed agent",
        outcome=episode.outcome,
        outcome_words=source_words(episode.outcome, episode.outcome_source),
        trust=episode.trust,
        group=evidence.group_id,
        stale=evidence.is_stale,
        excerpt=excerpt(payload, evidence.step_ids) if payload is not None else None,
    )


def _at_step(link: str, step: str) -> str:
    return f"{links.with_query(link, step=step)}#cited" if step else link
