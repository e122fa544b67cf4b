"""Text as sets and vectors of character n-grams: no feature assumes spaces, so any script works."""

from __future__ import annotations

import re
import unicodedata

UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
"""Scripts written without spaces, or whose spaces part no words: each letter is a unit of its own."""

_UNIT = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
_UNSPACED = re.compile(rf"([{UNSPACED}])")
ADDRESS = re.compile(r"[^\s@()<>（），。]{1,64}@[\w.-]+|\b[a-zA-Z]{2,9}://\S+|\bwww\.\S+")
CODE = 5
"""Capitals in a row, without a small letter, from which on a word is taken for an id."""


def normalised(text: str) -> str:
    """Text with case, width (NFKC) and spacing levelled."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def parted(text: str) -> str:
    """Text whose letters stand apart in scripts without spaces: a letter there says about as much as a syllable."""
    return text if text.isascii() else _UNSPACED.sub(r" \1 ", text)


def grams(text: str, n: int) -> frozenset[str]:
    """Character n-grams; a text shorter than ``n`` is one gram."""
    return frozenset(text[i : i + n] for i in range(max(1, len(text) - n + 1)))


def jaccard(one: frozenset[str], two: frozenset[str]) -> float:
    """Shared part of two sets, 0 to 1."""
    return len(one & two) / max(1, len(one | two))


def units(text: str) -> list[str]:
    """The words of a text in order, as they are written, without what is particular to one case.

    Left out are addresses, whatever holds a digit (ids, dates, amounts) and ids of capitals. Of scripts without
    spaces, each letter is a word.
    """
    text = unicodedata.normalize("NFKC", text)
    if "@" in text or "://" in text or "www." in text:
        text = ADDRESS.sub(" ", text)
    return [word for word in _UNIT.findall(text) if not _is_particular(word)]


def _is_particular(word: str) -> bool:
    if len(word) >= CODE and word.isupper():
        return True
    return not word.isalpha() and any(letter.isnumeric() for letter in word)
