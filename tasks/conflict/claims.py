"""Whether two claims can both be followed: compared by predicate and scope. Likeness of words only proposes pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from storage.ids import content_hash
from tasks.conflict.demands import Demand, demands_of
from tasks.conflict.scopes import is_newer, overlap

ConflictKind = Literal["contradiction", "supersession", "duplicate", "overlap"]
FORMS = ("opposite-advice", "order-reversed", "different-value")
"""Forms of a contradiction between two claims, the plainest first."""


@dataclass(frozen=True)
class Claim:
    """One side: ``ref`` is ``candidate:<id>`` or ``rule:<id>@<version>``. ``text`` is all that an agent would read."""

    ref: str
    predicate: Mapping[str, Any]
    scope: Mapping[str, Any]
    title: str
    text: str = ""

    @property
    def family(self) -> str:
        """The condition under which it was found; empty where it names none."""
        return str(self.predicate.get("family") or "")

    @cached_property
    def demands(self) -> tuple[Demand, ...]:
        """What it asks for; empty where only its words say so."""
        return demands_of(self.predicate)


@dataclass(frozen=True)
class Found:
    """A conflict of ``left`` with ``right``. ``supersedes``: following the left means putting the right aside."""

    kind: ConflictKind
    form: str
    left: str
    right: str
    detail: str
    supersedes: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """Its identity, whichever side found it: a pair conflicts in one form, and may do so in another kind later."""
        one, two = sorted((self.left, self.right))
        return self.form, one, two


def says(content: Mapping[str, Any]) -> str:
    """Hash of what a content tells agents, its re-check date apart: a decision about it holds as long as this does."""
    scope = {name: value for name, value in (content.get("scope") or {}).items() if name != "recheck_at"}
    return content_hash({**content, "scope": scope}, 32)


def may_meet(left: Claim, right: Claim) -> bool:
    """Whether a run could fall under both: another family is another condition, and so is a disjoint scope."""
    apart = left.family and right.family and left.family != right.family
    return left.ref != right.ref and not apart and overlap(left.scope, right.scope)


def compare(left: Claim, right: Claim) -> Found | None:
    """How two claims conflict, by what they ask for; None where both can be followed, or nothing can be compared.

    Against an active rule the newer claim proposes to supersede it, so that never both are current. One finding in two
    revisions is no conflict.
    """
    if not may_meet(left, right) or not left.demands or not right.demands:
        return None
    if same_finding(left, right):
        return None
    return _contradiction(left, right) or _same(left, right)


def same_finding(left: Claim, right: Claim) -> bool:
    """Whether both are one finding in two revisions: the same predicate, if there is one beside the family."""
    return bool(left.predicate.keys() - {"family"}) and dict(left.predicate) == dict(right.predicate)


def _contradiction(left: Claim, right: Claim) -> Found | None:
    theirs: dict[tuple[str, ...], list[Demand]] = {}
    for demand in right.demands:
        theirs.setdefault(demand.about, []).append(demand)
    clashes = [(a, b) for a in left.demands for b in theirs.get(a.about, ()) if a.wants != b.wants]
    if not clashes:
        return None
    one, two = min(clashes, key=lambda pair: (FORMS.index(pair[0].form), pair[0].about))
    opposite = _undirected(left.predicate) == _undirected(right.predicate)
    form = "opposite-advice" if opposite else one.form
    supersedes = right.ref.startswith("rule:") and not is_newer(right.scope, left.scope)
    kind: ConflictKind = "supersession" if supersedes and is_newer(left.scope, right.scope) else "contradiction"
    aside = "; approving this one puts it aside" if supersedes else ""
    detail = f"one {one.words}, the other {two.words}; the other says: {right.title}{aside}"
    return Found(kind, form, left.ref, right.ref, detail, supersedes)


def _same(left: Claim, right: Claim) -> Found | None:
    mine, theirs = ({(each.about, each.wants) for each in side.demands} for side in (left, right))
    if mine == theirs:
        detail = f"both ask for the same; the other says: {right.title}"
        return Found("duplicate", "same-advice", left.ref, right.ref, detail)
    if mine < theirs or theirs < mine:
        whole = "the other asks for all of it and more" if mine < theirs else "this one asks for all of it and more"
        return Found("overlap", "part-of", left.ref, right.ref, f"{whole}; the other says: {right.title}")
    return None


def _undirected(predicate: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in predicate.items() if name != "direction"}
