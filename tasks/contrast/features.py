"""From facts to columns: one row a unit, one column a feature, with a mask for the units it speaks of.

A column is a plain attribute of a run, read without its outcome. Positions of first calls are kept as one matrix, so
that orders and missing checks are comparisons of two of its columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt

from tasks.contrast.predicate import SHAPE_ABSENT, SHAPE_EMPTY, SIMPLICITY, USER, Predicate, tool_of
from tasks.contrast.table import (
    ARGUMENT,
    CALL,
    FAILURE,
    LENGTH,
    LOOP,
    MANY,
    MOST_VALUES,
    SHAPE,
    THEN,
    VERSION,
    FactsTable,
    Token,
)  # fmt: skip

Bools = npt.NDArray[np.bool_]
Column = tuple[Bools, Bools]
"""Values and mask of one feature, one entry a unit."""

MAX_CALLS = 60
"""The most common calls of a family; pairs grow with the square of it."""

LENGTHS = (5, 10, 20, 40, 80)
"""Numbers of calls at which runs are told long from short: fixed, so that a finding is the same from night to night."""

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
    words = re.findall(r"[a-z]+", tool_of(call).rsplit(".", 1)[-1].casefold())
    return not words or words[0] not in READS


class View:
    """A table of facts, to be asked about predicates."""

    def __init__(self, table: FactsTable) -> None:
        self._cells = table.cells.tocsc()
        self._place = {token: index for index, token in enumerate(table.tokens)}
        self.units = len(table)
        self.tokens = table.tokens

    def cell(self, token: Token) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Rows where a token is so, and its values there."""
        index = self._place.get(token)
        if index is None:
            return np.zeros(0, np.int32), np.zeros(0, np.int32)
        part = slice(self._cells.indptr[index], self._cells.indptr[index + 1])
        return self._cells.indices[part], self._cells.data[part]

    def count(self, token: Token) -> int:
        """Units where it is so."""
        index = self._place.get(token)
        return 0 if index is None else int(self._cells.indptr[index + 1] - self._cells.indptr[index])

    def has(self, *tokens: Token) -> Bools:
        """Whether any of the tokens is so, one entry a unit."""
        found = np.zeros(self.units, dtype=bool)
        for token in tokens:
            found[self.cell(token)[0]] = True
        return found

    def first(self, call: str) -> npt.NDArray[np.float32]:
        """Position of the first such call; infinity where it was not made."""
        positions = np.full(self.units, np.inf, dtype=np.float32)
        rows, values = self.cell((CALL, call))
        positions[rows] = values - 1
        return positions

    def column(self, predicate: Predicate) -> Column:
        """Values and mask of any predicate, a feature of this table or not; see ``facts.holds``."""
        parts = predicate.parts
        everyone = np.ones(self.units, dtype=bool)
        match predicate.kind:
            case "call-present":
                return self.has((CALL, parts[0])), everyone
            case "missing-check":
                return _missing(self.first(parts[0]), self.first(parts[1]))
            case "order":
                return _ordered(self.first(parts[0]), self.first(parts[1]))
            case "loop":
                return self.has((LOOP, parts[0])), everyone
            case "recovery":
                failed = self.has((FAILURE, parts[0], parts[1]))
                return failed & self.has((THEN, *parts)), failed
            case "argument":
                return self._argument(parts)
            case "environment":
                return self.has((VERSION, *parts)), self.has(*self.of.get((VERSION, parts[0]), ()))
            case "length":
                rows, values = self.cell((LENGTH,))
                longer = np.zeros(self.units, dtype=bool)
                longer[rows[values > int(parts[0])]] = True
                return longer, everyone

    def _argument(self, parts: tuple[str, ...]) -> Column:
        made = self.has((CALL, parts[0]))
        if parts[2] == SHAPE_ABSENT:
            return made & ~self.has(*self.of.get((ARGUMENT, *parts[:2]), ())), made
        return self.has((ARGUMENT, *parts), (SHAPE, *parts)), made

    @cached_property
    def of(self) -> dict[Token, list[Token]]:
        """Tokens by all but their last part: the values of an argument, the versions of a component."""
        found: dict[Token, list[Token]] = {}
        for token in self.tokens:
            found.setdefault(token[:-1], []).append(token)
        return found


def _missing(check: npt.NDArray[np.float32], before: npt.NDArray[np.float32]) -> Column:
    made = np.isfinite(before)
    return made & (check > before), made


def _ordered(one: npt.NDArray[np.float32], two: npt.NDArray[np.float32]) -> Column:
    both = np.isfinite(one) & np.isfinite(two)
    return both & (one < two), both


