"""Text as sets and vectors of character n-grams: no feature assumes spaces, so any script works."""

from __future__ import annotations

import unicodedata


def normalised(text: str) -> str:
    """Text with case, width (NFKC) and spacing levelled."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def grams(text: str, n: int) -> frozenset[str]:
    """Character n-grams; a text shorter than ``n`` is one gram."""
    return frozenset(text[i : i + n] for i in range(max(1, len(text) - n + 1)))


def jaccard(one: frozenset[str], two: frozenset[str]) -> float:
    """Shared part of two sets, 0 to 1."""
    return len(one & two) / max(1, len(one | two))
