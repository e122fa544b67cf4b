"""Task texts as vectors: TF-IDF of character n-grams, reduced by SVD. Deterministic, and the same for any script."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tasks.cluster.text import normalised, parted

BUCKETS = 2**15
DIMENSIONS = 64
LONGEST = 4000
"""Characters of a text that count; a task says what it is about early."""


class TextSpace:
    """Unit vectors of some texts, one row each, in one space: cosines between rows are comparable.

    N-grams that every text has (boilerplate) weigh next to nothing in it.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        # Imported where it is used: a night without new tasks needs none of it, and it takes over a second.
        from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

        counts = HashingVectorizer(
            analyzer="char", ngram_range=(2, 4), n_features=BUCKETS, alternate_sign=False, norm=None, dtype=np.float32
        ).transform([parted(normalised(text)[:LONGEST]) or " " for text in texts])
        weighing = TfidfTransformer(sublinear_tf=True).fit(counts)
        weighed = weighing.transform(counts, copy=False)
        self.rows: npt.NDArray[np.float64] = _reduced(weighed)

    def follow_leaders(self, given: int, alike: float) -> list[int]:
        """For each row after the first ``given``, which are leaders: the row that leads it.

        A row joins the leader it is most like, if the cosine is at least ``alike``; else it becomes a leader itself.
        """
        leaders = list(range(given))
        led: list[int] = []
        stack = np.zeros((max(len(self.rows), 1), self.rows.shape[1]))
        stack[:given] = self.rows[:given]
        for row in range(given, len(self.rows)):
            cosines = stack[: len(leaders)] @ self.rows[row]
            best = int(cosines.argmax()) if len(leaders) else -1
            if best < 0 or cosines[best] < alike:
                stack[len(leaders)] = self.rows[row]
                leaders.append(row)
                best = len(leaders) - 1
            led.append(leaders[best])
        return led


def _reduced(weighed: sparse.csr_matrix) -> npt.NDArray[np.float64]:
    size = min(DIMENSIONS, min(weighed.shape) - 1)
    if weighed.shape[0] <= 2 * DIMENSIONS or size < 2:
        # So few texts that the reduced space would be the texts themselves.
        dense = np.asarray(weighed @ weighed.T.toarray()) if weighed.shape[0] > 1 else np.ones((1, 1))
        return _half_kernel(dense)
    from sklearn.decomposition import TruncatedSVD

    dense = TruncatedSVD(size, random_state=0, algorithm="randomized").fit_transform(weighed)
    dense = dense.astype(np.float64)
    return np.asarray(dense / np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-12))


def _half_kernel(cosines: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Rows whose inner products are the given cosines."""
    values, vectors = np.linalg.eigh(cosines)
    rows: npt.NDArray[np.float64] = vectors * np.sqrt(np.maximum(values, 0.0))
    return rows
