"""What is kept in memory of the rules that could be served: enough to choose by, nothing that is served. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import orjson

BOUNDS = ("agents", "valid_from", "valid_to", "environment")
"""The parts of a scope that say where a rule applies."""
NONE, MEASURED, CONFIRMED = range(3)
"""Kinds of evidence, the better the higher: nothing counted; runs counted; confirmed on groups it was not found on."""


@dataclass(frozen=True, slots=True)
class Option:
    """A rule that could be served. ``text`` is what it is found by and measured by."""

    id: str
    version: int
    scope: Mapping[str, Any]
    text: str = ""
    tier: str = "standard"
    kind: int = NONE
    groups: int = 0
    candidate: str = ""


@dataclass(frozen=True)
class Shelf:
    """Options by number, in the order they came. A snapshot: lists are shared with later ones and only ever grow.

    ``is_in`` says which are still served; ``scope_of`` numbers the distinct ``scopes``. A rule has at most one version
    that is in: ``by_id`` and ``by_candidate`` lead to the number that came last.
    """

    options: list[Option] = field(default_factory=list)
    scopes: list[Mapping[str, Any]] = field(default_factory=list)
    scope_numbers: dict[bytes, int] = field(default_factory=dict)
    by_id: dict[str, int] = field(default_factory=dict)
    by_candidate: dict[str, int] = field(default_factory=dict)
    is_in: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    scope_of: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def size(self) -> int:
        """Numbers given so far."""
        return len(self.is_in)

    def __getitem__(self, number: int) -> Option:
        return self.options[number]

    def number_of(self, rule_id: str) -> int | None:
        """The number of the version of this rule that is in."""
        return self._in(self.by_id.get(rule_id))

    def number_of_candidate(self, candidate_id: str) -> int | None:
        """The number of the version that was promoted from this candidate and is in."""
        return self._in(self.by_candidate.get(candidate_id))

    def with_changes(self, gone: Sequence[int], added: Sequence[Option]) -> Shelf:
        """The next snapshot: some are out, and these are in, at the end."""
        is_in = np.concatenate([self.is_in, np.ones(len(added), bool)])
        is_in[list(gone)] = False
        for number in gone:
            # Out is out: its text is not kept, so that what was erased in the store is not here either.
            self.options[number] = replace(self.options[number], text="")
        numbers = []
        for number, option in enumerate(added, self.size):
            bounds = {name: option.scope[name] for name in BOUNDS if option.scope.get(name)}
            key = orjson.dumps(bounds, option=orjson.OPT_SORT_KEYS, default=str)
            at = self.scope_numbers.get(key)
            if at is None:
                at = len(self.scopes)
                self.scopes.append(bounds)
                self.scope_numbers[key] = at
            numbers.append(at)
            self.options.append(replace(option, scope=self.scopes[at]))
            self.by_id[option.id] = number
            if option.candidate:
                self.by_candidate[option.candidate] = number
        scope_of = np.concatenate([self.scope_of, np.array(numbers, np.int32)])
        return replace(self, is_in=is_in, scope_of=scope_of)

    def _in(self, number: int | None) -> int | None:
        return number if number is not None and number < self.size and self.is_in[number] else None


def shelf_of(options: Sequence[Option]) -> Shelf:
    """A shelf that holds these."""
    return Shelf().with_changes((), options)


def kind_of_evidence(evidence: Mapping[str, Any]) -> int:
    """``CONFIRMED`` where the figures hold one from runs that the rule was not found on, ``MEASURED`` where runs were
    counted for it, else ``NONE``."""
    lift = evidence.get("lift") or {}
    if any(lift.get(name) is not None for name in ("odds_ratio", "low", "high")):
        return CONFIRMED
    return MEASURED if evidence.get("support") or evidence.get("independent_groups") else NONE


def folded(text: str) -> str:
    """A text as it is compared: without differences of case, width and spacing."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
