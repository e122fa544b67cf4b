"""What callers get. Immutable, because answers from the cache are shared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class EvidenceFigures:
    """How well a rule is supported. Counts are independent groups' episodes; ``lift`` is as the server gives it."""

    independent_groups: int | None = None
    support: int | None = None
    counter: int | None = None
    lift: Any = None


@dataclass(frozen=True)
class Rule:
    """One version of a promoted rule.

    ``guidance`` is ordered; ``scope`` says where it was verified; ``recheck_at`` is an ISO date or None;
    ``conflicts`` names other active rules that advise otherwise.
    """

    id: str
    version: int
    when_to_use: str
    guidance: tuple[str, ...]
    scope: Mapping[str, Any]
    evidence: EvidenceFigures
    recheck_at: str | None = None
    conflicts: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Withheld:
    """A rule that was left out of an answer, and why."""

    id: str
    version: int
    reason: str


@dataclass(frozen=True)
class RuleSet:
    """An answer: iterate over it for the rules, best first.

    ``stale`` is only ever true with ``on_stale="serve_marked"``; then ``stale_reason`` says why.
    """

    rules: tuple[Rule, ...]
    epoch: int
    withheld: tuple[Withheld, ...] = ()
    stale: bool = False
    stale_reason: str = ""

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, index: int) -> Rule:
        return self.rules[index]


@dataclass(frozen=True)
class StaleRead:
    """A version this session was served that is no longer active."""

    id: str
    version: int
    state: str
    reason: str
    current_version: int | None = None


@dataclass(frozen=True)
class SessionCheck:
    """Whether a session may go on.

    ``verdict`` is ``fine``, ``read-only`` (read again before acting) or ``stop`` (it acted on revoked advice).
    """

    verdict: str
    stale: tuple[StaleRead, ...]
    what_now: str
    epoch: int

    @property
    def fine(self) -> bool:
        """Nothing this session read has changed."""
        return self.verdict == "fine"
