"""A rule's page: its versions, what happened to it, who read it, what came of it when it was tested again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from review_ui import links
from review_ui.text import shortened
from review_ui.views.candidate import ref_link
from review_ui.views.changes import propose_link
from review_ui.views.conflicts import KINDS as CONFLICT_KINDS
from review_ui.views.names import CANDIDATE_STATES, RECHECKS, RUN_STATES, VERSION_STATES, said
from review_ui.views.outcome import Repair, ids_told, repair_of
from review_ui.views.readers import Readers
from review_ui.views.rule_history import Happening
from review_ui.views.rules import RECHECK_BADGES
from review_ui.views.versions import VersionView
from review_ui.words import _, ngettext
from storage.tables import Candidate, Conflict, Recheck, Rule, RuleVersion, Run, RunStep

MOST_KIN = 60
MOST_HAPPENINGS = 80
MOST_RECHECKS = 20
MOST_VOIDED = 12


@dataclass(frozen=True)
class RecheckView:
    """What came out when a night tested a version again."""

    version: int
    verdict: str
    badge: str
    words: str
    at: datetime
    run_link: str
    candidate_link: str


@dataclass(frozen=True)
class ConflictRow:
    """A conflict of one of the versions, and how it was decided."""

    link: str
    kind: str
    detail: str
    other: str
    other_link: str
    decided: str
    reason: str
    is_open: bool


@dataclass(frozen=True)
class Proposal:
    """A candidate that waits for a decision and would put a version aside."""

    link: str
    title: str
    words: str
    state_words: str


@dataclass(frozen=True)
class RepairView:
    """How far the repair after the revocation got, and what it did. ``voided`` are (link, title) of candidates."""

    link: str
    events_link: str
    state: str
    state_words: str
    running: bool
    progress: str
    done: Repair
    voided: tuple[tuple[str, str], ...]
    voided_more: int


@dataclass(frozen=True)
class RuleView:
    """A rule's page; ``versions`` newest first. ``more_happened`` leads to the audit log where some was left out."""

    namespace: str
    id: str
    title: str
    state: str
    state_words: str
    link: str
    created_at: datetime
    revoke_link: str
    propose_link: str
    audit_link: str
    more_happened: bool
    versions: tuple[VersionView, ...]
    history: tuple[Happening, ...]
    readers: Readers
    rechecks: tuple[RecheckView, ...]
    conflicts: tuple[ConflictRow, ...]
    proposals: tuple[Proposal, ...]
    repair: RepairView | None


@dataclass(frozen=True)
class Told:
    """What else the page tells. ``voided`` has titles of the candidates that the repair withdrew."""

    history: Sequence[Happening]
    readers: Readers
    rechecks: Sequence[Recheck]
    conflicts: Sequence[Conflict]
    proposals: Sequence[Candidate]
    repair: tuple[Run, Sequence[RunStep]] | None
    voided: Mapping[str, str]


def rule_view(
    rule: Rule, rows: Sequence[RuleVersion], versions: tuple[VersionView, ...], told: Told, may_decide: bool
) -> RuleView:
    """The page of a rule."""
    state = _state_of(rows)
    refs = {f"rule:{row.rule_id}@{row.version}" for row in rows} | {f"candidate:{row.candidate_id}" for row in rows}
    withdrawable = may_decide and any(row.state != "revoked" for row in rows)
    return RuleView(
        namespace=rule.namespace,
        id=rule.id,
        title=shortened(rule.title, 240),
        state=state,
        state_words=said(VERSION_STATES, state),
        link=links.rule(rule.namespace, rule.id),
        created_at=rule.created_at,
        revoke_link=links.revoke(rule.namespace, rule.id) if withdrawable else "",
        propose_link=_propose_link(rows, told.proposals) if may_decide else "",
        audit_link=links.with_query("/audit", namespace=rule.namespace, target=f"rule:{rule.id}"),
        more_happened=len(told.history) > MOST_HAPPENINGS,
        versions=versions,
        history=tuple(told.history[:MOST_HAPPENINGS]),
        readers=told.readers,
        rechecks=tuple(recheck_view(one) for one in told.rechecks),
        conflicts=tuple(_conflict(row, refs) for row in told.conflicts),
        proposals=tuple(_proposal(candidate) for candidate in told.proposals),
        repair=_repair(rule.namespace, *told.repair, told.voided) if told.repair is not None else None,
    )


