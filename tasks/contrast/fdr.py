"""False discovery rate: which of many tests to look at."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def q_values(p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Benjamini-Hochberg adjusted p (Benjamini and Hochberg 1995), in the order given."""
    n = len(p)
    if n == 0:
        return p.copy()
    order = np.argsort(p, kind="stable")
    scaled = p[order] * n / np.arange(1, n + 1)
    adjusted = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    q = np.empty(n)
    q[order] = adjusted
    return q
