"""Open conflicts between active versions; what is only staged is no agent's business."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlmodel import Session

from read_api.schemas import ConflictOut
from read_api.shelf import Shelf
from storage.queries.answering import OpenConflict, conflicts_among
from storage.queries.readers import active_among, active_of_candidates
from storage.queries.rules import VersionKey
from storage.tables import RuleVersion

Conflicts = dict[VersionKey, list[ConflictOut]]
RULE, CANDIDATE = "rule:", "candidate:"


@dataclass(frozen=True)
class Pair:
    """Two active versions that cannot both be followed in one place."""

    left: VersionKey
    right: VersionKey
    kind: str
    detail: str


def pairs_on_shelf(session: Session, namespace: str, shelf: Shelf, numbers: Sequence[int]) -> list[Pair]:
    """Conflicts of these options with others that are on the shelf."""

    def active(ref: str) -> VersionKey | None:
        if ref.startswith(CANDIDATE):
            number = shelf.number_of_candidate(ref.removeprefix(CANDIDATE))
            return None if number is None else (shelf[number].id, shelf[number].version)
        key = key_in(ref)
        number = shelf.number_of(key[0]) if key is not None else None
        return key if key is not None and number is not None and shelf[number].version == key[1] else None

    refs = [ref for n in numbers for ref in _refs((shelf[n].id, shelf[n].version), shelf[n].candidate)]
    return _pairs(conflicts_among(session, namespace, refs), active)


def conflicts_of(session: Session, namespace: str, row: RuleVersion) -> Conflicts:
    """Conflicts of one version with other active ones, looked up in the store."""
    mine = (row.rule_id, row.version)
    stored = conflicts_among(session, namespace, _refs(mine, row.candidate_id))
    refs = {ref for conflict in stored for ref in (conflict.left_ref, conflict.right_ref)}
    keys = {key for ref in refs if (key := key_in(ref)) is not None}
    active = active_among(session, namespace, keys)
    promoted = active_of_candidates(
        session, namespace, {ref.removeprefix(CANDIDATE) for ref in refs if ref.startswith(CANDIDATE)}
    )

    def version_of(ref: str) -> VersionKey | None:
        key = promoted.get(ref.removeprefix(CANDIDATE)) if ref.startswith(CANDIDATE) else key_in(ref)
        return key if key in active or ref.startswith(CANDIDATE) else None

    return told(_pairs(stored, version_of), [mine])


def told(pairs: Iterable[Pair], mine: Collection[VersionKey]) -> Conflicts:
    """For each of these versions the others it is in conflict with, as agents are told."""
    found: Conflicts = {}
    for pair in pairs:
        for one, other in ((pair.left, pair.right), (pair.right, pair.left)):
            if one in mine:
                conflict = ConflictOut(id=other[0], version=other[1], kind=pair.kind, detail=pair.detail)
                found.setdefault(one, []).append(conflict)
    return found


def key_in(ref: str) -> VersionKey | None:
    """The version that ``rule:ID@VERSION`` names; None for what names none."""
    rule_id, at, number = ref.removeprefix(RULE).rpartition("@")
    return (rule_id, int(number)) if ref.startswith(RULE) and at and number.isdecimal() else None


def _refs(key: VersionKey, candidate_id: str) -> tuple[str, str]:
    return f"{RULE}{key[0]}@{key[1]}", f"{CANDIDATE}{candidate_id}"


def _pairs(stored: Iterable[OpenConflict], version_of: Callable[[str], VersionKey | None]) -> list[Pair]:
    found = []
    for conflict in stored:
        left, right = version_of(conflict.left_ref), version_of(conflict.right_ref)
        if left is not None and right is not None and left != right:
            found.append(Pair(left, right, conflict.kind, conflict.detail))
    return found
