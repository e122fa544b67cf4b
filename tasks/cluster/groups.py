"""Homogeneous clusters inside a family, for drafting and display, told from task texts.

The unit is a task: runs of one task are never torn apart. Tools used only label a cluster.

Tasks are grouped by average linkage, cut where the silhouette (Rousseeuw 1987) is widest, block by block, so that no
table of all pairs is ever held. A cluster that was there before keeps its id and its tasks: new tasks join it or
found others.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from storage.ids import content_hash
from tasks.cluster.text import ADDRESS, UNSPACED
from tasks.cluster.vectors import TextSpace

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BLOCK = 1500
"""Tasks that are compared each with each at a time."""
STANDING = 4
"""Tasks of a settled cluster that stand for it."""
FEW, FAR = 12, 1.0
"""Below so many tasks a silhouette says nothing, and the cut is at this distance between unit vectors (cosine 0.5)."""
CUTS = tuple(round(0.4 + 0.1 * step, 1) for step in range(10))
TERMS, TOOLS = 5, 5
LEAST = 0.5
"""Of what the best term of a cluster scores, what another must, to stand beside it."""
OCCURS = 0.1
"""Share of a cluster's texts from which a term is one of that cluster."""
NAMES_SHARE = 0.25
"""Words with a capital inside sentences, of all words there, above which a capital marks more than names."""
_UNSPACED = re.compile(rf"[{UNSPACED}]")
_DIGIT = re.compile(r"\d")
_INSIDE = re.compile(r"(?:(?<=[^\W\d_] )|(?<=[^\W\d_], ))[^\W\d_]{2,}")


@dataclass(frozen=True)
class Task:
    """One task of a family and the text that stands for it; ``cluster`` is set if it is in one already."""

    key: str
    text: str
    cluster: str | None = None


@dataclass(frozen=True)
class ClusterDraft:
    """A cluster as it is stored."""

    id: str
    label: str
    terms: list[str]
    tools: list[str]


def assign(family: str, tasks: Sequence[Task], vectors: Mapping[str, Floats] | None = None) -> dict[str, str]:
    """Task key to cluster id. A task that is in a cluster stays there; a new one joins one, or founds one.

    Args:
        family: the family's id; it enters the ids of new clusters.
        tasks: all of the family, in the order they were founded (the older of two clusters is the one met first).
        vectors: text to vector where an embedder is set up, one for each text; lexical vectors if absent.
    """
    found = {task.key: task.cluster for task in tasks if task.cluster}
    fresh = sorted((task for task in tasks if not task.cluster), key=lambda task: (task.key, task.text))
    if fresh:
        standing = _standing(tasks)
        rows = _rows([task.text for task in standing + fresh], vectors)
        grown = _Growing(rows, _widest(rows))
        grown.settle([str(task.cluster) for task in standing])
        for start in range(len(standing), len(rows), BLOCK):
            grown.take(range(start, min(start + BLOCK, len(rows))))
        named = grown.named(family, [task.key for task in standing + fresh])
        found |= {task.key: named[len(standing) + index] for index, task in enumerate(fresh)}
    return found


def merges(tasks: Sequence[Task], vectors: Mapping[str, Floats] | None = None) -> dict[str, str]:
    """Settled clusters that have become one: the younger's id to the older's, which absorbs it.

    Args:
        tasks: settled ones, in the order they were founded.
        vectors: as for ``assign``.
    """
    standing = _standing(tasks)
    if not standing:
        return {}
    rows = _rows([task.text for task in standing], vectors)
    order = list(dict.fromkeys(str(task.cluster) for task in standing))
    grown = _Growing(rows, _widest(rows))
    grown.settle([str(task.cluster) for task in standing])
    absorbed = grown.absorbed(settled=False)
    return {order[young]: order[old] for young, old in absorbed.items()}


def _standing(tasks: Sequence[Task]) -> list[Task]:
    """The first few tasks of every settled cluster."""
    seen: Counter[str | None] = Counter()
    kept = []
    for task in tasks:
        seen[task.cluster] += 1
        if task.cluster and seen[task.cluster] <= STANDING:
            kept.append(task)
    return kept


