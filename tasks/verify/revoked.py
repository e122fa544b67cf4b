"""Which rule that was revoked a draft would bring back, in its words or in others. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

from tasks.cluster.kin import VersionKey, Worded, reworded
from tasks.contrast.predicate import Predicate, PredicateInvalid, from_canonical
from tasks.verify.check import Check, RevokedBefore, Subject

Nearness = Literal["same", "reworded", "akin"]


@dataclass(frozen=True)
class Claimed:
    """What a draft or a version claims of a family: its predicate, first, with the others that word the same finding.

    ``family`` is empty and ``predicates`` too where no machine can check it. ``lines`` are what agents read.
    """

    family: str
    predicates: tuple[Predicate, ...]
    lines: tuple[str, ...]

    @cached_property
    def worded(self) -> Worded:
        """Its text, prepared for comparing."""
        return Worded.of(self.lines)


@dataclass(frozen=True)
class Revoked:
    """One revoked version of a rule that has no active one."""

    key: VersionKey
    claimed: Claimed
    at: datetime
    reason: str


def claimed_by(content: Mapping[str, Any], packet: Mapping[str, Any], lines: Sequence[str]) -> Claimed:
    """The claim of a stored content, with the packet that lists its other wordings."""
    stored = content.get("predicate") or {}
    rows = (stored, *(packet.get("also_worded") or ())) if stored else ()
    found = tuple(predicate for row in rows if (predicate := _read(row)) is not None)
    return Claimed(str(stored.get("family") or ""), found, tuple(lines))


def brought_back(draft: Claimed, revoked: Iterable[Revoked], kin: Collection[VersionKey]) -> dict[Nearness, Revoked]:
    """The latest revoked version of each nearness that there is.

    ``same`` is the predicate itself; ``reworded`` the same predicate in the other direction or as another wording of
    the finding, a rewording of the text, or a predicate on the very same calls, all in the draft's family; ``akin``
    any other kin.

    Args:
        kin: the versions whose readers are echoes of the draft, which is wider: some of its calls are enough.
    """
    latest: dict[Nearness, Revoked] = {}
    for one in sorted(revoked, key=lambda one: (one.at, one.key)):
        nearness = _nearness(draft, one.claimed) or ("akin" if one.key in kin else None)
        if nearness is not None:
            latest[nearness] = one
    return latest


def name_kin(checks: Sequence[Check], subject: Subject) -> list[Check]:
    """The checks, with the one on revocations saying that a rule in other words was meant, or that one is akin."""
    return [_named(check, subject) if check.name == "revoked-before" else check for check in checks]


def revoked_row(before: RevokedBefore | None) -> dict[str, Any] | None:
    """A revocation of the same claim as packets keep it."""
    if before is None:
        return None
    return {"rule": before.rule_id, "version": before.version, "at": before.at, "reason": before.reason}


def _named(check: Check, subject: Subject) -> Check:
    if subject.revoked is not None:
        return replace(check, detail=f"akin, in other words: {check.detail}") if subject.revoked.reworded else check
    akin = subject.akin
    if akin is None:
        return check
    detail = f"akin to a rule revoked on {akin.at[:10]} ({akin.rule_id} version {akin.version}): {akin.reason}"
    return Check(check.name, "warn", detail, "see whether it would bring back what was revoked")


def _nearness(draft: Claimed, other: Claimed) -> Nearness | None:
    if other.family and other.family != draft.family:
        return None
    if draft.predicates and other.predicates and draft.predicates[0] == other.predicates[0]:
        return "same"
    if any(_alike(one, two) for one in draft.predicates for two in other.predicates):
        return "reworded"
    return "reworded" if _says_it(draft.worded, other.worded) else None


def _alike(one: Predicate, two: Predicate) -> bool:
    if one.undirected() == two.undirected():
        return True
    if one.kind == two.kind == "argument" and one.parts[1] != two.parts[1]:
        return False
    return bool(one.calls) and set(one.calls) == set(two.calls)


def _says_it(one: Worded, two: Worded) -> bool:
    """Drafters word alike what differs in one name only: a text is the other's rewording if it adds or drops names."""
    return (one.names <= two.names or two.names <= one.names) and reworded(one, two)


def _read(stored: Mapping[str, Any]) -> Predicate | None:
    try:
        return from_canonical(dict(stored)) if stored else None
    except PredicateInvalid:
        return None
