"""Where each feature of many texts occurs, in arrays: built once, in portions. Pure.

Features are those of ``read_api.ranking``. 100,000 texts of sixty words have some ten million places: five bytes each.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np

PORTION = 8_192
"""Texts sorted at once: what is held beside the finished arrays stays small."""
MOST_TIMES = 255
"""A feature that occurs more often in one text counts as if it occurred so often: the score is flat long before."""


@dataclass(frozen=True)
class Postings:
    """Texts by feature. ``begins`` has one entry a feature and one more; slices of the others belong to it.

    ``documents`` ascend within a feature.
    """

    begins: np.ndarray
    documents: np.ndarray
    times: np.ndarray
    lengths: np.ndarray

    def of(self, feature: int) -> tuple[np.ndarray, np.ndarray]:
        """Documents and how often it occurs in each; a feature that came later is in none of these."""
        if feature >= len(self.begins) - 1:
            return self.documents[:0], self.times[:0]
        where = slice(self.begins[feature], self.begins[feature + 1])
        return self.documents[where], self.times[where]


class Writer:
    """Takes texts one after the other; ``words`` cuts a text, ``pieces`` gives the features of a word."""

    def __init__(self, words: Callable[[str], list[str]], pieces: Callable[[str], Iterable[str]]) -> None:
        self.names: dict[str, int] = {}
        self._words, self._pieces = words, pieces
        self._known: dict[str, tuple[int, ...]] = {}
        self._flat, self._counts = array("i"), array("i")
        self._portions: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._lengths: list[np.ndarray] = []
        self._done = 0

    def add(self, text: str) -> None:
        """The next text."""
        found = list(chain.from_iterable(map(self._numbers, self._words(text))))
        self._flat.extend(found)
        self._counts.append(len(found))
        if len(self._counts) == PORTION:
            self._sort()

    def finish(self) -> Postings:
        """All texts so far."""
        self._sort()
        self._known.clear()
        sizes = np.zeros(len(self.names) + 1, np.int64)
        for features, _, _ in self._portions:
            sizes[1:] += np.bincount(features, minlength=len(self.names))
        begins = np.cumsum(sizes)
        documents, times = np.empty(begins[-1], np.int32), np.empty(begins[-1], np.uint8)
        free = begins[:-1].copy()
        while self._portions:
            features, where, often = self._portions.pop(0)
            present, first, count = np.unique(features, return_index=True, return_counts=True)
            places = np.repeat(free[present] - first, count) + np.arange(len(features))
            documents[places], times[places] = where, often
            free[present] += count
        return Postings(begins, documents, times, np.concatenate([np.zeros(0, np.int32), *self._lengths]))

    def _numbers(self, word: str) -> tuple[int, ...]:
        known = self._known.get(word)
        if known is None:
            names = self.names
            known = tuple(names.setdefault(name, len(names)) for name in self._pieces(word))
            self._known[word] = known
        return known

    def _sort(self) -> None:
        """Turn the portion at hand into (features, documents, times), features ascending."""
        counts = np.array(self._counts, np.int32)
        size = len(counts)
        if not size:
            return
        keys = np.array(self._flat, np.int64) * size + np.repeat(np.arange(size), counts)
        unique, often = np.unique(keys, return_counts=True)
        documents = (unique % size + self._done).astype(np.int32)
        times = np.minimum(often, MOST_TIMES).astype(np.uint8)
        self._portions.append(((unique // size).astype(np.int32), documents, times))
        self._lengths.append(counts)
        self._done += size
        self._flat, self._counts = array("i"), array("i")
