"""What a reviewer may do to a candidate besides deciding: split it, merge it with a duplicate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Parts:
    """The forms that make several candidates of one, or one of several."""
