"""The embedder of this process, as the settings name it. Nothing is imported or opened before it is asked."""

from __future__ import annotations

from storage.settings import Settings
from tasks.cluster.embed import Embedder
from worker.embedders.endpoint import Endpoint
from worker.embedders.installed import FastEmbed, OnnxFolder, SentenceTransformers


def embedder_of(settings: Settings) -> Embedder | None:
    """The embedder to make vectors with; None for the lexical default."""
    name = settings.embedder_model or ""
    match settings.embedder:
        case "openai":
            key = settings.embedder_key.get_secret_value() if settings.embedder_key else ""
            return Endpoint(settings.embedder_url or "", name, key, settings.embedder_timeout_seconds)
        case "fastembed":
            return FastEmbed(name)
        case "sentence-transformers":
            return SentenceTransformers(name)
        case "onnx":
            return OnnxFolder(name)
        case "lexical":
            return None
