"""The task of an episode that names none, told from its first text alone: the same task in other words is one stratum.

A first text is made of parts that vary freely (a greeting, a name, a closing, colours and amounts) and of parts that
say what is wanted. Both recur, so how rare a word is cannot tell them apart. What can: a word that says what is wanted
goes with other words. So texts are grouped finely by TF-IDF, each term is weighed by how much the grouping explains
it (epsilon squared, Kelley 1935), and texts are grouped again; what varies freely ends up weighing nothing. The
groups are kept too fine at that, one for each wording of each task, and then joined where what two groups share is
rarer than what parts them: a wording is shared by many tasks, a task's story by its few wordings.

Errors are not equal. Tasks thrown together let difficulty pass for an effect; a task torn apart only costs power.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform

from tasks.cluster.text import units

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

SAMPLE = 2000
"""Texts that the weights are learned from and that are grouped against each other; all others join the groups."""
PER_STRATUM = 8
"""Texts of a known stratum that stand for it; more would tell nothing new."""
ROUNDS = 4
FEW = 40
"""Texts below which nothing can be learned of which words vary freely: only what is very alike is one task."""
LONGEST = 2000
"""Characters of a text that count; a task says what it is about early."""

FINE, ALIKE, CELL = 0.45, 0.5, 0.7
"""Cosines: of the first, fine grouping; of the later ones and of joining a group; of the cells."""
SHARPENINGS = 4
RAREST = 0.01
ALONE = 1
KNEE = 0.08
"""Explained share at which a term counts in full when cells are made."""
MANY, TELLING = 300, 3
"""Where there are more cells than this, only those of so many texts are joined: of the others too little is known."""
CORE, APART, RELEVANT, MARGIN = 0.6, 0.6, 0.4, 1.2
WEIGHTY = 0.25
"""Terms two cells must share for one that parts them: a name that two texts share says nothing of what is asked."""
NAME, NAMED = 0.3, 0.2
"""Weight of a word only ever written with a capital inside sentences; share of such words above which (German)
capitals mean nothing."""


def derive(tasks: Sequence[tuple[str, str]], known: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The stratum of each key.

    Args:
        tasks: (key, first text) in the order of arrival; keys are told from the text, so equal texts have equal keys.
        known: (stratum, text) of texts whose stratum was settled before, oldest first; one or more each.

    Returns:
        key to stratum: one of the known, or the key of the first task of a new one. The same input gives the same
        strata; a key that is itself a known stratum keeps it.
    """
    settled = {stratum: stratum for stratum, _ in known}
    found = {key: settled[key] for key, _ in tasks if key in settled}
    fresh = list({key: text for key, text in tasks if key not in found}.items())
    standing = _representatives(known)
    for _ in range(ROUNDS):
        if not fresh:
            break
        round_found = _round(fresh[:SAMPLE], fresh[SAMPLE:], standing)
        found |= round_found
        texts = dict(fresh)
        standing = _representatives([*standing, *((stratum, texts[key]) for key, stratum in round_found.items())])
        fresh = [(key, text) for key, text in fresh if key not in found]
    return found | {key: key for key, _ in fresh}


