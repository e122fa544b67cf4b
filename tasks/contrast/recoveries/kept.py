"""What a night keeps of an episode's retries, so that no later night reads the episode again. Bytes, versioned."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from tasks.cluster.independence import Sketch
from tasks.cluster.kin import VersionKey
from tasks.contrast.recoveries.attempts import Chain, Done, Retry


class KeptUnreadable(ValueError):
    """What was kept is damaged: read the sessions anew."""


@dataclass(frozen=True)
class Kept:
    """One episode. ``sketch`` is for finding near-duplicates of it; ``read`` are the rules whose text was found in it.

    One that retried nothing has no chains, and is kept so that it is not read again.
    """

    episode_id: str
    sketch: Sketch
    chains: tuple[Chain, ...]
    read: tuple[VersionKey, ...] = ()


class _Texts:
    """Every text once, by its place."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}

    def place(self, text: str | None) -> int:
        return -1 if text is None else self.index.setdefault(text, len(self.index))


def pack(kept: Sequence[Kept]) -> bytes:
    """Episodes as bytes: every text once, then rows that point to them."""
    texts = _Texts()
    rows = [
        [
            texts.place(one.episode_id),
            one.sketch.astype("<u2").tobytes().hex() if one.chains else "",
            [_packed(chain, texts) for chain in one.chains],
            [list(key) for key in one.read],
        ]
        for one in kept
    ]
    # A lone surrogate of a hostile record cannot be written: it is of no use in a signature either.
    listed = [text.encode("utf-8", "replace").decode() for text in texts.index]
    return zlib.compress(orjson.dumps([listed, rows]), 6)


def _packed(chain: Chain, texts: _Texts) -> list[Any]:
    place = texts.place
    retries = [
        [retry.worked, place(retry.step), [[place(act.key), place(act.fine), place(act.step)] for act in retry.acts]]
        for retry in chain.retries
    ]
    return [place(chain.command), place(chain.broad), place(chain.narrow), place(chain.step), retries]


def unpack(data: bytes) -> list[Kept]:
    """What ``pack`` was given.

    Raises:
        KeptUnreadable: if it is not what ``pack`` makes.
    """
    try:
        texts, rows = orjson.loads(zlib.decompress(data))
        return _unpacked(texts, rows)
    except (zlib.error, orjson.JSONDecodeError, ValueError, TypeError, LookupError) as problem:
        raise KeptUnreadable(f"kept retries of {len(data)} bytes cannot be read: {problem}") from problem


def _unpacked(texts: Sequence[str], rows: Sequence[Any]) -> list[Kept]:
    return [
        Kept(
            texts[episode], np.frombuffer(bytes.fromhex(sketch), "<u2").astype(np.uint16),
            tuple(_chain(texts, chain) for chain in chains), tuple((rule, number) for rule, number in read),
        )
        for episode, sketch, chains, read in rows
    ]  # fmt: skip


def _chain(texts: Sequence[str], row: Sequence[Any]) -> Chain:
    command, broad, narrow, step, retries = row
    return Chain(texts[command], texts[broad], texts[narrow], texts[step], tuple(_retry(texts, r) for r in retries))


def _retry(texts: Sequence[str], row: Sequence[Any]) -> Retry:
    worked, step, acts = row
    done = tuple(Done(texts[key], None if fine < 0 else texts[fine], texts[at]) for key, fine, at in acts)
    return Retry(bool(worked), texts[step], done)
