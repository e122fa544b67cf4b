"""Vectors of task texts: from the cache where they are kept, else from the embedder, and then kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from storage import ledger, vectors
from storage.engine import Database
from storage.ids import keyed_hash
from storage.ledger import Claim
from tasks.cluster.embed import Embedder, embedded, missing, packed, unpacked
from tasks.cluster.text import normalised
from tasks.context import StepContext

BATCH = 64
"""Texts asked for at a time; what was answered is kept before the next are asked for."""


def text_hash(secret: bytes, namespace: str, text: str) -> str:
    """How a text is named in the cache: keyed, so that the name tells nothing of a text that was erased."""
    return keyed_hash(secret, "text-vector", namespace, normalised(text), length=32)


def vectors_of(
    database: Database, claim: Claim, context: StepContext, embedder: Embedder, texts: Sequence[str]
) -> dict[str, npt.NDArray[np.float64]]:
    """The vector of each text, all from one model.

    Vectors of other models stay in the cache, under their own names, and are never read beside these.

    Raises:
        EmbedderMisfit: the model gives another length of vector than is kept under its name.
        EmbedderUnavailable: it cannot answer now.
    """
    named = {text: text_hash(context.secret, claim.namespace, text) for text in dict.fromkeys(texts)}
    with database.read() as session:
        dimensions = vectors.dimensions_of(session, claim.namespace, embedder.model)
        kept = vectors.vectors_by_hash(session, claim.namespace, embedder.model, list(named.values()))
    found = {
        text: unpacked(kept[name], dimensions)
        for text, name in named.items()
        if name in kept and dimensions is not None
    }
    wanted = missing(texts, found)
    for start in range(0, len(wanted), BATCH):
        asked = wanted[start : start + BATCH]
        rows = embedded(embedder, asked, dimensions)
        dimensions = rows.shape[1]
        found.update(zip(asked, rows, strict=True))
        fresh = [(named[text], packed(row)) for text, row in zip(asked, rows, strict=True)]
        with database.write() as session:
            ledger.guard(session, claim)
            vectors.put_vectors(session, claim.namespace, embedder.model, dimensions, fresh)
    return {text: row.astype(np.float64) for text, row in found.items()}
