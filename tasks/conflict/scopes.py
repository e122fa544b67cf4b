"""Whether two scopes can apply at once: by versions of components, time and agent. Disjoint scopes never conflict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tasks.draft.scope import ANY, version_key


@dataclass(frozen=True)
class Range:
    """A closed range of versions; a bound of None is open. ``exact`` names a version that has no order."""

    low: tuple[int, ...] | None = None
    high: tuple[int, ...] | None = None
    exact: str | None = None

    def overlaps(self, other: Range) -> bool:
        """Whether some version lies in both."""
        if self.exact is not None and other.exact is not None:
            return self.exact == other.exact
        if self.exact is not None or other.exact is not None:
            return self._open and other._open
        low_ok = self.low is None or other.high is None or self.low <= other.high
        return low_ok and (other.low is None or self.high is None or other.low <= self.high)

    def covers(self, other: Range) -> bool:
        """Whether every version of the other lies in this one."""
        if self.exact is not None or other.exact is not None:
            return self.exact == other.exact or self == Range()
        low_ok = self.low is None or (other.low is not None and other.low >= self.low)
        return low_ok and (self.high is None or (other.high is not None and other.high <= self.high))

    @property
    def _open(self) -> bool:
        return self.exact is not None or (self.low is None and self.high is None)


def parse_range(text: str) -> Range:
    """``*``, a version, or bounds such as ``>=3.1,<=3.4``. A version without an order stands for itself alone."""
    if text.strip() in ("", ANY):
        return Range()
    low: tuple[int, ...] | None = None
    high: tuple[int, ...] | None = None
    for part in text.split(","):
        bound = part.strip()
        key = version_key(bound.lstrip("<>="))
        if key is None:
            return Range(exact=text.strip())
        if not bound.startswith("<"):
            low = key
        if not bound.startswith(">"):
            high = key
    return Range(low, high)


def overlap(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Whether a run could fall under both scopes."""
    return _environments(one, two) and _times(one, two) and _agents(one, two)


def is_newer(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Whether ``one`` holds from a later time, or for higher versions of a component that both name."""
    if _instant(one.get("valid_from"), -math.inf) > _instant(two.get("valid_from"), -math.inf):
        return True
    shared = _shared(one, two)
    return any((a.low or ()) > (b.high or b.low or (math.inf,)) for a, b in shared)


def _environments(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    return all(a.overlaps(b) for a, b in _shared(one, two))


def _shared(one: Mapping[str, Any], two: Mapping[str, Any]) -> list[tuple[Range, Range]]:
    left, right = one.get("environment") or {}, two.get("environment") or {}
    return [
        (parse_range(str(left[name])), parse_range(str(right[name]))) for name in sorted(left.keys() & right.keys())
    ]


def _times(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Half-open intervals from ``valid_from`` to ``valid_to``."""
    starts = [_instant(scope.get("valid_from"), -math.inf) for scope in (one, two)]
    ends = [_instant(scope.get("valid_to"), math.inf) for scope in (one, two)]
    return max(starts) < min(ends)


def _agents(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    left, right = set(one.get("agents") or ()), set(two.get("agents") or ())
    return not left or not right or bool(left & right)


def _instant(value: Any, absent: float) -> float:
    if not value:
        return absent
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:  # no time that anybody can read bounds nothing
        return absent
    return (at.replace(tzinfo=UTC) if at.tzinfo is None else at).timestamp()
