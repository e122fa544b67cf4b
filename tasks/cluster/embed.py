"""Embedders behind one protocol, and what keeps the vectors of two of them apart.

Lexical vectors need nothing; an embedder is an option. Vectors are cached by keyed text hash and model name. A model
whose vectors change their length under the same name is refused: cosines between the two would mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors. ``model`` names the source and the model: other vectors need another name."""

    @property
    def model(self) -> str:
        """Such as ``openai/text-embedding-3-small``."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order.

        Raises:
            EmbedderUnavailable: it cannot answer now, or is not installed.
        """
        ...


class EmbedderUnavailable(Exception):
    """The embedder cannot be used: what happened, to which one, what to do."""


class EmbedderMisfit(Exception):
    """Vectors that cannot stand beside those that are kept."""


def embedded(embedder: Embedder, texts: Sequence[str], dimensions: int | None = None) -> Vectors:
    """Vectors of texts, shape (texts, dimensions), checked.

    Args:
        dimensions: how long the vectors of this model are; None if none was kept yet.

    Raises:
        EmbedderMisfit: a row too few or too many, another length than was kept, or a number that is none.
        EmbedderUnavailable: as ``Embedder.embed``.
    """
    rows = np.asarray(embedder.embed(texts), dtype=np.float32)
    if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1]:
        raise EmbedderMisfit(f"{embedder.model} gave an array of shape {rows.shape} for {len(texts)} texts")
    if dimensions is not None and rows.shape[1] != dimensions:
        raise EmbedderMisfit(
            f"{embedder.model} gives {rows.shape[1]} numbers a text, and {dimensions} a text are kept under that name. "
            f"Name the model it really is, or drop the kept vectors"
        )
    if not np.isfinite(rows).all():
        raise EmbedderMisfit(f"{embedder.model} gave numbers that are not finite")
    return rows


def packed(vector: Vectors) -> bytes:
    """A vector as little-endian float32."""
    return vector.astype("<f4").tobytes()


def unpacked(body: bytes, dimensions: int) -> Vectors:
    """A vector from its bytes.

    Raises:
        EmbedderMisfit: the bytes do not hold so many numbers.
    """
    if len(body) != 4 * dimensions:
        raise EmbedderMisfit(f"a kept vector holds {len(body)} bytes, and {dimensions} numbers need {4 * dimensions}")
    return np.frombuffer(body, dtype="<f4").astype(np.float32)


def missing(texts: Sequence[str], cached: Mapping[str, Vectors]) -> list[str]:
    """Texts without a vector, each once, in order."""
    return [text for text in dict.fromkeys(texts) if text not in cached]
