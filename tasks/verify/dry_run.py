"""What another policy would do to the candidates that wait, without doing it. Pure.

A policy acts on a candidate when a night looks at it again: then its checks say anew which of them block, and a draft
made by force says anew whether it can be approved. No key of a policy changes a tier, and none withdraws what waits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tasks.ingest.policy import KNOWN
from tasks.promote.packet import missing_parts
from tasks.stage.retire import LIMIT, limit_of

Since = Literal["intake", "at-once", "next-night"]
SINCE: Mapping[str, Since] = {
    "redact_patterns": "intake",
    "trust": "intake",
    "tools": "at-once",
    "holdout_fraction": "at-once",
    "audit_views": "at-once",
}
"""From when a key counts; every other from the next night on."""

DEFAULTS: Mapping[str, Any] = {
    "redact_patterns": [],
    "trust": {},
    "regime": "auto",
    "exemplars": 0,
    "approve_forced": False,
    "retire_limit": LIMIT,
    "holdout_fraction": 0,
    "audit_views": False,
}
"""What holds where a policy says nothing; the others have no value of their own then."""


@dataclass(frozen=True)
class Waiting:
    """A candidate that waits for a decision, with the revision that stands."""

    id: str
    title: str
    kind: str
    tier: str
    content: Mapping[str, Any]
    packet: Mapping[str, Any]


@dataclass(frozen=True)
class Active:
    """How many rules are served, and how many of them are of the high tier, which is never held out."""

    rules: int = 0
    high: int = 0


@dataclass(frozen=True)
class Change:
    """A key that would change. ``touches``: how many of what waits it is about; None where it is about no candidate.

    ``most``: of ``retire_limit`` how many rules one night may propose to retire, of ``holdout_fraction`` how many
    rules are withheld from a part of the sessions; before and after.
    """

    key: str
    before: Any
    after: Any
    since: Since
    touches: int | None = None
    most: tuple[int, int] | None = None


@dataclass(frozen=True)
class Moved:
    """A candidate that would stand otherwise. ``before`` and ``after``: what keeps it from being approved, in words.

    ``anyway``: the policy as it is brings this about too; no night has looked at the candidate since it was set.
    """

    id: str
    title: str
    kind: str
    tier: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    anyway: bool

    @property
    def becomes(self) -> Literal["approvable", "blocked", "blocked-otherwise"]:
        """What it would be."""
        if not self.after:
            return "approvable"
        return "blocked-otherwise" if self.before else "blocked"


@dataclass(frozen=True)
class DryRun:
    """Everything that a policy would change; ``looked`` is how many candidates were looked at."""

    changes: tuple[Change, ...]
    looked: int
    moved: tuple[Moved, ...]

    def count(self, becomes: str) -> int:
        """How many candidates would become this."""
        return sum(one.becomes == becomes for one in self.moved)


def dry_run(
    current: Mapping[str, Any], proposed: Mapping[str, Any], waiting: Iterable[Waiting], active: Active = Active()
) -> DryRun:
    """What ``proposed`` in place of ``current`` would do. Both are whole policies that were checked."""
    touched = dict.fromkeys(("blocking_checks", "approve_forced", "owner", "exemplars"), 0)
    looked, moved = 0, []
    for one in waiting:
        looked += 1
        for key in touched:
            touched[key] += _is_about(key, one, current, proposed)
        before, after = (tuple(missing_parts(one.content, packet)) for packet in (one.packet, under(one, proposed)))
        if before != after:
            anyway = tuple(missing_parts(one.content, under(one, current))) == after
            moved.append(Moved(one.id, one.title, one.kind, one.tier, before, after, anyway))
    changes = [
        Change(key, current.get(key), proposed.get(key), SINCE.get(key, "next-night"), touched.get(key), most)
        for key in KNOWN
        if _value(current, key) != _value(proposed, key)
        for most in (_most(key, current, proposed, active),)
    ]
    return DryRun(tuple(changes), looked, tuple(moved))


def under(one: Waiting, policy: Mapping[str, Any]) -> dict[str, Any]:
    """A packet as a night under this policy would leave it, the evidence being the same."""
    named = policy.get("blocking_checks")
    checks = [_check(check, named) for check in one.packet.get("checks") or []]
    packet = {**one.packet, "checks": checks}
    if packet.get("forced"):
        packet["forced"] = {**packet["forced"], "approvable": policy.get("approve_forced") is True}
    return packet


def _check(check: Mapping[str, Any], named: Sequence[str] | None) -> dict[str, Any]:
    said = {key: value for key, value in check.items() if key != "blocks"}
    return said if named is None or check.get("name") in named else {**said, "blocks": False}


def _is_about(key: str, one: Waiting, current: Mapping[str, Any], proposed: Mapping[str, Any]) -> bool:
    if key == "approve_forced":
        return bool(one.packet.get("forced"))
    if key == "exemplars":
        return one.kind == "exemplar"
    if key == "owner":
        return one.packet.get("owner") != proposed.get("owner")
    failing = {check.get("name") for check in one.packet.get("checks") or [] if check.get("verdict") == "fail"}
    return bool(failing) and any(_blocks(name, current) != _blocks(name, proposed) for name in failing)


def _blocks(name: Any, policy: Mapping[str, Any]) -> bool:
    named = policy.get("blocking_checks")
    return named is None or name in named


def _value(policy: Mapping[str, Any], key: str) -> Any:
    """What holds: saying the default is the same as saying nothing. The order of named checks does not matter."""
    value = policy.get(key, DEFAULTS.get(key))
    return sorted(value) if key == "blocking_checks" and value is not None else value


def _most(key: str, current: Mapping[str, Any], proposed: Mapping[str, Any], active: Active) -> tuple[int, int] | None:
    if key == "retire_limit":
        return _may_retire(current, active), _may_retire(proposed, active)
    if key == "holdout_fraction":
        held = active.rules - active.high
        return tuple(held if policy.get(key) else 0 for policy in (current, proposed))  # type: ignore[return-value]
    return None


def _may_retire(policy: Mapping[str, Any], active: Active) -> int:
    """One is always allowed."""
    return min(active.rules, max(1, math.floor(limit_of(policy) * active.rules)))
