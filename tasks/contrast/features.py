"""From facts to columns: one row a unit, one column a feature, with a mask for the units it speaks of.

A column is a plain attribute of a run, read without its outcome. Positions of first calls are kept as one matrix, so
that orders and missing checks are comparisons of two of its columns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tasks.contrast.facts import Facts
from tasks.contrast.predicate import SHAPE_ABSENT, SIMPLICITY, USER, Predicate

Bools = npt.NDArray[np.bool_]

MAX_VALUES = 12
"""An argument with more distinct values than this is no enumeration: its values name things, not choices."""

MAX_CALLS = 60
"""The most common calls of a family; pairs grow with the square of it."""

# fmt: off
READS = frozenset({
    "calculate", "cat", "check", "compare", "count", "describe", "fetch", "find", "get", "grep", "inspect", "list",
    "look", "lookup", "ls", "open", "query", "read", "retrieve", "search", "show", "status", "think", "validate",
    "verify", "view",
})
# fmt: on
"""First words of calls that change nothing, where the name says so. A call with another name may be consequential."""


@dataclass(frozen=True)
class Columns:
    """``values`` and ``mask`` have shape (units, features); a value counts only where its mask is set."""

    predicates: list[Predicate]
    values: Bools
    mask: Bools

    def take(self, indices: Sequence[int] | npt.NDArray[np.intp]) -> Columns:
        """Some of the features."""
        chosen = list(indices)
        return Columns([self.predicates[i] for i in chosen], self.values[:, chosen], self.mask[:, chosen])


def is_consequential(call: str) -> bool:
    """Whether a call may change something: every call whose name does not say that it only reads."""
    words = re.findall(r"[a-z]+", call.removeprefix(USER).rsplit(".", 1)[-1].casefold())
    return not words or words[0] not in READS


def build_columns(facts: Sequence[Facts], min_support: int) -> Columns:
    """Every feature that at least ``min_support`` units have and as many, of those it speaks of, lack."""
    calls = _common_calls(facts, min_support)
    first = _first_positions(facts, calls)
    present = np.isfinite(first)
    everyone = np.ones(len(facts), dtype=bool)
    found: list[tuple[Predicate, Bools, Bools]] = []
    found += [(Predicate("call-present", (call,)), present[:, i], everyone) for i, call in enumerate(calls)]
    found += _pairs(calls, first, present)
    found += _loops(facts, everyone)
    found += _recoveries(facts, min_support)
    found += _arguments(facts, calls, present, min_support)
    found += _environment(facts)
    return _supported(found, len(facts), min_support)


def distinct(columns: Columns) -> Columns:
    """Columns without exact repeats (or exact opposites, which test the same); the simplest of each is kept."""
    seen: dict[bytes, int] = {}
    for index in sorted(range(len(columns.predicates)), key=lambda i: rank(columns.predicates[i])):
        value, mask = columns.values[:, index] & columns.mask[:, index], columns.mask[:, index]
        keys = [np.packbits(side).tobytes() + np.packbits(mask).tobytes() for side in (value, ~value & mask)]
        if keys[0] not in seen and keys[1] not in seen:
            seen[keys[0]] = index
    return columns.take(sorted(seen.values()))


def rank(predicate: Predicate) -> tuple[int, tuple[str, ...]]:
    """Sort key: simpler kinds first, then by name, so that a choice between equals is the same every night."""
    return SIMPLICITY[predicate.kind], predicate.parts


def _common_calls(facts: Sequence[Facts], min_support: int) -> list[str]:
    counts = Counter(call for one in facts for call in one.first)
    common = sorted((call for call, n in counts.items() if n >= min_support), key=lambda call: (-counts[call], call))
    return sorted(common[:MAX_CALLS])


def _first_positions(facts: Sequence[Facts], calls: Sequence[str]) -> npt.NDArray[np.float32]:
    """Position of the first call of each kind, shape (units, calls); infinity where it was not made."""
    place = {call: i for i, call in enumerate(calls)}
    first = np.full((len(facts), len(calls)), np.inf, dtype=np.float32)
    for row, one in enumerate(facts):
        for call, (position, _) in one.first.items():
            if call in place:
                first[row, place[call]] = position
    return first


def _pairs(
    calls: Sequence[str], first: npt.NDArray[np.float32], present: Bools
) -> list[tuple[Predicate, Bools, Bools]]:
    found: list[tuple[Predicate, Bools, Bools]] = []
    for i, one in enumerate(calls):
        for j, two in enumerate(calls):
            if i < j:
                both = present[:, i] & present[:, j]
                found.append((Predicate("order", (one, two)), both & (first[:, i] < first[:, j]), both))
            if i != j and is_consequential(two) and not is_consequential(one) and not _by_user(one, two):
                missing = present[:, j] & (first[:, i] > first[:, j])
                found.append((Predicate("missing-check", (one, two)), missing, present[:, j]))
    return found


def _by_user(*calls: str) -> bool:
    """Whether the user makes one of the calls: the order of those is no check that an agent can owe."""
    return any(call.startswith(USER) for call in calls)


def _loops(facts: Sequence[Facts], everyone: Bools) -> list[tuple[Predicate, Bools, Bools]]:
    calls = sorted({call for one in facts for call in one.loops})
    return [
        (Predicate("loop", (call,)), np.fromiter((call in one.loops for one in facts), bool, len(facts)), everyone)
        for call in calls
    ]


def _recoveries(facts: Sequence[Facts], min_support: int) -> list[tuple[Predicate, Bools, Bools]]:
    counts = Counter(key for one in facts for key in one.failures)
    found = []
    for call, error in sorted(key for key, n in counts.items() if n >= 2 * min_support):
        failed = np.fromiter(((call, error) in one.failures for one in facts), bool, len(facts))
        after = [one.failures[call, error].then if (call, error) in one.failures else {} for one in facts]
        for then in sorted({name for names in after for name in names}):
            did = np.fromiter((then in names for names in after), bool, len(facts))
            found.append((Predicate("recovery", (call, error, then)), did, failed))
    return found


def _arguments(
    facts: Sequence[Facts], calls: Sequence[str], present: Bools, min_support: int
) -> list[tuple[Predicate, Bools, Bools]]:
    """Values of arguments that behave like enumerations, and arguments that are sometimes left out."""
    place = {call: i for i, call in enumerate(calls)}
    rows: dict[tuple[str, str], dict[str, list[int]]] = {}
    for row, one in enumerate(facts):
        for call, argument, value in one.arguments:
            if call in place:
                rows.setdefault((call, argument), {}).setdefault(value, []).append(row)
    found = []
    for (call, argument), values in sorted(rows.items()):
        mask = present[:, place[call]]
        given = np.zeros(len(facts), dtype=bool)
        for members in values.values():
            given[members] = True
        found.append((Predicate("argument", (call, argument, SHAPE_ABSENT)), mask & ~given, mask))
        for value, members in sorted(_enumeration(values, min_support).items()):
            has = np.zeros(len(facts), dtype=bool)
            has[members] = True
            found.append((Predicate("argument", (call, argument, value)), has, mask))
    return found


def _enumeration(values: dict[str, list[int]], min_support: int) -> dict[str, list[int]]:
    if len(values) > MAX_VALUES:
        return {}
    return {value: rows for value, rows in values.items() if value != "<other>" and len(rows) >= min_support}


def _environment(facts: Sequence[Facts]) -> list[tuple[Predicate, Bools, Bools]]:
    pairs = sorted({pair for one in facts for pair in one.environment.items()})
    found = []
    for component, version in pairs:
        known = np.fromiter((component in one.environment for one in facts), bool, len(facts))
        at = np.fromiter((one.environment.get(component) == version for one in facts), bool, len(facts))
        found.append((Predicate("environment", (component, version)), at, known))
    return found


def _supported(found: list[tuple[Predicate, Bools, Bools]], units: int, min_support: int) -> Columns:
    kept = [
        (predicate, value & mask, mask)
        for predicate, value, mask in found
        if min((value & mask).sum(), (~value & mask).sum()) >= min_support
    ]
    if not kept:
        empty = np.zeros((units, 0), dtype=bool)
        return Columns([], empty, empty.copy())
    return Columns([p for p, _, _ in kept], np.stack([v for _, v, _ in kept], 1), np.stack([m for _, _, m in kept], 1))
