"""Lexical ranking: BM25 over words and pieces of words, in any script. Pure.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). Words are joined by character
4-grams at a lower weight, so that ``cancelling`` finds ``cancel``; scripts written without spaces are read as
characters and pairs of characters.

**What is kept and what is computed.** Counts are kept: how often a feature is in each text, how many texts have it, how
many texts there are and how long they are. Average length is computed from them when texts move, rarity and scores at
each search; so a ranking that was moved forward scores every text exactly as one built anew from the same texts.

**What a search may cost.** A query's features are taken rarest first until ``SCANNED`` places were read (the rarest one
always). Where all fit, as in most namespaces of some thousand rules, every score is the exact one. Beyond, pieces of
words are left out, and the words left over are added for the ``LOOKED`` best by the rarer features alone: a text that
shares nothing but very common words with a task is not found where the task has rarer ones.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from read_api.postings import MOST_TIMES, Postings, Writer

K1 = 1.2
B = 0.75
GRAM = 4
GRAM_WEIGHT = 0.25
SCANNED = 50_000
LOOKED = 1_000
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Han, kana, Hangul, Thai, Lao, Myanmar, Khmer: no spaces between words, or words that carry their endings
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")


def words(text: str) -> list[str]:
    """The words of a text, folded, in order; ``cancelReservation`` and ``cancel_reservation`` are two words each."""
    return _WORD.findall(_HUMP.sub(" ", unicodedata.normalize("NFKC", text)).casefold())


def pieces(word: str) -> list[str]:
    """The features of a word: itself (``w:``) and its pieces (``g:``)."""
    if _UNSPACED.search(word):
        return [f"w:{char}" for char in word] + [f"w:{word[i : i + 2]}" for i in range(len(word) - 1)]
    return [f"w:{word}", *(f"g:{word[i : i + GRAM]}" for i in range(len(word) - GRAM + 1))]


def features(text: str) -> Counter[str]:
    """Words and pieces of a text, counted."""
    return Counter(chain.from_iterable(map(pieces, words(text))))


@dataclass(frozen=True)
class Ranking:
    """An index over texts that are numbered in the order they came: a snapshot, safe to read while another is made.

    ``names``, ``later`` and ``postings`` are shared with the snapshots before and after this one, and only ever grow;
    what a later one added has numbers past ``size``. ``texts_with`` counts, by feature, the texts that are in.
    """

    names: dict[str, int]
    postings: Postings
    later: dict[int, list[tuple[int, int]]]
    is_in: np.ndarray
    lengths: np.ndarray
    texts_with: np.ndarray
    norms: np.ndarray

    @property
    def size(self) -> int:
        """Numbers given so far, to texts that are in or were."""
        return len(self.is_in)

    @property
    def moved(self) -> int:
        """Texts added or taken out since it was built."""
        return self.size - len(self.postings.lengths) + int(self.size - np.count_nonzero(self.is_in))

    def scores(self, query: str) -> np.ndarray:
        """One score a number, shape ``(size,)``; 0 where nothing is shared, and for texts that are out."""
        scanned, common = self._wanted(query)
        total = self._scan(scanned) if scanned else np.zeros(self.size)
        total[~self.is_in] = 0.0
        if common:
            self._refine(total, common)
        return total

    def without(self, gone: Mapping[int, str], added: Sequence[str]) -> Ranking:
        """A ranking in which some texts are out (their texts are needed once more), and others are in at the end."""
        is_in = np.concatenate([self.is_in, np.ones(len(added), bool)])
        counts = self.texts_with.copy()
        for number, text in gone.items():
            is_in[number] = False
            counts[np.array([self.names[name] for name in features(text)], np.int64)] -= 1
        lengths: list[int] = []
        fresh: list[int] = []
        for number, text in enumerate(added, self.size):
            found = features(text)
            lengths.append(found.total())
            for name, times in found.items():
                feature = self.names.setdefault(name, len(self.names))
                self.later.setdefault(feature, []).append((number, min(times, MOST_TIMES)))
                fresh.append(feature)
        counts = np.concatenate([counts, np.zeros(len(self.names) - len(counts), counts.dtype)])
        np.add.at(counts, np.array(fresh, np.int64), 1)
        return _with_norms(
            replace(
                self,
                is_in=is_in,
                lengths=np.concatenate([self.lengths, np.array(lengths, np.int32)]),
                texts_with=counts,
            )
        )

    def _wanted(self, query: str) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
        """Features to read, each with its weight, and common words to look up for the best; rarest first."""
        known = []
        for name in features(query):
            feature = self.names.get(name, len(self.texts_with))
            if feature < len(self.texts_with) and self.texts_with[feature]:
                known.append((int(self.texts_with[feature]), name, feature))
        known.sort()
        if not known:
            return [], []
        counts = np.array([count for count, _, _ in known], float)
        is_piece = np.array([name.startswith("g:") for _, name, _ in known])
        present = int(np.count_nonzero(self.is_in))
        weights = np.log(1 + (present - counts + 0.5) / (counts + 0.5)) * np.where(is_piece, GRAM_WEIGHT, 1.0)
        cut = max(1, int(np.searchsorted(np.cumsum(counts), SCANNED, side="right")))
        numbered = [(feature, float(weight)) for (_, _, feature), weight in zip(known, weights, strict=True)]
        return numbered[:cut], [each for each, piece in zip(numbered[cut:], is_piece[cut:], strict=True) if not piece]

    def _places(self, feature: int) -> tuple[np.ndarray, np.ndarray]:
        documents, times = self.postings.of(feature)
        added = [place for place in self.later.get(feature, ()) if place[0] < self.size]
        if not added:
            return documents, times
        more = np.array(added, np.int32)
        return np.concatenate([documents, more[:, 0]]), np.concatenate([times, more[:, 1].astype(np.uint8)])

    def _scan(self, wanted: Sequence[tuple[int, float]]) -> np.ndarray:
        places = [self._places(feature) for feature, _ in wanted]
        documents = np.concatenate([where for where, _ in places])
        times = np.concatenate([often for _, often in places]).astype(float)
        weights = np.repeat([weight for _, weight in wanted], [len(where) for where, _ in places])
        # In this order each text adds up its features rarest first, whether it was there from the start or not.
        return np.bincount(documents, self._impacts(weights, times, documents), minlength=self.size)

    def _refine(self, total: np.ndarray, common: Sequence[tuple[int, float]]) -> None:
        best = np.flatnonzero(total)
        if len(best) > LOOKED:
            least = np.partition(total[best], len(best) - LOOKED)[len(best) - LOOKED]
            best = best[total[best] >= least]
        for feature, weight in common if len(best) else ():
            documents, times = self._places(feature)
            at = np.minimum(np.searchsorted(documents, best), len(documents) - 1)
            has = documents[at] == best
            total[best[has]] += self._impacts(weight, times[at[has]].astype(float), best[has])

    def _impacts(self, weights: np.ndarray | float, times: np.ndarray, documents: np.ndarray) -> np.ndarray:
        return weights * times * (K1 + 1) / (times + self.norms[documents])


def build(texts: Iterable[str]) -> Ranking:
    """A ranking of these texts."""
    writer = Writer(words, pieces)
    for text in texts:
        writer.add(text)
    postings = writer.finish()
    is_in = np.ones(len(postings.lengths), bool)
    counts = np.diff(postings.begins).astype(np.int32)
    return _with_norms(Ranking(writer.names, postings, {}, is_in, postings.lengths, counts, np.zeros(0)))


def _with_norms(ranking: Ranking) -> Ranking:
    lengths = ranking.lengths.astype(float)
    present, total = int(np.count_nonzero(ranking.is_in)), int(ranking.lengths[ranking.is_in].sum(dtype=np.int64))
    average = total / present if total else 1.0
    return replace(ranking, norms=K1 * (1 - B + B * lengths / average))
