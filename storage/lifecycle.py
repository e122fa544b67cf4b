"""What may follow what: the states of candidates and rule versions, as a pure table."""

from __future__ import annotations

from typing import Literal

CandidateState = Literal["staged", "approved", "promoted", "rejected", "void"]
VersionState = Literal["active", "superseded", "quarantined", "revoked", "expired"]

CANDIDATE_MOVES: dict[str, frozenset[str]] = {
    "staged": frozenset({"approved", "promoted", "rejected", "void"}),
    "approved": frozenset({"staged", "promoted", "rejected", "void"}),
    "promoted": frozenset({"staged"}),
    "rejected": frozenset({"staged"}),
    "void": frozenset({"staged"}),
}
"""``promoted``, ``rejected`` and ``void`` return to ``staged`` only by a new revision with other content."""

VERSION_MOVES: dict[str, frozenset[str]] = {
    "active": frozenset({"superseded", "quarantined", "revoked", "expired"}),
    "quarantined": frozenset({"active", "superseded", "revoked", "expired"}),
    "superseded": frozenset({"revoked"}),
    "expired": frozenset({"revoked"}),
    "revoked": frozenset(),
}
SERVED: frozenset[str] = frozenset({"active"})


class StateRefused(ValueError):
    """The thing is in a state from which the asked change is not allowed; reload it and look again."""


def move_candidate(now: str, to: str) -> str:
    """``to``, if a candidate may go there from ``now``.

    Raises:
        StateRefused: if it may not.
    """
    return _move(CANDIDATE_MOVES, "candidate", now, to)


def move_version(now: str, to: str) -> str:
    """``to``, if a rule version may go there from ``now``.

    Raises:
        StateRefused: if it may not.
    """
    return _move(VERSION_MOVES, "rule version", now, to)


def _move(moves: dict[str, frozenset[str]], thing: str, now: str, to: str) -> str:
    if to not in moves.get(now, frozenset()):
        raise StateRefused(f"a {thing} that is {now} cannot become {to}")
    return to
