"""Whether a packet is whole: an incomplete one can be rejected, never approved."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

CONTENT_PARTS = ("when_to_use", "guidance", "scope")
SCOPE_PARTS = ("namespace", "recheck_at")
PACKET_PARTS = (
    "summary",
    "evidence",
    "effect",
    "held_out",
    "verification_method",
    "counter_example",
    "owner",
    "authoritative_source",
    "tier_why",
    "checks",
)


EXAMPLE = frozenset({"guidance", "effect", "held_out", "counter_example"})
"""Parts that an exemplar has none of: it shows a recorded run, and claims nothing."""


def missing_parts(content: Mapping[str, Any], packet: Mapping[str, Any]) -> list[str]:
    """What keeps this packet from being approved, in words: absent parts first, then checks that failed."""
    scope, needless = content.get("scope") or {}, EXAMPLE if content.get("exemplar") else frozenset()
    absent = [part for part in CONTENT_PARTS if part not in needless and not content.get(part)]
    absent += [f"scope.{part}" for part in SCOPE_PARTS if not scope.get(part)]
    absent += [part for part in PACKET_PARTS if part not in needless and not packet.get(part)]
    failed = [
        f"check “{check.get('name')}” failed: {check.get('detail', '')}"
        for check in packet.get("checks") or []
        if check.get("verdict") == "fail" and check.get("blocks", True)
    ]
    forced = packet.get("forced") or {"approvable": True}
    if not forced["approvable"]:
        failed.append(f"{forced['why']}: draft it under auto, or under a policy with approve_forced")
    return [f"{part} is missing" for part in absent] + failed


def served_evidence(packet: Mapping[str, Any]) -> dict[str, Any]:
    """What agents are told about the evidence behind a version: counts of independent groups and the held-out lift."""
    evidence, held_out = packet.get("evidence") or {}, packet.get("held_out") or {}
    return {
        "independent_groups": evidence.get("independent_groups", 0),
        "support": evidence.get("support", 0),
        "counter": evidence.get("counter", 0),
        "lift": {name: held_out.get(name) for name in ("odds_ratio", "low", "high")},
    }


def puts_aside(packet: Mapping[str, Any]) -> tuple[list[tuple[str, int]], list[str]]:
    """What cannot stay current beside this candidate: rule versions, and candidates that may be rules by now."""
    versions, candidates = [], []
    for conflict in packet.get("conflicts") or []:
        if conflict.get("kind") in ("duplicate", "overlap") or (conflict.get("resolution") or {}).get("keep") == "both":
            continue
        kind, _, name = str(conflict.get("with", "")).partition(":")
        if kind == "candidate":
            candidates.append(name)
        elif kind == "rule" and conflict.get("supersedes"):
            rule_id, _, number = name.rpartition("@")
            versions.append((rule_id, int(number)))
    return versions, candidates


def recheck_date(content: Mapping[str, Any]) -> datetime | None:
    """When the version is due for a re-check: midnight UTC of the date in its scope."""
    text = (content.get("scope") or {}).get("recheck_at")
    if not text:
        return None
    at = datetime.fromisoformat(str(text))
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at
