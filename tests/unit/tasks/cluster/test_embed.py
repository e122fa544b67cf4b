"""Vectors of two models, or of two lengths, never stand beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from tasks.cluster.embed import EmbedderMisfit, embedded, missing, packed, unpacked


@dataclass(frozen=True)
class Rows:
    """An embedder that gives these rows."""

    rows: object
    model: str = "test/one"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.asarray(self.rows)


def test_rows_come_back_as_they_are() -> None:
    assert embedded(Rows([[1, 2], [3, 4]]), ["a", "b"], 2).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("rows", "texts", "says"),
    [([[1, 2]], ["a", "b"], "for 2 texts"), ([[1, 2, 3]], ["a"], "2 a text are kept"),
     ([[1, float("nan")]], ["a"], "finite"), ([1, 2], ["a", "b"], "shape")],
)  # fmt: skip
def test_what_does_not_fit_is_refused(rows: object, texts: list[str], says: str) -> None:
    with pytest.raises(EmbedderMisfit, match=says):
        embedded(Rows(rows), texts, 2)


def test_a_vector_survives_being_kept() -> None:
    vector = np.array([0.5, -2, 1e-7], dtype=np.float32)
    assert unpacked(packed(vector), 3).tolist() == vector.tolist()
    with pytest.raises(EmbedderMisfit, match="12 bytes"):
        unpacked(packed(vector), 4)


def test_each_missing_text_is_asked_for_once() -> None:
    assert missing(["a", "b", "a", "c"], {"b": np.zeros(1, dtype=np.float32)}) == ["a", "c"]
