"""Independent groups: which records are one piece of evidence.

One session, a chain of explicit retries, and near-duplicate records are one group. Near-duplicates share word
3-shingles (Jaccard 0.9), found by MinHash with one permutation (Li, Owen and Zhang 2012) and banding. Repeated trials
of one task are not near-duplicates: two records of one task that name different sessions, and do not claim to have
begun at the same moment, are two trials however alike they went.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from storage.ids import content_hash
from tasks.ingest.episode import Episode

Sketch = npt.NDArray[np.uint64]

SLOTS, BAND = 128, 8
NEAR = 0.9
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
FEW = 20
"""Shingles below which a text is too short for its likeness to mean anything but when it is equal."""


@dataclass(frozen=True)
class Record:
    """What independence is judged by. ``names`` are the ids others may name it by in ``retry_of``."""

    episode_id: str
    task: str
    session: str | None
    started_at: datetime | None
    retry_of: str | None
    names: tuple[str, ...]
    sketch: Sketch


def group_ids(records: Sequence[Record]) -> dict[str, str]:
    """The group of every record, given in the order of arrival. A group is named after its first member."""
    parent = list(range(len(records)))
    for one, two in _links(records):
        _join(parent, one, two)
    return {
        record.episode_id: "g" + content_hash(records[_root(parent, index)].episode_id, 15)
        for index, record in enumerate(records)
    }


def trace_text(episode: Episode) -> str:
    """Everything that was said and done in a run but the system's text, which all runs share."""
    said = []
    for step in episode.steps:
        if step.kind != "system":
            arguments = " ".join(f"{key} {value}" for key, value in (step.arguments or {}).items())
            said.append(f"{step.kind} {step.name or ''} {arguments} {step.raw_arguments or ''} {step.text}")
    return "\n".join(said)


def sketch(text: str) -> Sketch:
    """MinHash of the word 3-shingles, ``SLOTS`` numbers; scripts without spaces are cut into their letters."""
    words = re.findall(r"[\u2e80-\u9fff\uac00-\ud7af]|[^\W\u2e80-\u9fff\uac00-\ud7af]+", text.casefold())
    if len(words) < FEW:
        return np.full(SLOTS, np.uint64(zlib.crc32(" ".join(words).encode("utf-8", "surrogatepass"))))
    hashed = np.fromiter((zlib.crc32(w.encode("utf-8", "surrogatepass")) for w in words), np.uint64, len(words))
    shingles = hashed[:-2] * np.uint64(0x9E3779B97F4A7C15)
    shingles = _mixed(_mixed(shingles + hashed[1:-1]) + hashed[2:])
    slots = np.full(SLOTS, EMPTY)
    np.minimum.at(slots, (shingles % np.uint64(SLOTS)).astype(np.intp), shingles)
    return slots


def _mixed(values: Sketch) -> Sketch:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014); wraps around by design."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def likeness(one: Sketch, two: Sketch) -> float:
    """Estimated Jaccard of two sketches."""
    filled = (one != EMPTY) | (two != EMPTY)
    return float(((one == two) & filled).sum() / max(1, filled.sum()))


def _links(records: Sequence[Record]) -> Iterable[tuple[int, int]]:
    sessions: dict[str, int] = {}
    by_name: dict[str, int] = {}
    for index, record in enumerate(records):
        if record.session is not None:
            yield sessions.setdefault(record.session, index), index
        for name in record.names:
            by_name.setdefault(name, index)
    for index, record in enumerate(records):
        if record.retry_of is not None and record.retry_of in by_name:
            yield by_name[record.retry_of], index
    yield from _near_duplicates(records)


def _near_duplicates(records: Sequence[Record]) -> Iterable[tuple[int, int]]:
    buckets: dict[tuple[int, bytes], list[int]] = {}
    for index, record in enumerate(records):
        met: set[int] = set()
        for band in range(0, SLOTS, BAND):
            bucket = buckets.setdefault((band, record.sketch[band : band + BAND].tobytes()), [])
            met.update(bucket[:50])
            bucket.append(index)
        for other in sorted(met):
            if not _are_trials(records[other], record) and likeness(records[other].sketch, record.sketch) >= NEAR:
                yield other, index


def _are_trials(one: Record, two: Record) -> bool:
    if one.task != two.task or one.session is None or two.session is None or one.session == two.session:
        return False
    return one.started_at is None or one.started_at != two.started_at


def _root(parent: list[int], index: int) -> int:
    while parent[index] != index:
        parent[index] = parent[parent[index]]
        index = parent[index]
    return index


def _join(parent: list[int], one: int, two: int) -> None:
    """The earlier record stays the root, so that a group keeps its name as it grows."""
    left, right = _root(parent, one), _root(parent, two)
    parent[max(left, right)] = min(left, right)


def capped(groups: Sequence[str], principals: Sequence[str | None], salt: str) -> set[str]:
    """Groups that count when no principal may bring more than a third of them.

    ``principals`` holds who brought each group, None for those that are not capped. The most prolific principal is
    cut first, down to half of what all the others bring; which of its groups stay is drawn by a salted hash.
    """
    kept: dict[str | None, list[str]] = {}
    for group, principal in zip(groups, principals, strict=True):
        kept.setdefault(principal, []).append(group)
    changed = True
    while changed:
        changed = False
        for principal in sorted((p for p in kept if p is not None), key=lambda p: (-len(kept[p]), p)):
            others = sum(len(mine) for who, mine in kept.items() if who != principal)
            if len(kept[principal]) > others // 2:
                kept[principal] = sorted(kept[principal], key=lambda group: content_hash([salt, group]))[: others // 2]
                changed = True
    return {group for mine in kept.values() for group in mine}
