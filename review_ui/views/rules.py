"""Rules, their versions, who decided and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from review_ui import links
from review_ui.text import shortened
from review_ui.views.candidate import DecisionView, decision_view
from review_ui.views.packet import Content, content_of
from storage.tables import Decision, Recheck, Rule, RuleVersion
from tasks.promote.people import Reviewer
from tasks.revoke.step import Preview

SHOWN = 12
"""Most items of a kind that a preview lists; the rest is counted."""

MEANS = {
    "active": "Agents are served this version.",
    "superseded": "A newer version took its place; nobody is served it.",
    "quarantined": "Withheld: something it leans on was revoked. It comes back only on evidence of its own.",
    "revoked": "Withdrawn for good; clients were told.",
    "expired": "Its time is over; nobody is served it.",
}


RECHECK_BADGES = {"stands": "good", "vanished": "bad", "reversed": "bad"}


@dataclass(frozen=True)
class RuleRow:
    """A rule in a list, by its newest version."""

    link: str
    title: str
    rule_id: str
    namespace: str
    version: int
    state: str
    tier: str
    promoted_at: datetime
    recheck_at: datetime | None
    recheck_due: bool


@dataclass(frozen=True)
class RecheckView:
    """What came out when a night last tested a version again."""

    verdict: str
    badge: str
    words: str
    at: datetime
    run_link: str
    candidate_link: str


def recheck_view(one: Recheck) -> RecheckView:
    """A recheck as it is told."""
    return RecheckView(
        verdict=one.verdict.replace("-", " "),
        badge=RECHECK_BADGES.get(one.verdict, "dim"),
        words=one.words,
        at=one.at,
        run_link=links.run(one.run_id),
        candidate_link=links.candidate(one.namespace, one.candidate_id) if one.candidate_id else "",
    )


@dataclass(frozen=True)
class VersionView:
    """One version with its decisions and readers."""

    number: int
    state: str
    means: str
    tier: str
    content: Content
    content_hash: str
    promoted_at: datetime
    promoted_epoch: int
    state_at: datetime
    state_epoch: int
    state_reason: str
    recheck_at: datetime | None
    decisions: tuple[DecisionView, ...]
    served: int
    sessions: int
    grants: int
    descendants: tuple[tuple[str, str], ...]
    candidate_link: str
    restore_link: str
    recheck: RecheckView | None


@dataclass(frozen=True)
class RuleView:
    """A rule's page; ``versions`` newest first."""

    namespace: str
    id: str
    title: str
    state: str
    link: str
    created_at: datetime
    revoke_link: str
    versions: tuple[VersionView, ...]


@dataclass(frozen=True)
class BlastRadius:
    """What a revocation would do, shortened for a page; the counts are whole."""

    versions: tuple[tuple[int, str], ...]
    descendants: tuple[tuple[str, str], ...]
    sessions: tuple[str, ...]
    session_count: int
    candidates: tuple[tuple[str, str], ...]
    candidate_count: int
    episodes: tuple[tuple[str, str], ...]
    episode_count: int


def rule_row(rule: Rule, version: RuleVersion, now: datetime) -> RuleRow:
    """A row from a rule and its newest version."""
    return RuleRow(
        link=links.rule(rule.namespace, rule.id),
        title=shortened(rule.title, 240),
        rule_id=rule.id,
        namespace=rule.namespace,
        version=version.version,
        state=version.state,
        tier=version.tier,
        promoted_at=version.promoted_at,
        recheck_at=version.recheck_at,
        recheck_due=version.state == "active" and version.recheck_at is not None and version.recheck_at <= now,
    )


def rule_view(
    rule: Rule,
    versions: Sequence[RuleVersion],
    decisions: Sequence[tuple[Decision, str]],
    exposures: dict[int, tuple[int, int]],
    grants: dict[int, int],
    descendants: Sequence[tuple[int, str, int]],
    rechecks: Mapping[tuple[str, int], Recheck],
    reviewer: Reviewer,
) -> RuleView:
    """The page of a rule."""
    may_decide = reviewer.may_decide(rule.namespace)
    return RuleView(
        namespace=rule.namespace,
        id=rule.id,
        title=shortened(rule.title, 240),
        state=versions[0].state if versions else "unknown",
        link=links.rule(rule.namespace, rule.id),
        created_at=rule.created_at,
        revoke_link=(
            links.revoke(rule.namespace, rule.id)
            if may_decide and any(row.state != "revoked" for row in versions)
            else ""
        ),
        versions=tuple(
            _version(row, decisions, exposures.get(row.version, (0, 0)), grants.get(row.version, 0), descendants,
                     rechecks.get((row.rule_id, row.version)), may_decide)
            for row in versions
        ),
    )  # fmt: skip


def _version(
    row: RuleVersion,
    decisions: Sequence[tuple[Decision, str]],
    exposures: tuple[int, int],
    grants: int,
    descendants: Sequence[tuple[int, str, int]],
    recheck: Recheck | None,
    may_decide: bool,
) -> VersionView:
    mine = [
        decision_view(decision, name)
        for decision, name in decisions
        if decision.candidate_id == row.candidate_id and decision.content_hash == row.content_hash
    ]
    return VersionView(
        number=row.version,
        state=row.state,
        means=MEANS[row.state],
        tier=row.tier,
        content=content_of(row.content, row.namespace),
        content_hash=row.content_hash,
        promoted_at=row.promoted_at,
        promoted_epoch=row.promoted_epoch,
        state_at=row.state_at,
        state_epoch=row.state_epoch,
        state_reason=row.state_reason,
        recheck_at=row.recheck_at,
        decisions=tuple(mine),
        served=exposures[0],
        sessions=exposures[1],
        grants=grants,
        descendants=tuple(
            (links.rule(row.namespace, other), f"{other} version {number}")
            for mine_version, other, number in descendants
            if mine_version == row.version
        ),
        candidate_link=links.candidate(row.namespace, row.candidate_id),
        restore_link=(
            links.restore(row.namespace, row.rule_id, row.version) if may_decide and row.state == "quarantined" else ""
        ),
        recheck=None if recheck is None else recheck_view(recheck),
    )


def blast_radius(namespace: str, found: Preview, states: dict[int, str]) -> BlastRadius:
    """The preview of a revocation. ``states`` are those of the rule's own versions, by number."""
    return BlastRadius(
        versions=tuple((number, states.get(number, "")) for _, number in found.versions),
        descendants=tuple((links.rule(namespace, other), f"{other} version {n}") for other, n in found.descendants),
        sessions=tuple(found.sessions[:SHOWN]),
        session_count=len(found.sessions),
        candidates=tuple((links.candidate(namespace, one), one) for one in found.candidates[:SHOWN]),
        candidate_count=len(found.candidates),
        episodes=tuple((links.episode(namespace, one), one) for one in found.episodes[:SHOWN]),
        episode_count=len(found.episodes),
    )
