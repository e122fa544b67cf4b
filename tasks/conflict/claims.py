"""Whether two claims can both be followed: compared by predicate, never by wording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tasks.conflict.scopes import is_newer, overlap
from tasks.contrast.predicate import Predicate, argument_words, call_words, from_canonical

ConflictKind = Literal["opposite-advice", "order-reversed", "different-value", "supersession"]


@dataclass(frozen=True)
class Claim:
    """One side: ``ref`` is ``candidate:<id>`` or ``rule:<id>@<version>``."""

    ref: str
    predicate: Mapping[str, Any]
    scope: Mapping[str, Any]
    title: str

    @property
    def family(self) -> str:
        """The condition under which it was found."""
        return str(self.predicate.get("family", ""))


@dataclass(frozen=True)
class Found:
    """A conflict of ``left`` with ``right``. ``supersedes``: following the left means putting the right aside."""

    kind: ConflictKind
    left: str
    right: str
    detail: str
    supersedes: bool

    @property
    def key(self) -> tuple[str, str, str]:
        """Its identity, whichever side found it."""
        one, two = sorted((self.left, self.right))
        return self.kind, one, two


def compare(left: Claim, right: Claim) -> Found | None:
    """How two claims conflict; None where both can be followed.

    Claims of different families, or with scopes that no run falls under both of, do not conflict. Against an active
    rule the newer claim proposes to supersede it, so that never both are current.
    """
    if left.ref == right.ref or left.family != right.family or not overlap(left.scope, right.scope):
        return None
    one, two = from_canonical(dict(left.predicate)), from_canonical(dict(right.predicate))
    found = _opposite(one, two) or _reversed(one, two) or _other_value(one, two)
    if found is None:
        return None
    kind, detail = found
    supersedes = right.ref.startswith("rule:") and not is_newer(right.scope, left.scope)
    if supersedes and is_newer(left.scope, right.scope):
        kind = "supersession"
    aside = "; approving this one puts it aside" if supersedes else ""
    return Found(kind, left.ref, right.ref, f"{detail}; the other says: {right.title}{aside}", supersedes)


def _opposite(one: Predicate, two: Predicate) -> tuple[ConflictKind, str] | None:
    if one.kind == two.kind and one.parts == two.parts and one.direction != two.direction:
        return "opposite-advice", "the same condition, the opposite advice"
    for a, b in ((one, two), (two, one)):
        if a.kind == "call-present" and a.direction == "avoid" and a.parts[0] in _asks_for(b):
            return "opposite-advice", f"one advises against {call_words(a.parts[0])}, which the other asks for"
    return None


def _asks_for(claim: Predicate) -> tuple[str, ...]:
    """Calls that a claim tells the agent to make, as opposed to calls it speaks of in case they are made."""
    if claim.kind == "missing-check":
        return claim.parts[:1] if claim.direction == "avoid" else ()
    if claim.kind == "recovery":
        return claim.parts[2:] if claim.direction == "do" else ()
    return claim.parts if claim.kind == "call-present" and claim.direction == "do" else ()


def _reversed(one: Predicate, two: Predicate) -> tuple[ConflictKind, str] | None:
    first, second = _ordered(one), _ordered(two)
    if first is None or second is None or first != (second[1], second[0]):
        return None
    return "order-reversed", f"one wants {call_words(first[0])} first, the other {call_words(second[0])}"


def _ordered(claim: Predicate) -> tuple[str, str] | None:
    """(first, then) that a claim asks for."""
    if claim.kind == "order":
        one, two = claim.parts
        return (one, two) if claim.direction == "do" else (two, one)
    if claim.kind == "missing-check" and claim.direction == "avoid":
        return claim.parts[0], claim.parts[1]
    return None


def _other_value(one: Predicate, two: Predicate) -> tuple[ConflictKind, str] | None:
    """Two values asked for at one place. Two values advised against can both be heeded."""
    if one.kind != two.kind or one.direction != "do" or two.direction != "do" or one.parts[:-1] != two.parts[:-1]:
        return None
    if one.kind == "argument":
        argument = one.parts[1]
        return (
            "different-value",
            f"{argument_words(argument, one.parts[2])} here, {argument_words(argument, two.parts[2])} there",
        )
    if one.kind == "environment":
        return "different-value", f"{one.parts[0]} at {one.parts[1]} here, at {two.parts[1]} there"
    return None
