"""One version of a rule: what agents are served, what changed in it, who decided, what it leans on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from review_ui import links
from review_ui.plot import interval_words
from review_ui.views.decision import DecisionView, decision_view
from review_ui.views.differences import Difference, difference
from review_ui.views.names import TIERS, VERSION_STATES, said
from review_ui.views.packet import Content, Labelled, content_of, estimate_of
from review_ui.words import N_, _
from storage.queries.pages_readers import Served
from storage.queries.pages_rules import Kin
from storage.tables import Decision, RuleVersion

MEANS = {
    "active": N_("Agents are served this version."),
    "superseded": N_("A newer version took its place; nobody is served it."),
    "quarantined": N_("Withheld: something it leans on was revoked. It comes back only on evidence of its own."),
    "revoked": N_("Withdrawn for good; clients were told."),
    "expired": N_("Its time is over; nobody is served it."),
}
KINDS = {"exemplar": N_("An exemplar: a recorded run, apart from the rules. No search for rules returns it.")}


@dataclass(frozen=True)
class KinView:
    """A version of another rule in the lineage."""

    link: str
    title: str
    words: str
    state: str
    state_words: str


@dataclass(frozen=True)
class Restore:
    """The form that serves a withheld version again, and what sending it means."""

    link: str
    means: tuple[str, ...]


@dataclass(frozen=True)
class VersionView:
    """One version with its decisions and readers."""

    number: int
    state: str
    state_words: str
    means: str
    kind: str
    tier: str
    tier_words: str
    content: Content
    content_hash: str
    promoted_at: datetime
    promoted_epoch: int
    state_at: datetime
    state_epoch: int
    state_reason: str
    recheck_at: datetime | None
    decisions: tuple[DecisionView, ...]
    served: str
    sessions: str
    caches: str
    evidence: tuple[Labelled, ...]
    change: Difference | None
    ancestors: tuple[KinView, ...]
    descendants: tuple[KinView, ...]
    candidate_link: str
    restore: Restore | None
    open: bool


@dataclass(frozen=True)
class Around:
    """What is known around the versions of a rule: decisions with names, readers, lineage."""

    decisions: Sequence[tuple[Decision, str]]
    served: Mapping[int, Served]
    caches: Mapping[int, int]
    ancestors: Sequence[Kin]
    descendants: Sequence[Kin]


def version_views(rows: Sequence[RuleVersion], around: Around, may_decide: bool) -> tuple[VersionView, ...]:
    """The versions of a rule, newest first, each with what it changed of the one before it."""
    older = [*rows[1:], None]
    current = next((row.version for row in rows if row.state == "active"), rows[0].version if rows else 0)
    return tuple(
        _version(row, before, around, may_decide, open_=row.version == current)
        for row, before in zip(rows, older, strict=True)
    )


def _version(
    row: RuleVersion, before: RuleVersion | None, around: Around, may_decide: bool, *, open_: bool
) -> VersionView:
    served = around.served.get(row.version)
    ancestors = [kin for kin in around.ancestors if kin.mine == row.version]
    return VersionView(
        number=row.version,
        state=row.state,
        state_words=said(VERSION_STATES, row.state),
        means=_(MEANS[row.state]),
        kind=_(KINDS.get(row.kind, "")),
        tier=row.tier,
        tier_words=said(TIERS, row.tier),
        content=content_of(row.content, row.namespace),
        content_hash=row.content_hash,
        promoted_at=row.promoted_at,
        promoted_epoch=row.promoted_epoch,
        state_at=row.state_at,
        state_epoch=row.state_epoch,
        state_reason=row.state_reason,
        recheck_at=row.recheck_at,
        decisions=tuple(
            decision_view(decision, name)
            for decision, name in around.decisions
            if decision.candidate_id == row.candidate_id and decision.content_hash == row.content_hash
        ),
        served=f"{served.answers:,}" if served else "0",
        sessions=_sessions(served),
        caches=f"{around.caches.get(row.version, 0):,}",
        evidence=tuple(_served_evidence(row.evidence)),
        change=_change(before, row) if before is not None else None,
        ancestors=tuple(kin_view(row.namespace, kin) for kin in ancestors),
        descendants=tuple(kin_view(row.namespace, kin) for kin in around.descendants if kin.mine == row.version),
        candidate_link=links.candidate(row.namespace, row.candidate_id),
        restore=_restore(row, ancestors) if may_decide and row.state == "quarantined" else None,
        open=open_ or row.state == "quarantined",
    )


def kin_view(namespace: str, kin: Kin) -> KinView:
    """A version of another rule, with its state now."""
    return KinView(
        link=links.rule(namespace, kin.rule_id),
        title=kin.title,
        words=_("{rule} version {version}").format(rule=kin.rule_id, version=kin.version),
        state=kin.state,
        state_words=said(VERSION_STATES, kin.state),
    )


def _sessions(served: Served | None) -> str:
    if served is None:
        return "0"
    number = f"{served.readers:,}"
    return _("at least {n}").format(n=number) if served.capped else number


def _served_evidence(evidence: Mapping[str, Any]) -> list[Labelled]:
    """The figures that go out with an answer, as they were frozen when it was promoted."""
    groups, lift = evidence.get("independent_groups"), evidence.get("lift") or {}
    rows = [
        (_("Independent groups"), groups),
        (_("Speaks for it"), evidence.get("support")),
        (_("Speaks against it"), evidence.get("counter")),
    ]
    found = [Labelled(name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in rows
             if value is not None]  # fmt: skip
    estimate = estimate_of(lift)
    words = interval_words(estimate) if estimate is not None else _("none was measured")
    return [*found, Labelled(_("Odds ratio on held-out groups"), words)]


def _change(before: RuleVersion, after: RuleVersion) -> Difference:
    title = _("What changed since version {n}").format(n=before.version)
    old, new = content_of(before.content, before.namespace), content_of(after.content, after.namespace)
    return difference(f"version-{after.version}", title, "", old, new)


def _restore(row: RuleVersion, ancestors: Sequence[Kin]) -> Restore:
    gone = [kin for kin in ancestors if kin.state in ("revoked", "quarantined")]
    named = ", ".join(_("{rule} version {version}").format(rule=kin.rule_id, version=kin.version) for kin in gone)
    said_ = [_("Agents are served version {n} again from that moment, word for word.").format(n=row.version)]
    if named:
        said_.append(
            _("You say that it stands without {named}. Runs that read what was revoked still count for nothing.")
            .format(named=named)
        )  # fmt: skip
    said_.append(_("It is refused while another version of this rule is active, or if you wrote or edited its text."))
    said_.append(_("Your name and your reason enter the audit log."))
    return Restore(links.restore(row.namespace, row.rule_id, row.version), tuple(said_))
