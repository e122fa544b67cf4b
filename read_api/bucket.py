"""Token buckets in bounded memory. Pure: the clock is an argument."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass


@dataclass
class _Level:
    left: float
    at: float


class Buckets:
    """One bucket a key: ``burst`` requests at once, ``rate`` a second in the long run; ``rate`` 0 refuses nothing.

    At most ``most`` keys are kept, those used last; one that is forgotten starts full again.
    """

    def __init__(self, rate: float, burst: float, most: int = 10_000) -> None:
        self.rate = rate
        self.burst = burst
        self.most = most
        self._levels: OrderedDict[str, _Level] = OrderedDict()

    def __len__(self) -> int:
        return len(self._levels)

    def __contains__(self, key: str) -> bool:
        return key in self._levels

    def wait(self, key: str, now: float) -> float:
        """Seconds until ``key`` may ask again; nothing is counted. ``now`` is in seconds."""
        level = self._levels.get(key)
        if level is None or self.rate <= 0:
            return 0.0
        left = min(self.burst, level.left + max(0.0, now - level.at) * self.rate)
        return max(0.0, 1.0 - left) / self.rate

    def take(self, key: str, now: float) -> float:
        """Seconds until ``key`` may ask again; 0.0 if it may now, which is then counted. ``now`` is in seconds."""
        if self.rate <= 0:
            return 0.0
        level = self._levels.get(key)
        if level is None:
            level = self._levels[key] = _Level(self.burst, now)
            if len(self._levels) > self.most:
                self._levels.popitem(last=False)
        else:
            self._levels.move_to_end(key)
            # a clock that went back gives nothing and takes nothing
            level.left = min(self.burst, level.left + max(0.0, now - level.at) * self.rate)
            level.at = max(level.at, now)
        if level.left >= 1.0:
            level.left -= 1.0
            return 0.0
        return (1.0 - level.left) / self.rate
