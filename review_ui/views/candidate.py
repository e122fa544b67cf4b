"""The candidate page: the whole packet as finished values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from review_ui import links
from review_ui.hidden import signs
from review_ui.plot import Forest, forest
from review_ui.text import shortened
from review_ui.views import packet as parts
from review_ui.views.belief import Belief, belief_of
from review_ui.views.choices import MODES
from review_ui.views.conflict_rows import ConflictView, conflicts_of, ref_link
from review_ui.views.decision import DecisionView, decision_view, meaning
from review_ui.views.differences import Difference, difference, newer_text, nights_text
from review_ui.views.evidence import at_step
from review_ui.views.glance import Glance, glances
from review_ui.views.lineage import Descent, LineageView, lineage_view
from review_ui.views.names import CANDIDATE_STATES, DRAFTERS, TIERS, said
from review_ui.views.queue import KINDS, MOST_REASONS, why_words
from review_ui.views.reach import ReachView, reach_view
from review_ui.views.scope import Labelled
from review_ui.views.served import Served, served
from review_ui.words import _
from storage.queries.candidates import OPEN_STATES
from storage.tables import Candidate, CandidateRevision, Conflict, Decision, RuleVersion
from tasks.draft.exemplars import words_of
from tasks.promote.packet import missing_parts
from tasks.stage.reach_step import Reached

__all__ = ["CandidateView", "DecisionView", "Found", "Linked", "candidate_view", "decision_view", "ref_link"]


class Linked(NamedTuple):
    """Words that lead somewhere; the link may be empty."""

    words: str
    link: str


@dataclass(frozen=True)
class Found:
    """What the store holds about one candidate.

    ``texts`` are contents of the sides of its conflicts, by ref. ``replaced`` is the version it would take the place
    of. ``tasks`` maps the episodes that the page links to what was asked in each. ``took_over`` are the candidates that
    took its place, ``merged`` those that it took the place of, each as (id, title).
    """

    candidate: Candidate
    revision: CandidateRevision
    decisions: Sequence[tuple[Decision, str]] = ()
    conflicts: Sequence[Conflict] = ()
    texts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    version: RuleVersion | None = None
    replaced: RuleVersion | None = None
    reached: Reached = field(default_factory=lambda: Reached(0))
    descent: Descent = field(default_factory=Descent)
    tasks: Mapping[str, str] = field(default_factory=dict)
    took_over: Sequence[tuple[str, str]] = ()
    merged: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class ExampleView:
    """The recorded run that an exemplar points to."""

    link: str
    task: str
    calls: str


@dataclass(frozen=True)
class CounterExample:
    """A run that speaks against it; ``link`` is empty where none was found."""

    why: str
    link: str
    task: str


@dataclass(frozen=True)
class CandidateView:
    """Everything the page says."""

    namespace: str
    id: str
    title: str
    kind: str
    kind_words: str
    tier: str
    tier_words: str
    tier_why: str
    state: str
    state_words: str
    content: parts.Content
    served: Served
    summary: str
    glances: tuple[Glance, ...]
    effect: parts.Effect
    belief: Belief
    held_out: parts.HeldOut
    forest: Forest
    to_look_at: tuple[parts.Check, ...]
    passed: tuple[parts.Check, ...]
    passed_words: str
    exceptions: tuple[str, ...]
    facts: tuple[Labelled, ...]
    conflicts: tuple[ConflictView, ...]
    counter_example: CounterExample | None
    decisions: tuple[DecisionView, ...]
    differences: tuple[Difference, ...]
    reach: ReachView
    lineage: LineageView
    content_hash: str
    packet_hash: str
    number: int
    drafter: str
    mode: str
    edited_by: str
    created_at: datetime
    replaces: Linked | None
    revoked_before: bool
    forced: str
    why_now: tuple[str, ...]
    example: ExampleView | None
    hidden: int
    mixed: int
    missing: tuple[str, ...]
    meaning: tuple[str, ...]
    is_open: bool
    is_parked: bool
    took_over: tuple[Linked, ...]
    merged: tuple[Linked, ...]
    link: str
    rule_link: str


def candidate_view(found: Found) -> CandidateView:
    """The page of a candidate as it stands."""
    candidate, revision = found.candidate, found.revision
    packet, namespace = revision.packet, candidate.namespace
    content = parts.content_of(revision.content, namespace)
    effect, held = parts.effect_of(packet), parts.held_out_of(packet)
    checks = parts.checks_of(packet)
    passed = tuple(check for check in checks if check.passed)
    exceptions = tuple(parts.exceptions_of(packet))
    hidden, mixed = signs("\n".join([content.when_to_use, *content.guidance]))
    texts = {ref: parts.content_of(dict(text), namespace) for ref, text in found.texts.items()}
    conflicts = conflicts_of(candidate, found.conflicts, packet, texts)
    reach = reach_view(namespace, found.reached, found.tasks)
    return CandidateView(
        namespace=namespace,
        id=candidate.id,
        title=shortened(candidate.title, 240),
        kind=candidate.kind,
        kind_words=said(KINDS, candidate.kind),
        tier=candidate.tier,
        tier_words=_("{tier} tier").format(tier=said(TIERS, candidate.tier)),
        tier_why=candidate.tier_why or str(packet.get("tier_why") or ""),
        state=candidate.state,
        state_words=_("waits for evidence") if candidate.parked_at else said(CANDIDATE_STATES, candidate.state),
        content=content,
        served=served(revision.content, packet),
        summary=str(packet.get("summary") or ""),
        glances=glances(
            packet, effect, held, checks, conflicts, reach, is_example=bool(revision.content.get("exemplar"))
        ),
        effect=effect,
        belief=belief_of(revision.content.get("predicate") or {}, packet, effect, held),
        held_out=held,
        forest=forest(parts.strata_of(packet), effect.estimate, exceptions=frozenset(exceptions)),
        to_look_at=tuple(check for check in checks if not check.passed),
        passed=passed,
        passed_words=_passed_words(passed),
        exceptions=exceptions,
        facts=tuple(parts.facts_of(packet)),
        conflicts=conflicts,
        counter_example=_counter_example(packet, namespace, found.tasks),
        decisions=tuple(decision_view(row, name) for row, name in found.decisions),
        differences=tuple(_differences(found, content)),
        reach=reach,
        lineage=lineage_view(candidate, revision.number, found.descent),
        content_hash=revision.content_hash,
        packet_hash=revision.packet_hash,
        number=revision.number,
        drafter=said(DRAFTERS, revision.drafter),
        mode=said(MODES, revision.mode),
        edited_by=str((_dict(packet.get("edited"))).get("name") or ""),
        created_at=revision.created_at,
        replaces=_replaces(candidate),
        revoked_before=candidate.revoked_before,
        forced=str(_dict(packet.get("forced")).get("why") or ""),
        why_now=why_words(candidate.why_now)[:MOST_REASONS] if candidate.state in OPEN_STATES else (),
        example=_example(revision.content, namespace),
        hidden=hidden,
        mixed=mixed,
        missing=tuple(missing_parts(revision.content, packet)),
        meaning=meaning(candidate, content, found.decisions),
        is_open=candidate.state in OPEN_STATES,
        is_parked=candidate.parked_at is not None,
        took_over=_named(namespace, found.took_over),
        merged=_named(namespace, found.merged),
        link=links.candidate(namespace, candidate.id),
        rule_link=links.rule(namespace, found.version.rule_id) if found.version else "",
    )


def _passed_words(passed: Sequence[parts.Check]) -> str:
    """As words: "15 passed, 2 not applicable"."""
    beside = sum(check.badge == "n/a" for check in passed)
    if beside:
        return _("{n} passed, {beside} not applicable").format(n=len(passed) - beside, beside=beside)
    return _("{n} passed").format(n=len(passed))


def _example(content: dict[str, Any], namespace: str) -> ExampleView | None:
    shown = content.get("exemplar")
    if not shown:
        return None
    link = links.episode(namespace, str(shown.get("episode_id")))
    return ExampleView(link, str(shown.get("task") or ""), words_of([str(call) for call in shown.get("calls") or ()]))


def _counter_example(packet: dict[str, Any], namespace: str, tasks: Mapping[str, str]) -> CounterExample | None:
    known = parts.counter_example_of(packet)
    if known is None:
        return None
    episode_id, step, why = known
    if not episode_id:
        return CounterExample(why, "", "")
    task = shortened(tasks.get(episode_id) or _("the episode"), 160)
    return CounterExample(why, at_step(links.episode(namespace, episode_id), step), task)


def _differences(found: Found, content: parts.Content) -> list[Difference]:
    namespace, packet = found.candidate.namespace, found.revision.packet
    made = []
    if found.replaced is not None:
        row = found.replaced
        title = _("Against `{rule}` version {version}, which it would replace").format(
            rule=row.rule_id, version=row.version
        )
        before = parts.content_of(row.content, namespace)
        made.append(difference("replaced", title, links.rule(namespace, row.rule_id), before, content))
    for ident, text, title in (
        ("night", nights_text(packet), _("Against what the night wrote, before it was edited")),
        ("newer", newer_text(packet), _("Against what the night would write by now")),
    ):
        if text is not None:
            made.append(difference(ident, title, "", parts.content_of(dict(text), namespace), content))
    return made


def _replaces(candidate: Candidate) -> Linked | None:
    if candidate.replaces_rule_id is None:
        return None
    words = _("{rule} version {version}").format(rule=candidate.replaces_rule_id, version=candidate.replaces_version)
    return Linked(words, links.rule(candidate.namespace, candidate.replaces_rule_id))


def _named(namespace: str, pairs: Sequence[tuple[str, str]]) -> tuple[Linked, ...]:
    return tuple(Linked(shortened(title, 160), links.candidate(namespace, ident)) for ident, title in pairs)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
