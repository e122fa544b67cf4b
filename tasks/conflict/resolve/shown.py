"""What a reviewer was shown of a conflict, as a hash: a decision holds for exactly that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storage.ids import content_hash

KEEPS = ("left", "right", "both", "neither")
"""What a resolution may keep: one side, both of them, or neither."""


def shown_hash(kind: str, sides: Mapping[str, Any]) -> str:
    """Hash of the kind of a conflict and of what each side says; counts and episodes apart."""
    return content_hash([kind, *((sides.get(side) or {}).get("says") for side in ("left", "right"))], 32)