def _rows(texts: Sequence[str], vectors: Mapping[str, Floats] | None) -> Floats:
    if vectors is None:
        return TextSpace(texts).rows
    rows = np.array([vectors[text] for text in texts], dtype=np.float64)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def _distances(rows: Floats) -> Floats:
    far = np.sqrt(np.clip(2 - 2 * (rows @ rows.T), 0, 4))
    np.fill_diagonal(far, 0)
    return np.asarray(far)


def _widest(rows: Floats) -> float:
    """The distance at which a cut of the first block leaves the widest silhouette; the closest of equals."""
    if len(rows) < FEW:
        return FAR
    # Imported where it is used: a night without new tasks needs none of it, and it takes over a second.
    from sklearn.metrics import silhouette_score

    far = _distances(rows[:BLOCK])
    tree = linkage(squareform(far, checks=False), "average")
    best, widest = FAR, -1.0
    for cut in CUTS:
        labels = fcluster(tree, cut, "distance")
        if 1 < labels.max() < len(far):
            width = float(silhouette_score(far, labels, metric="precomputed"))
            best, widest = (cut, width) if width > widest else (best, widest)
    return best


class _Growing:
    """Clusters that take up rows. Row and cluster, or two clusters, are as far apart as their members on average."""

    def __init__(self, rows: Floats, cut: float) -> None:
        self._rows, self._cut = rows, cut
        self._alike = 1 - cut**2 / 2
        self._sums = np.zeros((0, rows.shape[1]))
        self._sizes = np.zeros(0)
        self._of_row: dict[int, int] = {}
        self._settled: list[str] = []

    def settle(self, clusters: Sequence[str]) -> None:
        """The first rows are in clusters already."""
        self._settled = list(dict.fromkeys(clusters))
        place = {cluster: index for index, cluster in enumerate(self._settled)}
        self._add(list(range(len(clusters))), [place[cluster] for cluster in clusters])

    def take(self, rows: Sequence[int]) -> None:
        """Let each row join the cluster it is nearest to, and group those that no cluster is near to."""
        alone = list(rows)
        if len(self._sizes):
            cosines = self._rows[alone] @ (self._sums / self._sizes[:, None]).T
            best = cosines.argmax(axis=1)
            near = cosines[np.arange(len(alone)), best] >= self._alike - 1e-9
            self._add([row for row, is_near in zip(alone, near, strict=True) if is_near], best[near].tolist())
            alone = [row for row, is_near in zip(alone, near, strict=True) if not is_near]
        if alone:
            self._add(alone, (self._grouped(self._rows[alone]) + len(self._sizes)).tolist())

    def absorbed(self, settled: bool) -> dict[int, int]:
        """Clusters that are near an older one, and that one. ``settled``: those that have an id stay as they are."""
        means = self._sums / self._sizes[:, None]
        gone: dict[int, int] = {}
        is_gone = np.zeros(len(means), dtype=bool)
        for young in range(len(self._settled) if settled else 1, len(means)):
            cosines = means[:young] @ means[young]
            cosines[is_gone[:young]] = -1
            if young and cosines.max() >= self._alike - 1e-9:
                gone[young] = int(cosines.argmax())
                is_gone[young] = True
        return gone

    def named(self, family: str, keys: Sequence[str]) -> dict[int, str]:
        """Row to cluster id; a new cluster is named after its founder."""
        gone = self.absorbed(settled=True)
        names = dict(enumerate(self._settled))
        found = {}
        for row, cluster in sorted(self._of_row.items()):
            cluster = gone.get(cluster, cluster)
            found[row] = names.setdefault(cluster, content_hash(["cluster", family, keys[row]], 16))
        return found

    def _grouped(self, rows: Floats) -> Ints:
        """Groups of some rows, numbered in the order of their first rows."""
        if len(rows) == 1:
            return np.zeros(1, dtype=np.int64)
        tree = linkage(squareform(_distances(rows), checks=False), "average")
        labels = fcluster(tree, self._cut + 1e-9, "distance")
        order = {label: index for index, label in enumerate(dict.fromkeys(labels.tolist()))}
        return np.array([order[label] for label in labels.tolist()], dtype=np.int64)

    def _add(self, rows: Sequence[int], clusters: Sequence[int]) -> None:
        more = max([len(self._sizes), *(cluster + 1 for cluster in clusters)]) - len(self._sizes)
        self._sums = np.vstack([self._sums, np.zeros((more, self._sums.shape[1]))])
        self._sizes = np.concatenate([self._sizes, np.zeros(more)])
        np.add.at(self._sums, list(clusters), self._rows[list(rows)])
        np.add.at(self._sizes, list(clusters), 1)
        self._of_row.update(zip(rows, clusters, strict=True))


