"""The clock that leases are measured by."""

from __future__ import annotations

import time


def _pick() -> int:
    """CLOCK_BOOTTIME counts time asleep, so a laptop that was shut does not wake up inside an old lease."""
    return int(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


if hasattr(time, "clock_gettime"):
    _CLOCK_ID = _pick()

    def lease_clock() -> float:
        """Seconds since boot, suspend included where the system can tell."""
        return time.clock_gettime(_CLOCK_ID)

else:  # pragma: no cover - systems without clock_gettime

    def lease_clock() -> float:
        """Seconds on the monotonic clock."""
        return time.monotonic()
