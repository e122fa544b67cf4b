"""Lexical ranking: BM25 over words and pieces of words, in any script. Pure.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). Words are joined by character
4-grams at a lower weight, so that ``cancelling`` finds ``cancel``; scripts written without spaces are read as
characters and pairs of characters.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

K1 = 1.2
B = 0.75
GRAM = 4
GRAM_WEIGHT = 0.25
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Han, kana, Hangul, Thai, Lao, Myanmar, Khmer: no spaces between words, or words that carry their endings
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")


def features(text: str) -> Counter[str]:
    """Words (``w:``) and pieces (``g:``) of a text, counted."""
    folded = _HUMP.sub(" ", unicodedata.normalize("NFKC", text)).casefold()
    found: Counter[str] = Counter()
    for word in _WORD.findall(folded):
        if _UNSPACED.search(word):
            found.update(f"w:{char}" for char in word)
            found.update(f"w:{word[i : i + 2]}" for i in range(len(word) - 1))
        else:
            found[f"w:{word}"] += 1
            found.update(f"g:{word[i : i + GRAM]}" for i in range(len(word) - GRAM + 1))
    return found


@dataclass(frozen=True)
class Posting:
    """Where a feature occurs and what it adds to the score there."""

    documents: np.ndarray
    impacts: np.ndarray


class Ranking:
    """An index over a fixed list of texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [features(text) for text in texts]
        self.size = len(texts)
        lengths = np.array([sum(count.values()) for count in counts], dtype=float)
        average = float(lengths.mean()) if self.size and lengths.any() else 1.0
        self._norm = K1 * (1 - B + B * lengths / average)
        self._postings = {name: self._posting(name, where) for name, where in _inverted(counts).items()}

    def scores(self, query: str) -> np.ndarray:
        """One score a text, shape ``(size,)``; 0 where nothing is shared."""
        total = np.zeros(self.size)
        for name in features(query):
            posting = self._postings.get(name)
            if posting is not None:
                total[posting.documents] += posting.impacts
        return total

    def _posting(self, name: str, where: Sequence[tuple[int, int]]) -> Posting:
        documents = np.array([document for document, _ in where])
        times = np.array([count for _, count in where], dtype=float)
        rarity = math.log(1 + (self.size - len(where) + 0.5) / (len(where) + 0.5))
        weight = rarity * (GRAM_WEIGHT if name.startswith("g:") else 1.0)
        return Posting(documents, weight * times * (K1 + 1) / (times + self._norm[documents]))


def _inverted(counts: Iterable[Counter[str]]) -> dict[str, list[tuple[int, int]]]:
    inverted: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for document, count in enumerate(counts):
        for name, times in count.items():
            inverted[name].append((document, times))
    return inverted