def _propose_link(rows: Sequence[RuleVersion], proposals: Sequence[Candidate]) -> str:
    """Where the next version is proposed; empty where nothing is active, or a proposal waits already."""
    active = next((row for row in rows if row.state == "active" and row.kind == "rule"), None)
    return propose_link(active.namespace, active.rule_id, active.version) if active and not proposals else ""


def _state_of(rows: Sequence[RuleVersion]) -> str:
    """The state agents meet: active if any version is, else the newest one's."""
    return "active" if any(row.state == "active" for row in rows) else rows[0].state


def recheck_view(one: Recheck) -> RecheckView:
    """A recheck as it is told."""
    return RecheckView(
        version=one.version,
        verdict=said(RECHECKS, one.verdict),
        badge=RECHECK_BADGES.get(one.verdict, "dim"),
        words=one.words,
        at=one.at,
        run_link=links.run(one.run_id),
        candidate_link=links.candidate(one.namespace, one.candidate_id) if one.candidate_id else "",
    )


def _conflict(row: Conflict, mine: set[str]) -> ConflictRow:
    my_side, other_side = ("left", "right") if row.left_ref in mine else ("right", "left")
    other = row.right_ref if other_side == "right" else row.left_ref
    return ConflictRow(
        link=links.conflict(row.namespace, row.id),
        kind=said(CONFLICT_KINDS, row.kind),
        detail=row.detail,
        other=shortened(str((row.sides.get(other_side) or {}).get("title") or other), 200),
        other_link=ref_link(row.namespace, other),
        decided=_decided(row, my_side),
        reason=row.reason or "",
        is_open=row.state == "open",
    )


def _decided(row: Conflict, my_side: str) -> str:
    if row.resolution is None:
        return _("open: nobody has decided it yet") if row.state == "open" else _("closed: a side of it was withdrawn")
    stands = row.resolution in ("both", my_side)
    return _("decided: this side stands") if stands else _("decided: this side was put aside")


def _proposal(candidate: Candidate) -> Proposal:
    words = _("would take the place of version {n}")
    if candidate.kind in ("removal", "correction"):
        words = _("would withdraw version {n}")
    return Proposal(
        link=links.candidate(candidate.namespace, candidate.id),
        title=shortened(candidate.title, 200),
        words=words.format(n=candidate.replaces_version),
        state_words=said(CANDIDATE_STATES, candidate.state),
    )


def voided_by(steps: Sequence[RunStep]) -> list[str]:
    """Ids of the candidates that a repair withdrew."""
    return ids_told(steps)["voided"]


def _repair(namespace: str, run: Run, steps: Sequence[RunStep], titles: Mapping[str, str]) -> RepairView:
    done = sum(step.state == "done" for step in steps)
    voided = voided_by(steps)
    progress = ngettext("{done} of {n} step is done", "{done} of {n} steps are done", len(steps))
    return RepairView(
        link=links.run(run.id),
        events_link=f"{links.run(run.id)}/events",
        state=run.state,
        state_words=said(RUN_STATES, run.state),
        running=run.state == "running",
        progress=progress.format(done=done, n=len(steps)),
        done=repair_of(namespace, run.key, steps),
        voided=tuple(
            (links.candidate(namespace, one), shortened(titles.get(one, one), 160)) for one in voided[:MOST_VOIDED]
        ),
        voided_more=max(len(voided) - MOST_VOIDED, 0),
    )
