"""Names of rules: readable first, unique by a short hash of the claim."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

LONGEST = 48
FIELDS = ("check", "first", "call", "error", "before", "then", "argument", "value", "component", "version")


def rule_id(predicate: Mapping[str, Any], predicate_id: str, kind: str = "rule") -> str:
    """Such as ``avoid-cancel-reservation-3f2a1c``: direction, what it speaks of, and the first digits of the claim."""
    words = [str(predicate.get("direction") or ""), *(str(predicate[name]) for name in FIELDS if predicate.get(name))]
    slug = re.sub(r"[^a-z0-9]+", "-", " ".join(words).casefold()).strip("-")[:LONGEST].strip("-")
    return f"{slug or kind}-{predicate_id[:6]}"
