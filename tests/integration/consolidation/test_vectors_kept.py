"""Vectors are made once for a text and a model, and those of two models never meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from storage import vectors
from storage.engine import Database
from storage.ledger import Claim
from tasks import pipeline
from tasks.cluster.embed import EmbedderMisfit
from tasks.cluster.embed_step import text_hash, vectors_of
from tasks.context import StepContext
from tasks.pipeline import Worker


@dataclass
class Counting:
    """An embedder of so many numbers a text that remembers what it was asked."""

    model: str = "test/one"
    dimensions: int = 3
    asked: list[str] = field(default_factory=list)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return np.array([[len(text), *range(1, self.dimensions)] for text in texts], dtype=np.float32)


@pytest.fixture
def claim(
    database: Database, worker: Worker, bring: Callable[..., Any], desk: Callable[..., list[dict[str, Any]]]
) -> Claim:
    bring(desk(1, tasks=1, runs=1))
    now = worker.clock()
    run = pipeline.open_run(database, "lab", now.date().isoformat(), "test", now)
    claimed = pipeline.claim(database, worker, run_id=run.id)
    assert claimed is not None
    return claimed


@pytest.fixture
def context(worker: Worker) -> StepContext:
    return StepContext(worker.clock(), "test", worker.secret)


def test_a_text_is_embedded_once(database: Database, claim: Claim, context: StepContext) -> None:
    embedder = Counting()
    first = vectors_of(database, claim, context, embedder, ["a", "bb", "a"])
    again = vectors_of(database, claim, context, embedder, ["bb", "ccc"])
    assert embedder.asked == ["a", "bb", "ccc"]
    assert again["bb"].tolist() == first["bb"].tolist() == [2, 1, 2]


def test_another_model_embeds_anew_and_keeps_the_first_ones_vectors(
    database: Database, claim: Claim, context: StepContext
) -> None:
    one, two = Counting(), Counting("test/two", 5)
    vectors_of(database, claim, context, one, ["a"])
    assert len(vectors_of(database, claim, context, two, ["a"])["a"]) == 5
    assert len(vectors_of(database, claim, context, one, ["a"])["a"]) == 3
    assert (one.asked, two.asked) == (["a"], ["a"])


def test_another_length_under_the_same_name_is_refused_and_keeps_nothing(
    database: Database, claim: Claim, context: StepContext
) -> None:
    vectors_of(database, claim, context, Counting(), ["a"])
    with pytest.raises(EmbedderMisfit, match="4 numbers a text, and 3"):
        vectors_of(database, claim, context, Counting(dimensions=4), ["b"])
    with database.read() as session:
        name = text_hash(context.secret, "lab", "b")
        assert vectors.vectors_by_hash(session, "lab", "test/one", [name]) == {}


def test_vectors_of_an_erased_text_go_with_it(database: Database, claim: Claim, context: StepContext) -> None:
    vectors_of(database, claim, context, Counting(), ["a", "b"])
    with database.write() as session:
        assert vectors.forget_vectors(session, "lab", [text_hash(context.secret, "lab", "a")]) == 1
        assert vectors.forget_model(session, "lab", "test/one") == 1
        assert vectors.dimensions_of(session, "lab", "test/one") is None
