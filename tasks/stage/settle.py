"""Two nights' words for one finding: the same text stays the same text, to the last byte."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from storage.ids import content_hash

HASHED = ("evidence", "strata", "exceptions", "counter_example", "revoked_before", "tier")


def same_advice(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Whether two contents tell agents the same, the re-check date apart."""
    return _undated(one) == _undated(two)


def settled(
    content: Mapping[str, Any], earlier: Iterable[Mapping[str, Any]], today: date, *, waiting: bool
) -> dict[str, Any]:
    """The content to stage: the same advice keeps the date it was given once, so that nights alone change nothing.

    Args:
        earlier: the candidate's contents so far, newest first.
        waiting: whether the candidate waits for a decision; only then is a date that has passed set anew.
    """
    for known in earlier:
        kept = (known.get("scope") or {}).get("recheck_at")
        if kept and same_advice(content, known):
            passed = date.fromisoformat(str(kept)[:10]) <= today
            return (
                dict(content) if passed and waiting else {**content, "scope": {**content["scope"], "recheck_at": kept}}
            )
    return dict(content)


def packet_hash(packet: Mapping[str, Any]) -> str:
    """Hash of the evidence snapshot: what a reviewer weighs, less the figures that depend on the rest of the night."""
    effect = {name: value for name, value in (packet.get("effect") or {}).items() if name != "q_value"}
    # A failed check that the policy lets pass says so: with another policy the same evidence can be approved, or not.
    checks = [
        (check["name"], check["verdict"], *(["passes"] if check.get("blocks") is False else []))
        for check in packet.get("checks") or []
    ]
    conflicts = [
        {name: value for name, value in conflict.items() if name != "sides"}
        for conflict in packet.get("conflicts") or []
    ]
    forced = [packet["forced"]] if packet.get("forced") else []
    edited = packet.get("edited") or {}
    written = [edited["from"], (edited.get("newer") or {}).get("hash")] if edited else []
    merged = [[one.get("id"), one.get("content_hash")] for one in packet.get("merged") or []]
    return content_hash([effect, checks, *(packet.get(name) for name in HASHED), conflicts, *forced, *written, *merged])


def _undated(content: Mapping[str, Any]) -> dict[str, Any]:
    scope = {name: value for name, value in (content.get("scope") or {}).items() if name != "recheck_at"}
    return {**content, "scope": scope}