def _representatives(known: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    seen: Counter[str] = Counter()
    kept = []
    for stratum, text in known:
        seen[stratum] += 1
        if seen[stratum] <= PER_STRATUM:
            kept.append((stratum, text))
    return kept


def _round(
    sample: Sequence[tuple[str, str]], rest: Sequence[tuple[str, str]], known: Sequence[tuple[str, str]]
) -> dict[str, str]:
    """Strata of the sample, all of it, and of those of the rest that are like one of them."""
    standing = _spread(known, SAMPLE)
    documents = Documents([text for _, text in standing] + [text for _, text in sample])
    labels = documents.grouped()
    strata = list(dict.fromkeys(stratum for stratum, _ in known))
    homes = _homes([stratum for stratum, _ in standing], labels)
    at_home = [labels[row] == homes[stratum] for row, (stratum, _) in enumerate(standing)]
    counted = [pair for pair, home in zip(standing, at_home, strict=True) if home]
    counted += [pair for pair in known if pair[0] not in homes]
    centres = _Centres(documents, documents.weights(labels))
    place = {stratum: index for index, stratum in enumerate(strata)}
    centres.add(
        np.array([place[stratum] for stratum, _ in counted], dtype=np.int64),
        documents.rows([text for _, text in counted]),
        len(strata),
    )
    found = _join(documents.rows_from(len(standing)), labels[len(standing) :], homes, sample, strata, centres)
    nearest = centres.nearest(documents.rows([text for _, text in rest]))
    return found | {key: strata[index] for (key, _), index in zip(rest, nearest, strict=True) if index >= 0}


def _spread(known: Sequence[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """So many of the known that every stratum has one before any has two; the oldest of each stratum first."""
    turn: Counter[str] = Counter()
    ranked = []
    for order, (stratum, text) in enumerate(known):
        ranked.append((turn[stratum], order, stratum, text))
        turn[stratum] += 1
    return [(stratum, text) for _, _, stratum, text in sorted(ranked)[:most]]


def _homes(strata: Sequence[str], labels: Ints) -> dict[str, int]:
    """The group that holds most of what stands for each stratum, the founder's if two hold as many.

    An early night sees few texts and may throw two tasks together. As more come, the groups part them again: the
    stratum stays with one, the other founds its own, and texts that were settled stay where they are.
    """
    votes: dict[str, Counter[int]] = {}
    for stratum, group in zip(strata, labels.tolist(), strict=False):
        votes.setdefault(stratum, Counter())[group] += 1
    return {stratum: own.most_common(1)[0][0] for stratum, own in votes.items()}


def _join(
    rows: Rows, labels: Ints, homes: Mapping[str, int], sample: Sequence[tuple[str, str]], strata: list[str],
    centres: _Centres,
) -> dict[str, str]:  # fmt: skip
    """Give each group of the sample to the known stratum it is home to, or is like, or else let it found its own."""
    place = {stratum: index for index, stratum in enumerate(strata)}
    at_home: dict[int, set[int]] = {}
    for stratum, group in homes.items():
        at_home.setdefault(group, set()).add(place[stratum])
    led = centres.nearest(rows)
    found: dict[str, str] = {}
    for group in dict.fromkeys(labels.tolist()):
        members: list[int] = np.flatnonzero(labels == group).tolist()
        here = at_home.get(group, set())
        votes = Counter(index for index in led[members].tolist() if not here or index in here)
        chosen = min(votes, key=lambda index: (-votes[index], index)) if votes else min(here, default=-1)
        if chosen < 0 or (not here and votes[chosen] * 2 < len(members)):
            strata.append(sample[members[0]][0])
            chosen = len(strata) - 1
            centres.add(np.full(len(members), chosen, dtype=np.int64), rows.at(np.array(members)), len(strata))
        found.update((sample[member][0], strata[chosen]) for member in members)
    return found


@dataclass(frozen=True)
class Rows:
    """Texts as rows over the terms of a sample, and how many words each has that none of the sample shares."""

    matrix: sparse.csr_matrix
    alone: Floats

    def at(self, rows: Ints | slice) -> Rows:
        """Some of them."""
        return Rows(self.matrix[rows], self.alone[rows])

    def weighted(self, weights: Floats, strange: float) -> sparse.csr_matrix:
        """Unit vectors; a word that stands alone lengthens the text by ``strange`` squared, in no direction."""
        rows = self.matrix @ sparse.diags(weights)
        norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel() + self.alone * strange**2)
        return (sparse.diags(1 / np.maximum(norms, 1e-9)) @ rows).tocsr()


class _Centres:
    """The middle of each stratum in the weighted space."""

    def __init__(self, documents: Documents, weights: Floats) -> None:
        self._weights, self._strange = weights, documents.strange
        self._sums = sparse.csr_matrix((0, len(weights)), dtype=np.float32)

    def add(self, owners: Ints, rows: Rows, strata: int) -> None:
        """Let texts count for their stratum; ``strata`` is how many there are now."""
        ends = (owners, np.arange(len(owners)))
        member = sparse.csr_matrix((np.ones(len(owners), np.float32), ends), shape=(strata, len(owners)))
        more = member @ rows.weighted(self._weights, self._strange)
        grown = sparse.csr_matrix((strata - self._sums.shape[0], more.shape[1]), dtype=np.float32)
        self._sums = (sparse.vstack([self._sums, grown]) + more).tocsr()

    def nearest(self, rows: Rows) -> Ints:
        """The stratum whose middle each text is most like, the oldest of equals; -1 where none is like enough."""
        if not self._sums.shape[0]:
            return np.full(len(rows.alone), -1, dtype=np.int64)
        norms = np.sqrt(np.asarray(self._sums.multiply(self._sums).sum(axis=1)).ravel())
        middles = (sparse.diags(1 / np.maximum(norms, 1e-9)) @ self._sums).T.tocsr()
        found = [np.zeros(0, np.int64)]
        for start in range(0, len(rows.alone), 2000):
            part = rows.at(slice(start, start + 2000)).weighted(self._weights, self._strange)
            cosines = (part @ middles).toarray()
            best = cosines.argmax(axis=1)
            found.append(np.where(cosines[np.arange(len(best)), best] >= ALIKE, best, -1))
        return np.concatenate(found)


@dataclass(frozen=True)
class _Cells:
    """Share of each cell's texts that hold each term, shape (cells, terms), and how many texts a cell has."""

    share: Floats
    sizes: Ints
    relevant: npt.NDArray[np.bool_]
    df: Floats

    def joined(self) -> Ints:
        """For each cell, the number of the task it belongs to."""
        cells = len(self.share)
        telling = np.arange(cells) if cells <= MANY else np.flatnonzero(self.sizes >= TELLING)
        terms = np.flatnonzero(self.relevant & (self.share.max(axis=0, initial=0) >= CORE))
        terms = terms[np.argsort(self.df[terms], kind="stable")]
        share = self.share[np.ix_(telling, terms)]
        links = [
            (telling[one], telling[two]) for one in range(len(telling)) for two in _partners(share, self.df[terms], one)
        ]
        ends = np.array(links, dtype=np.int64).reshape(-1, 2).T
        graph = sparse.coo_matrix((np.ones(len(links)), (ends[0], ends[1])), shape=(cells, cells))
        return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _partners(share: Floats, df: Floats, one: int) -> list[int]:
    """Later cells that share with this one something rarer than what parts the two; terms come rarest first."""
    mine, others = share[one], share[one + 1 :]
    shared = (mine >= CORE) & (others >= CORE)
    near = np.flatnonzero(shared.sum(axis=1) >= 2)
    shared, others = shared[near], others[near]
    parts = ((mine >= CORE) != (others >= CORE)) & (np.abs(others - mine) > APART)
    rarer = _lower_quartile(shared, df) * MARGIN <= _lower_quartile(parts, df)
    weighty = shared.sum(axis=1) >= WEIGHTY * parts.sum(axis=1)
    joins = ~parts.any(axis=1) | (rarer & weighty)
    return [one + 1 + int(index) for index in near[joins]]


def _lower_quartile(chosen: npt.NDArray[np.bool_], df: Floats) -> Floats:
    """Of each row, the frequency that a quarter of its chosen terms stay below; ``df`` ascends."""
    if not chosen.size:
        return np.zeros(len(chosen), dtype=np.float32)
    counts = chosen.cumsum(axis=1)
    wanted = np.maximum(np.ceil(counts[:, -1:] / 4), 1)
    return np.asarray(df[(counts >= wanted).argmax(axis=1)], dtype=np.float32)


_INSIDE = re.compile(r"(?<=[\w,;()] )[^\W\d_]+")
"""Words that do not begin a sentence."""


class Documents:
    """Texts as sets of terms: levelled words and pairs of neighbours that at least two of them have."""

    def __init__(self, texts: Sequence[str]) -> None:
        bags = [_terms(text) for text in texts]
        counts = Counter(term for bag in bags for term in bag)
        self._column = {term: at for at, term in enumerate(sorted(t for t, n in counts.items() if n > 1))}
        self._own = self._encoded(bags)
        self.matrix = self._own.matrix
        self.strange = ALONE**0.5 * float(np.log(len(texts) + 1))
        self.df: Floats = np.asarray(self.matrix.sum(axis=0), dtype=np.float32).ravel()
        rarest = np.maximum(self.df, RAREST * len(texts))
        self._rarity: Floats = (np.log((len(texts) + 1) / np.maximum(rarest, 1)) * self._names(texts)).astype(
            np.float32
        )

    def rows(self, texts: Sequence[str]) -> Rows:
        """Other texts in the same columns."""
        return self._encoded([_terms(text) for text in texts])

    def rows_from(self, first: int) -> Rows:
        """Its own rows from one on."""
        return self._own.at(slice(first, None))

    def grouped(self) -> Ints:
        """The group of each text."""
        if len(self._own.alone) < FEW:
            return self._cut(self._rarity, CELL)
        labels = self._cut(self._rarity, FINE)
        for _ in range(SHARPENINGS - 1):
            labels = self._cut(self.weights(labels), ALIKE)
        noise = 3 * np.sqrt(2 * (labels.max(initial=0) + 1)) / max(1, len(labels))
        counted = np.clip((self._explained(labels) - noise) / KNEE, 0, 1)
        cells = self._cut(self._rarity * counted, CELL)
        return self._cells(cells, self._explained(cells) > RELEVANT).joined()[cells]

    def weights(self, labels: Ints) -> Floats:
        """Weight of each term: how rare it is times how much of it the groups explain."""
        return np.asarray(self._rarity * self._explained(labels), dtype=np.float32)

    def _cut(self, weights: Floats, alike: float) -> Ints:
        """Average linkage of the weighted texts, cut at a cosine; equal texts are one leaf's worth of work each."""
        rows = self._own.weighted(weights, self.strange)
        if rows.shape[0] < 2:
            return np.zeros(rows.shape[0], dtype=np.int64)
        dense = rows.toarray()
        far = np.clip(1 - dense @ dense.T, 0, 2)
        np.fill_diagonal(far, 0)
        tree = linkage(squareform(far, checks=False), "average")
        return np.asarray(fcluster(tree, 1 - alike, "distance"), dtype=np.int64) - 1

    def _explained(self, labels: Ints) -> Floats:
        """Epsilon squared of each term's presence over the groups: 1 decided by the group, 0 free of it."""
        share = self._share(labels)
        sizes = np.bincount(labels)[:, None]
        n, groups = len(labels), len(sizes)
        p = self.df / n
        between = (sizes * (share - p) ** 2).sum(axis=0) / n
        unexplained = 1 - between / np.maximum(p * (1 - p), 1e-9)
        return np.asarray(np.clip(1 - unexplained * (n - 1) / max(n - groups, 1), 0, 1), dtype=np.float32)

    def _cells(self, labels: Ints, relevant: npt.NDArray[np.bool_]) -> _Cells:
        return _Cells(self._share(labels), np.bincount(labels), relevant, self.df)

    def _share(self, labels: Ints) -> Floats:
        n, groups = len(labels), int(labels.max(initial=-1)) + 1
        member = sparse.csr_matrix((np.ones(n, np.float32), (labels, np.arange(n))), shape=(groups, n))
        share = np.asarray((member @ self.matrix).todense()) / np.maximum(np.bincount(labels)[:, None], 1)
        return share.astype(np.float32)

    def _encoded(self, bags: Sequence[set[str]]) -> Rows:
        column = self._column
        held = [[column[term] for term in bag if term in column] for bag in bags]
        ends = np.cumsum([0, *(len(each) for each in held)])
        indices = np.fromiter((at for each in held for at in each), np.int32, int(ends[-1]))
        shape = (len(bags), len(column))
        matrix = sparse.csr_matrix((np.ones(len(indices), np.float32), indices, ends), shape=shape)
        matrix.sort_indices()
        alone = [
            sum(" " not in term for term in bag.difference(column)) if len(bag) > len(mine) else 0
            for bag, mine in zip(bags, held, strict=True)
        ]
        return Rows(matrix, np.array(alone, dtype=np.float32))

    def _names(self, texts: Sequence[str]) -> Floats:
        """``NAME`` for words that are only ever written with a capital inside sentences; 1 for all others."""
        small, tall = Counter[str](), Counter[str]()
        for text in texts:
            for word in _INSIDE.findall(text[:LONGEST]):
                (tall if word[0].isupper() else small)[word.casefold()] += 1
        factor = np.ones(len(self._column), dtype=np.float32)
        if tall.total() <= NAMED * (small.total() + tall.total()):
            for term, at in self._column.items():
                if any(tall[word] and not small[word] for word in term.split(" ")):
                    factor[at] = NAME
        return factor


def _terms(text: str) -> set[str]:
    words = [word.casefold() for word in units(text[:LONGEST])]
    return {*words, *(f"{one} {two}" for one, two in pairwise(words))}
