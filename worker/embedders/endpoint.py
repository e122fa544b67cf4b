"""Embeddings from an OpenAI-compatible endpoint: ``POST {url}/embeddings``."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import numpy as np

from tasks.cluster.embed import EmbedderUnavailable, Vectors

BATCH = 64
TRIES = 4
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 20.0
PASSING = {408, 409, 425, 429, 500, 502, 503, 504}
LONGEST = 8000
"""Characters of a text that are sent; models cut far earlier."""


class Endpoint:
    """An endpoint and one of its models. Faults that may pass are tried again, as late as the endpoint wishes."""

    def __init__(
        self, url: str, name: str, key: str, timeout_seconds: float, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._url = url.rstrip("/") + "/embeddings"
        self._name, self._key, self._timeout, self._sleep = name, key, timeout_seconds, sleep

    @property
    def model(self) -> str:
        """The name its vectors are kept under."""
        return f"openai/{self._name}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text.

        Raises:
            EmbedderUnavailable: it refused, stayed away for all tries, or answered what is not understood.
        """
        rows: list[list[float]] = []
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        with httpx.Client(timeout=self._timeout, headers=headers) as client:
            for start in range(0, len(texts), BATCH):
                rows += self._asked(client, [text[:LONGEST] or " " for text in texts[start : start + BATCH]])
        try:
            return np.array(rows, dtype=np.float32)
        except ValueError as ragged:
            raise EmbedderUnavailable(f"{self.model} answered with vectors of different lengths") from ragged

    def _asked(self, client: httpx.Client, texts: list[str]) -> list[list[float]]:
        asked = {"model": self._name, "input": texts, "encoding_format": "float"}
        why = ""
        why_after: float | None = None
        for attempt in range(TRIES):
            if attempt:
                self._sleep(self._pause(attempt, why_after))
            why_after = None
            try:
                reply = client.post(self._url, json=asked)
            except httpx.TransportError as fault:
                why = type(fault).__name__
                continue
            if reply.status_code == httpx.codes.OK:
                return self._read(reply, len(texts))
            why, why_after = f"HTTP {reply.status_code}", _after(reply)
            if reply.status_code not in PASSING:
                raise EmbedderUnavailable(
                    f"{self._url} refused {self._name} with {why}: look at SLOWWAVE_EMBEDDER_URL, _MODEL and _KEY"
                )
        raise EmbedderUnavailable(f"{self._url} did not answer in {TRIES} tries, last with {why}: is it running?")

    def _read(self, reply: httpx.Response, wanted: int) -> list[list[float]]:
        try:
            data: list[dict[str, Any]] = sorted(reply.json()["data"], key=lambda one: int(one["index"]))
            rows = [[float(number) for number in one["embedding"]] for one in data]
            places = [int(one["index"]) for one in data]
        except (ValueError, KeyError, TypeError) as unreadable:
            raise EmbedderUnavailable(f"{self._url} answered what is not a list of embeddings") from unreadable
        if places != list(range(wanted)):
            raise EmbedderUnavailable(f"{self._url} answered {len(rows)} embeddings for {wanted} texts")
        return rows

    @staticmethod
    def _pause(attempt: int, after: float | None) -> float:
        grown = FIRST_PAUSE * 2 ** (attempt - 1) * (1 + random.random())  # noqa: S311 - spreads retries, no secret
        return min(LONGEST_PAUSE, max(grown, after or 0.0))


def _after(reply: httpx.Response) -> float | None:
    try:
        return max(0.0, float(reply.headers["retry-after"]))
    except (KeyError, ValueError):
        return None
