"""What of a candidate the queue shows at a glance: how many checks fail or warn, and why it waits now. Pure.

Whoever writes a candidate's revision sets its columns from here: ``Candidate(..., **queue_columns(packet, why))``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tasks.stage.refresh import Kind, void_reason
from tasks.stage.snapshot import Snapshot
from tasks.stage.wanted import ARRIVED, MISSING

NEW = "new"
MORE_RUNS = "more-runs"
AGAINST = "against"
REWORDED = "reworded"
BACK = "back"
VOIDED = "voided"
AFTER_REVOCATION = "after-revocation"
WITHDRAWS = "withdraws"
REPLACES = "replaces"
CONFLICT = "conflict"
SEARCH_FAILED = "search-failed"
REPEATED = "repeated"
EDITED = "edited"
SPLIT = "split"
MERGED = "merged"
REASONS = (
    ARRIVED, MISSING, AFTER_REVOCATION, WITHDRAWS, EDITED, SPLIT, MERGED, BACK, VOIDED, AGAINST, REWORDED, NEW,
    MORE_RUNS, SEARCH_FAILED, REPEATED, REPLACES, CONFLICT,
)  # fmt: skip
"""Why a candidate waits now, the weightiest first. Two of them say with what, such as ``conflict=rule:a@1``."""

SELECTED = {"its search found nothing": SEARCH_FAILED, "repeated mistake": REPEATED}
"""Why the night took up a run that is evidence for it, where that tells a reviewer something."""


GLANCED: Mapping[str, tuple[str, ...]] = {
    "effect": ("odds_ratio", "low", "high"),
    "held_out": ("p_value", "alpha", "same_direction"),
    "evidence": ("independent_groups",),
}
"""The figures of a packet that a row of the queue shows, by its part. None of them is text of an episode."""


def queue_columns(packet: Mapping[str, Any], why: Iterable[str] = ()) -> dict[str, Any]:
    """The columns ``failing``, ``warning``, ``glance`` and ``why_now`` of a candidate with this packet."""
    verdicts = [check.get("verdict") for check in packet.get("checks") or [] if isinstance(check, Mapping)]
    return {
        "failing": verdicts.count("fail"),
        "warning": verdicts.count("warn"),
        "glance": glance_of(packet),
        "why_now": joined(why),
    }


def glance_of(packet: Mapping[str, Any]) -> dict[str, Any]:
    """What a row shows of a packet, in the packet's own shape: a queue reads it without the packets, which are long."""
    kept = {
        part: {name: found[name] for name in names if name in found}
        for part, names in GLANCED.items()
        if isinstance(found := packet.get(part), Mapping)
    }
    return kept | ({"forced": True} if packet.get("forced") else {})


def joined(why: Iterable[str]) -> str:
    """Reasons as they are kept: each once, the weightiest first, a space between. Unknown ones are left out."""
    known = {reason.partition("=")[0]: reason for reason in why if not any(char.isspace() for char in reason)}
    return " ".join(known[name] for name in REASONS if name in known)


def with_reason(why_now: str, reason: str) -> str:
    """The reasons that are kept, and one more."""
    return joined([*why_now.split(), reason])


def reasons(
    packet: Mapping[str, Any],
    kind: Kind,
    before: Snapshot | None,
    after: Snapshot,
    *,
    selected: Iterable[str] = (),
    withdraws: bool = False,
) -> list[str]:
    """Why a candidate waits after a night staged a draft of it.

    Args:
        kind: what the night did with the draft.
        before: what the candidate was until then, if it was there.
        selected: why the night took up the runs that are its evidence.
        withdraws: whether it proposes to withdraw a rule.
    """
    found = [_moved(kind, before, after)]
    if packet.get("revoked_before") is not None:
        found.append(AFTER_REVOCATION)
    if withdraws:
        found.append(WITHDRAWS)
    found += [SELECTED[why] for why in selected if why in SELECTED]
    for conflict in reversed(packet.get("conflicts") or []):
        with_what = str(conflict.get("with", ""))
        if conflict.get("supersedes"):
            found.append(f"{REPLACES}={with_what}")
        elif conflict.get("kind") not in ("duplicate", "overlap"):
            found.append(f"{CONFLICT}={with_what}")
    return found


def _moved(kind: Kind, before: Snapshot | None, after: Snapshot) -> str:
    """What came of it tonight, in one reason."""
    if before is None or kind == "create":
        return NEW
    if kind == "reopen":
        return BACK
    if after.content_hash != before.content_hash:
        return REWORDED
    if after.counter - before.counter or after.counter_count > before.counter_count:
        return AGAINST
    return VOIDED if void_reason(before, after) else MORE_RUNS
