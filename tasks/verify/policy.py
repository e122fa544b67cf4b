"""What a policy says of evidence: which checks block, how much a night may retire, what is held out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CHECK_NAMES = (
    "citations", "independence", "held-out", "agent", "exceptions", "mixed-cluster", "coverage", "over-specific",
    "over-general", "hidden-text", "injection", "secrets", "authoritative-source", "revoked-before", "recall", "scope",
    "drafts-agree", "replay",
)  # fmt: skip
KEYS = {
    "blocking_checks": "names of the checks whose failure keeps a candidate from being approved; all of them if absent",
    "retire_limit": "part of the active rules, 0 to 1, that one night may propose to retire; 0.2 if absent",
    "holdout_fraction": "part of the sessions, 0 to 0.5, from which a rule is withheld at random; 0 if absent",
}
MOST_HELD_OUT = 0.5


class BadEvidencePolicy(ValueError):
    """A policy on evidence that cannot be taken; says which key, and what it may be."""


def check_policy(policy: Mapping[str, Any]) -> None:
    """Refuse what cannot be meant.

    Raises:
        BadEvidencePolicy: naming the first fault.
    """
    blocking = policy.get("blocking_checks")
    if blocking is not None:
        if not isinstance(blocking, list) or not all(isinstance(name, str) for name in blocking):
            raise BadEvidencePolicy("blocking_checks must be a list of names of checks")
        unknown = [name for name in blocking if name not in CHECK_NAMES]
        if unknown:
            raise BadEvidencePolicy(f"there is no check {unknown[0][:40]!r}. Known: {', '.join(CHECK_NAMES)}")
    _check_part(policy, "retire_limit", 1.0)
    _check_part(policy, "holdout_fraction", MOST_HELD_OUT)


def _check_part(policy: Mapping[str, Any], key: str, most: float) -> None:
    value = policy.get(key)
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise BadEvidencePolicy(f"{key} must be a number from 0 to {most:g}")
