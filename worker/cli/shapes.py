"""The documented shapes of what commands print, built from rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from storage.tables import Candidate, CandidateRevision, Decision, Recheck, RuleVersion
from storage.tables.review import NOT_MEASURED
from tasks.stage.wanted import wanted_of

EFFECT = ("odds_ratio", "low", "high", "p_value", "q_value", "strata")
HELD_OUT = ("groups", "odds_ratio", "same_direction")
EVIDENCE = ("support", "counter", "independent_groups")
CHECK = ("name", "verdict", "detail")


def queue_entry(candidate: Candidate, revision: CandidateRevision) -> dict[str, Any]:
    """One candidate as the queue lists it. Figures that do not exist for its kind are null, never left out."""
    packet, content = revision.packet, revision.content
    return {
        "id": candidate.id,
        "kind": candidate.kind,
        "when_to_use": content.get("when_to_use", candidate.title),
        "guidance": list(content.get("guidance", [])),
        "tier": candidate.tier,
        "content_hash": candidate.content_hash,
        "why_now": candidate.why_now.split(),
        "reach": None if candidate.reach == NOT_MEASURED else candidate.reach,
        "parked": parked_entry(candidate),
        "evidence": _only(packet.get("evidence"), EVIDENCE),
        "effect": _only(packet.get("effect"), EFFECT),
        "held_out": _only(packet.get("held_out"), HELD_OUT),
        "checks": [_only(check, CHECK) for check in packet.get("checks") or []],
        "conflicts": list(packet.get("conflicts") or []),
    }


def parked_entry(candidate: Candidate) -> dict[str, Any] | None:
    """Since when a candidate waits for which evidence; null where it waits for a decision."""
    if candidate.parked_at is None:
        return None
    asked = wanted_of(candidate.wanted)
    return {"at": candidate.parked_at.isoformat(), "for": asked.what() if asked else ""}


def _only(part: Mapping[str, Any] | None, names: Sequence[str]) -> dict[str, Any]:
    return {name: (part or {}).get(name) for name in names}


def candidate_detail(
    candidate: Candidate, revision: CandidateRevision, decisions: Sequence[tuple[Decision, str]]
) -> dict[str, Any]:
    """A candidate with all that a reviewer is shown."""
    return {
        **queue_entry(candidate, revision),
        "namespace": candidate.namespace,
        "state": candidate.state,
        "tier_why": candidate.tier_why,
        "revision": candidate.number,
        "packet_hash": candidate.packet_hash,
        "content": revision.content,
        "packet": revision.packet,
        "drafter": revision.drafter,
        "edited_by": (revision.packet.get("edited") or {}).get("name"),
        "wanted": dict(candidate.wanted) if candidate.parked_at is not None else None,
        "replaces": {"rule": candidate.replaces_rule_id, "version": candidate.replaces_version},
        "decisions": [
            {
                "verdict": each.verdict,
                "by": name,
                "reason": each.reason,
                "at": each.at.isoformat(),
                "content_hash": each.content_hash,
                "voided": each.void_reason,
            }
            for each, name in decisions
        ],
    }


def rule_entry(row: RuleVersion, recheck: Recheck | None = None) -> dict[str, Any]:
    """One rule version as the list of rules shows it, with what its last recheck said; null if there was none."""
    return {
        "id": row.rule_id,
        "version": row.version,
        "state": row.state,
        "when_to_use": row.content.get("when_to_use", ""),
        "guidance": list(row.content.get("guidance", [])),
        "recheck": recheck_entry(recheck),
    }


def recheck_entry(row: Recheck | None) -> dict[str, Any] | None:
    """What one night found when it tested a version again."""
    if row is None:
        return None
    return {"verdict": row.verdict, "words": row.words, "at": row.at.isoformat(), "run_id": row.run_id,
            "candidate_id": row.candidate_id}  # fmt: skip


def rule_detail(rows: Sequence[RuleVersion], rechecks: Sequence[Recheck] = ()) -> dict[str, Any]:
    """A rule: the version that counts now with its rechecks, newest first, and its history, newest first."""
    return {
        "kind": "rule",
        "namespace": rows[0].namespace,
        **rule_entry(current_version(rows), rechecks[-1] if rechecks else None),
        "rechecks": [recheck_entry(row) for row in reversed(rechecks)],
        "versions": [
            {
                **rule_entry(row),
                "tier": row.tier,
                "content_hash": row.content_hash,
                "scope": row.content.get("scope"),
                "evidence": row.evidence,
                "promoted_at": row.promoted_at.isoformat(),
                "promoted_epoch": row.promoted_epoch,
                "state_at": row.state_at.isoformat(),
                "state_reason": row.state_reason,
                "candidate_id": row.candidate_id,
            }
            for row in rows
        ],
    }


def current_version(rows: Sequence[RuleVersion]) -> RuleVersion:
    """The active version of a rule, or its newest. ``rows`` are newest first."""
    return next((row for row in rows if row.state == "active"), rows[0])