def build_columns(table: FactsTable, min_support: int) -> Columns:
    """Every feature that at least ``min_support`` units have and as many, of those it speaks of, lack."""
    view = View(table)
    calls = _common_calls(view, min_support)
    first = {call: view.first(call) for call in calls}
    kept: list[tuple[Predicate, Column]] = []
    for predicate in chain(
        (Predicate("call-present", (call,)) for call in calls),
        _pairs(calls),
        (Predicate("loop", token[1:]) for token in sorted(view.tokens) if token[0] == LOOP),
        _recoveries(view, min_support),
        _arguments(view, calls, min_support),
        (Predicate("environment", token[1:]) for token in sorted(view.tokens) if token[0] == VERSION),
        (Predicate("length", (str(cut),)) for cut in LENGTHS),
    ):
        pair = _pair(predicate, first)
        values, mask = pair if pair is not None else view.column(predicate)
        have, spoken = int(values.sum()), int(mask.sum())
        if min(have, spoken - have) >= min_support:
            kept.append((predicate, (values, mask)))
    return _stacked(kept, len(table))


def _pair(predicate: Predicate, first: dict[str, npt.NDArray[np.float32]]) -> Column | None:
    """The column of a predicate on two calls, whose positions are at hand: there are many of them."""
    if predicate.kind == "missing-check":
        return _missing(first[predicate.parts[0]], first[predicate.parts[1]])
    return _ordered(first[predicate.parts[0]], first[predicate.parts[1]]) if predicate.kind == "order" else None


def distinct(columns: Columns) -> Columns:
    """Columns without exact repeats (or exact opposites, which test the same); the simplest of each is kept.

    Of two equally simple ones it is the earlier column: calls stand in the order in which runs make them, so that what
    was done stands for what came of it.
    """
    seen: dict[bytes, int] = {}
    for index in sorted(range(len(columns.predicates)), key=lambda i: (rank(columns.predicates[i]), i)):
        value, mask = columns.values[:, index] & columns.mask[:, index], columns.mask[:, index]
        keys = [np.packbits(side).tobytes() + np.packbits(mask).tobytes() for side in (value, ~value & mask)]
        if keys[0] not in seen and keys[1] not in seen:
            seen[keys[0]] = index
    return columns.take(sorted(seen.values()))


def rank(predicate: Predicate) -> tuple[int, int]:
    """Sort key: simpler kinds first; of an argument, that it is missing before what it is, and that before its form."""
    value = predicate.parts[-1] if predicate.kind == "argument" else ""
    return SIMPLICITY[predicate.kind], _NO_VALUE.get(value, 3 if value.startswith("<") else 2)


_NO_VALUE = {SHAPE_ABSENT: 0, SHAPE_EMPTY: 1}


def _common_calls(view: View, min_support: int) -> list[str]:
    """The calls that enough runs make, in the order in which runs first make them."""
    counts = {token[1]: view.count(token) for token in view.tokens if token[0] == CALL}
    common = sorted((call for call, n in counts.items() if n >= min_support), key=lambda call: (-counts[call], call))
    place = {call: float(view.cell((CALL, call))[1].mean()) for call in common[:MAX_CALLS]}
    return sorted(place, key=lambda call: (place[call], call))


def _pairs(calls: Sequence[str]) -> list[Predicate]:
    """Orders and missing checks; in the order of names, so that a pair has one name for good."""
    named = sorted(calls)
    found = []
    for i, one in enumerate(named):
        for j, two in enumerate(named):
            if i < j:
                found.append(Predicate("order", (one, two)))
            if i != j and is_consequential(two) and not is_consequential(one) and not _by_user(one, two):
                found.append(Predicate("missing-check", (one, two)))
    return found


def _by_user(*calls: str) -> bool:
    """Whether the user makes one of the calls: the order of those is no check that an agent can owe."""
    return any(call.startswith(USER) for call in calls)


def _recoveries(view: View, min_support: int) -> list[Predicate]:
    failed = [token for token in view.tokens if token[0] == FAILURE and view.count(token) >= 2 * min_support]
    return [
        Predicate("recovery", then[1:])
        for token in sorted(failed)
        for then in sorted(view.of.get((THEN, *token[1:]), ()))
    ]


def _arguments(view: View, calls: Sequence[str], min_support: int) -> list[Predicate]:
    """Arguments that are sometimes left out, and values of those that behave like enumerations, or else their forms."""
    common = set(calls)
    found = []
    arguments = [key for key in view.of if key[:1] == (ARGUMENT,) and key[1] in common]
    for _, *named in sorted(arguments):
        tokens = view.of[ARGUMENT, *named]
        found.append(Predicate("argument", (*named, SHAPE_ABSENT)))
        if len(tokens) > MOST_VALUES or (ARGUMENT, *named, MANY) in tokens:
            tokens = view.of.get((SHAPE, *named), [])
        if len(tokens) <= MOST_VALUES:
            known = sorted(token for token in tokens if token[-1] != "<other>" and view.count(token) >= min_support)
            found += [Predicate("argument", token[1:]) for token in known]
    return found


def _stacked(kept: Sequence[tuple[Predicate, Column]], units: int) -> Columns:
    if not kept:
        empty = np.zeros((units, 0), dtype=bool)
        return Columns([], empty, empty.copy())
    values = np.stack([value for _, (value, _) in kept], 1)
    return Columns([predicate for predicate, _ in kept], values, np.stack([mask for _, (_, mask) in kept], 1))
