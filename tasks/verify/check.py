"""One check, and what a draft is checked with. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from tasks.verify.replay import Replayed
from tasks.verify.signs import Sign
from tasks.verify.support import Remaining

Verdict = Literal["pass", "warn", "fail"]


@dataclass(frozen=True)
class Check:
    """One check as the packet keeps it. ``fix`` says what would make it pass."""

    name: str
    verdict: Verdict
    detail: str
    fix: str = ""

    def as_row(self) -> dict[str, str]:
        """As JSON."""
        return {"name": self.name, "verdict": self.verdict, "detail": self.detail, "fix": self.fix}


@dataclass(frozen=True)
class CitedRun:
    """One cited episode as it is now. ``known_steps`` are the steps of its body; ``echo``: it had read such a rule.

    ``strayed`` says why the draft does not cover it, empty where it does. ``literals`` are the names of single things
    in its body; ``cluster`` and ``stratum`` are where it belongs.
    """

    episode_id: str
    group: str
    stance: str
    steps: frozenset[str]
    known_steps: frozenset[str]
    current: bool = True
    tainted: bool = False
    echo: bool = False
    external: bool = False
    signs: tuple[Sign, ...] = ()
    hints: tuple[str, ...] = ()
    literals: frozenset[str] = frozenset()
    strayed: str = ""
    cluster: str = ""
    stratum: str = ""


@dataclass(frozen=True)
class RevokedBefore:
    """The latest revoked version with the same claim, and what the runs that arrived since say by themselves."""

    rule_id: str
    version: int
    reason: str
    at: str
    since: Remaining
    reworded: bool = False
    """It made the claim in other words."""


@dataclass(frozen=True)
class AkinRevoked:
    """The latest revoked version that only overlaps with the claim."""

    rule_id: str
    version: int
    reason: str
    at: str


@dataclass(frozen=True)
class Subject:
    """A draft with everything that is asked about it.

    ``same`` is the active rule with the same claim, if any: its id, version, and whether it says the same already.
    ``left_out`` are the family's runs that count for nothing since they ran under a rule that was revoked.
    ``elsewhere`` are labels of other families whose runs make the calls that the claim speaks of. ``replayed`` is what
    a replay with one condition changed showed; None where there is no hook.
    """

    content: Mapping[str, Any]
    packet: Mapping[str, Any]
    cited: Sequence[CitedRun]
    today: date
    secrets: Mapping[str, int] = field(default_factory=dict)
    same: tuple[str, int, bool] | None = None
    revoked: RevokedBefore | None = None
    akin: AkinRevoked | None = None
    elsewhere: Sequence[str] = ()
    left_out: int = 0
    replayed: Replayed | None = None


def advice(content: Mapping[str, Any]) -> list[str]:
    """The lines that agents would read."""
    return [str(content.get("when_to_use") or ""), *(str(line) for line in content.get("guidance") or [])]


def many(count: int, noun: str) -> str:
    """A number with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
