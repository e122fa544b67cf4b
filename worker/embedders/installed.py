"""Embedders that run in this process, each with an extra of its own; imported when first asked."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tasks.cluster.embed import EmbedderUnavailable, Vectors

BATCH = 32
LONGEST = 256
"""Tokens of a text that an ONNX model is given."""


def _imported(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as absent:
        raise EmbedderUnavailable(
            f"this embedder needs the package {module}, which is not installed: pip install 'slowwave[{extra}]'"
        ) from absent


class FastEmbed:
    """A model of the fastembed package."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loaded: Any = None

    @property
    def model(self) -> str:
        """The name its vectors are kept under."""
        return f"fastembed/{self._name}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text.

        Raises:
            EmbedderUnavailable: not installed, or the model cannot be had.
        """
        if self._loaded is None:
            package = _imported("fastembed", "embed-fastembed")
            self._loaded = _loaded(self.model, lambda: package.TextEmbedding(self._name))
        return np.array(list(self._loaded.embed(list(texts))), dtype=np.float32)


class SentenceTransformers:
    """A model of the sentence-transformers package, by name or folder."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loaded: Any = None

    @property
    def model(self) -> str:
        """The name its vectors are kept under."""
        return f"sentence-transformers/{Path(self._name).name}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text.

        Raises:
            EmbedderUnavailable: not installed, or the model cannot be had.
        """
        if self._loaded is None:
            package = _imported("sentence_transformers", "embed-sentence-transformers")
            self._loaded = _loaded(self.model, lambda: package.SentenceTransformer(self._name))
        return np.asarray(self._loaded.encode(list(texts), batch_size=BATCH), dtype=np.float32)


class OnnxFolder:
    """A folder with ``tokenizer.json`` and one ``*.onnx``; token vectors are averaged where the model does not."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._session: Any = None
        self._tokenizer: Any = None

    @property
    def model(self) -> str:
        """The name its vectors are kept under."""
        return f"onnx/{self._folder.name}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text.

        Raises:
            EmbedderUnavailable: not installed, or the folder lacks a file.
        """
        if self._session is None:
            self._open()
        rows = [self._embedded(list(texts[start : start + BATCH])) for start in range(0, len(texts), BATCH)]
        return np.concatenate(rows).astype(np.float32) if rows else np.zeros((0, 0), dtype=np.float32)

    def _open(self) -> None:
        runtime = _imported("onnxruntime", "embed-onnx")
        tokenizers = _imported("tokenizers", "embed-onnx")
        models, words = sorted(self._folder.glob("*.onnx")), self._folder / "tokenizer.json"
        if len(models) != 1 or not words.is_file():
            raise EmbedderUnavailable(f"{self._folder} must hold one .onnx file and tokenizer.json")
        self._tokenizer = _loaded(self.model, lambda: tokenizers.Tokenizer.from_file(str(words)))
        self._tokenizer.enable_truncation(LONGEST)
        self._tokenizer.enable_padding()
        self._session = _loaded(self.model, lambda: runtime.InferenceSession(str(models[0])))

    def _embedded(self, texts: list[str]) -> Vectors:
        encoded = self._tokenizer.encode_batch(texts)
        mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)
        offered = {
            "input_ids": np.array([one.ids for one in encoded], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([one.type_ids for one in encoded], dtype=np.int64),
        }
        wanted = {one.name for one in self._session.get_inputs()}
        given = self._session.run(None, {name: value for name, value in offered.items() if name in wanted})[0]
        if given.ndim == 2:
            return np.asarray(given, dtype=np.float32)
        counted = mask[:, :, None]
        return np.asarray((given * counted).sum(axis=1) / np.maximum(counted.sum(axis=1), 1), dtype=np.float32)


def _loaded(model: str, load: Any) -> Any:
    try:
        return load()
    except Exception as fault:  # whatever these packages raise: no file, no network, a bad model
        raise EmbedderUnavailable(f"{model} could not be loaded: {type(fault).__name__}: {fault}") from fault
