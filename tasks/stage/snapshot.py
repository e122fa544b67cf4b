"""What of a packet decides whether an approval given on it still counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Snapshot:
    """Content, evidence by independent group, and the interval of the effect (None where it is unbounded).

    ``support`` and ``counter`` are the cited groups; ``counter_count`` is of all, since not every run is cited.
    """

    content_hash: str
    support: frozenset[str] = frozenset()
    counter: frozenset[str] = frozenset()
    counter_count: int = 0
    tainted: frozenset[str] = frozenset()
    stale: frozenset[str] = frozenset()
    low: float | None = None
    high: float | None = None

    @property
    def includes_no_effect(self) -> bool:
        """Whether an odds ratio of 1 lies in the interval."""
        return (self.low is None or self.low <= 1) and (self.high is None or self.high >= 1)


def snapshot(content_hash: str, packet: Mapping[str, Any]) -> Snapshot:
    """The snapshot that a stored packet holds."""
    evidence, effect = packet.get("evidence") or {}, packet.get("effect") or {}
    groups = evidence.get("groups") or {}
    return Snapshot(
        content_hash=content_hash,
        support=frozenset(groups.get("support") or ()),
        counter=frozenset(groups.get("counter") or ()),
        counter_count=int(evidence.get("counter") or 0),
        tainted=frozenset(evidence.get("tainted") or ()),
        stale=frozenset(evidence.get("stale") or ()),
        low=effect.get("low"),
        high=effect.get("high"),
    )
