"""Recoveries: what made a failing call work again, inside sessions and over many, where nobody said how a run ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

EVERYWHERE = "*"
"""The shard, and the pseudo-family, of what is compared over all sessions of a namespace."""

LABEL = "steps of all sessions"
SHARE = 4
"""Recoveries have one part of a night's alpha for so many parts of the families', where there are both."""


def is_everywhere(predicate: Mapping[str, Any]) -> bool:
    """Whether a stored claim was found among the steps of all sessions, rather than among the runs of one family."""
    return predicate.get("kind") == "recovery" and predicate.get("family") == EVERYWHERE


def with_recoveries(informative: Mapping[str, int], families: Collection[str]) -> dict[str, int]:
    """Weights by which families share a night's alpha, the recoveries' among them if they are compared tonight."""
    if EVERYWHERE not in families:
        return dict(informative)
    return {**informative, EVERYWHERE: max(1, sum(informative.values()) // SHARE)}