def describe(texts: Mapping[str, Sequence[str]], tools: Mapping[str, Counter[str]]) -> list[ClusterDraft]:
    """Name clusters (id to member texts, id to calls made) by the terms and tools that set each apart."""
    names = _names(text for members in texts.values() for text in members)
    shares = {cluster: _shares(members, names) for cluster, members in texts.items()}
    everywhere = Counter(term for own in shares.values() for term, share in own.items() if share >= OCCURS)
    total: Counter[str] = Counter()
    for own in shares.values():
        total.update(own)
    drafts = []
    for cluster in sorted(texts):
        terms = _distinctive(shares[cluster], everywhere, total, len(texts))
        used = [name for name, _ in sorted(tools.get(cluster, Counter()).items(), key=lambda kv: (-kv[1], kv[0]))]
        label = ", ".join(terms or used[:TOOLS]) or cluster[:8]
        drafts.append(ClusterDraft(cluster, label, terms, used[:TOOLS]))
    return drafts


def terms_of(text: str) -> set[str]:
    """Terms of a text: words that are no ids; of a run of letters longer than a word (no spaces), its bigrams."""
    terms: set[str] = set()
    for word in _words(text):
        if _is_unspaced(word):
            terms.update(word[i : i + 2] for i in range(len(word) - 1))
        elif len(word) > 2:
            terms.add(word.casefold())
    return terms


def _words(text: str) -> list[str]:
    """The words of a text as they are written; parts of an address, and of what holds a digit, are of one case."""
    written = ADDRESS.sub(" ", unicodedata.normalize("NFKC", text))
    whole = (word for word in re.findall(r"\w+", written) if _is_unspaced(word) or not _DIGIT.search(word))
    return [part for word in whole for part in re.findall(r"[^\W\d_]+", word)]


def _is_unspaced(word: str) -> bool:
    return _UNSPACED.search(word) is not None


def _names(texts: Iterable[str]) -> set[str]:
    """Words only ever written with a capital inside sentences. None in a script, or a language, that tells no names.

    Where a good part of all words inside sentences has a capital (German nouns, titles) it marks no names.
    """
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for text in texts:
        for found in _INSIDE.finditer(text):
            word = found.group()
            (capital if word[0].isupper() and word[1:].islower() else small)[word.casefold()] += 1
    if capital.total() > NAMES_SHARE * (capital.total() + small.total()):
        return set()
    return set(capital) - set(small)


def _shares(members: Sequence[str], names: set[str]) -> dict[str, float]:
    """Term to the share of the members that have it; a term of a single member of many says little of the cluster."""
    counts = Counter(term for text in members for term in terms_of(text) - names)
    floor = 1 if len(members) < 4 else 2
    return {term: n / len(members) for term, n in counts.items() if n >= floor}


def _distinctive(own: Mapping[str, float], everywhere: Counter[str], total: Mapping[str, float], n: int) -> list[str]:
    """Common inside, rare outside: the share inside over the usual share. What most clusters have weighs nothing.

    Words that only join others are short in any language with spaces (Zipf 1935), so a longer word weighs more.
    """
    scored = {}
    for term, share in own.items():
        usual = (total[term] - share) / max(1, n - 1)
        if n == 1 or everywhere[term] * 2 <= n:
            scored[term] = share * (1 - usual) * (1 if _is_unspaced(term) else 1 - 2 / len(term))
    best = max(scored.values(), default=0.0)
    telling = (term for term, score in scored.items() if score >= LEAST * best)
    return sorted(telling, key=lambda term: (-round(scored[term], 9), term))[:TERMS]
