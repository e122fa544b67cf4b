"""What a reviewer may do to a candidate besides deciding: edit its text, ask for more evidence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Changes:
    """The forms that change one candidate."""
