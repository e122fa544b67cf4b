"""Independent groups: which records are one piece of evidence.

One session, a chain of explicit retries, and near-duplicate records are one group. Near-duplicates share word
3-shingles (Jaccard 0.9), found by MinHash with one permutation (Li, Owen and Zhang 2012) and banding; each is like the
first of them, not one like the next, so that likeness does not run on along a chain.

What an agent's token says of others' records can only subtract: a record of its own that names another's session or
run, or repeats it, counts as that one again. It never makes two records of others one.

Repeated trials of one task are not near-duplicates: two records of one task that name different sessions, and do not
claim to have begun at the same moment, are two trials however alike they went.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from storage.ids import content_hash
from tasks.ingest.episode import Episode

Sketch = npt.NDArray[np.uint16]

SLOTS, BAND = 128, 8
NEAR = 0.93
"""Estimated Jaccard. The estimate errs by 0.03, and each record is compared with many: at 0.9 what shares a long common
text would pass by chance."""
FEW = 20
"""Shingles below which a text is too short for its likeness to mean anything but when it is equal."""

BUCKET = 50
"""A record is compared with so many of those that share a band with it, the first ones."""

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
NOTHING = np.uint16(0xFFFF)
"""An empty slot, once 16 bits are left of it."""
PAIRS = 1 << 19
"""Pairs compared at a time."""


@dataclass(frozen=True)
class Record:
    """What independence is judged by. ``names`` are the ids others may name it by in ``retry_of``.

    ``group`` is the group it was put in before, None for a record that is new: known records are compared with new
    ones only.
    """

    episode_id: str
    task: str
    session: str | None
    started_at: datetime | None
    retry_of: str | None
    names: tuple[str, ...]
    sketch: Sketch
    group: str | None = None
    owner: str | None = None


def group_ids(records: Sequence[Record]) -> dict[str, str]:
    """The group of every record, given in the order of arrival. A group is named after its first member.

    What is grouped already stays together under its name, and costs next to nothing.
    """
    parent = list(range(len(records)))
    by_group: dict[str, int] = {}
    for index, record in enumerate(records):
        if record.group is not None:
            parent[index] = by_group.setdefault(record.group, index)
    alike = list(_near_duplicates(records))
    echo_of = _echoes(records, parent, alike)
    for one, two in _own_links(records, alike, echo_of):
        _join(parent, one, two)
    for index, target in echo_of.items():
        if records[index].group is None:
            parent[index] = _root(parent, target)
    names: dict[int, str] = {}
    found = {}
    for index, record in enumerate(records):
        root = _root(parent, index)
        name = names.get(root)
        if name is None:
            first = records[root]
            name = names[root] = first.group or "g" + content_hash(first.episode_id, 15)
        found[record.episode_id] = name
    return found


def trace_text(episode: Episode) -> str:
    """Everything that was said and done in a run but the system's text, which all runs share."""
    said = []
    for step in episode.steps:
        if step.kind != "system":
            arguments = " ".join(f"{key} {value}" for key, value in (step.arguments or {}).items())
            said.append(f"{step.kind} {step.name or ''} {arguments} {step.raw_arguments or ''} {step.text}")
    return "\n".join(said)


def sketch(text: str) -> Sketch:
    """MinHash of the word 3-shingles, ``SLOTS`` numbers of 16 bits; scripts without spaces are cut into their letters.

    So few bits are enough: two numbers that are not the same agree once in 65,536 (Li and König 2010).
    """
    words = re.findall(r"[\u2e80-\u9fff\uac00-\ud7af]|[^\W\u2e80-\u9fff\uac00-\ud7af]+", text.casefold())
    if len(words) < FEW:
        whole = np.uint64(_word_hash(" ".join(words)))
        return _low(_mixed(np.arange(1, SLOTS + 1, dtype=np.uint64) * GOLDEN + whole))
    hashed = np.fromiter(map(_word_hash, words), np.uint64, len(words))
    shingles = hashed[:-2] * GOLDEN
    shingles = _mixed(_mixed(shingles + hashed[1:-1]) + hashed[2:])
    slots = np.full(SLOTS, EMPTY)
    np.minimum.at(slots, (shingles % np.uint64(SLOTS)).astype(np.intp), shingles)
    return _low(slots)


@lru_cache(maxsize=1 << 16)
def _word_hash(word: str) -> int:
    """The words of runs repeat: hashed once, most are only looked up."""
    return zlib.crc32(word.encode("utf-8", "surrogatepass"))


def _low(slots: npt.NDArray[np.uint64]) -> Sketch:
    """The upper 16 bits of each; an empty slot stays all ones."""
    return (slots >> np.uint64(48)).astype(np.uint16)


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014); wraps around by design."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def likeness(one: Sketch, two: Sketch) -> float:
    """Estimated Jaccard of two sketches."""
    return float(_likeness(one[None, :], two[None, :])[0])


def _likeness(left: Sketch, right: Sketch) -> npt.NDArray[np.float64]:
    """Of each pair of rows."""
    filled = (left != NOTHING) | (right != NOTHING)
    same: npt.NDArray[np.float64] = ((left == right) & filled).sum(1) / np.maximum(1, filled.sum(1))
    return same


def _echoes(records: Sequence[Record], parent: Sequence[int], alike: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Records of a capped principal that are another's over again, and of which record."""
    if all(record.owner is None for record in records):
        return {}
    found = {
        index: parent[index]
        for index, record in enumerate(records)
        if record.owner is not None and record.group is not None and records[parent[index]].owner != record.owner
    }
    sessions: dict[str, int] = {}
    for index in sorted(range(len(records)), key=lambda index: (records[index].owner is not None, index)):
        session = records[index].session
        if session is not None:
            _note_echo(records, found, sessions.setdefault(session, index), index)
    for one, two in (*_retries(records), *alike):
        _note_echo(records, found, one, two)
    return found


def _note_echo(records: Sequence[Record], found: dict[int, int], one: int, two: int) -> None:
    """Of two linked records of different owners, the capped one is the echo; of two capped ones the later."""
    if records[one].owner == records[two].owner:
        return
    echo, other = (one, two) if records[two].owner is None else (two, one)
    if records[echo].group is None and found.get(other) != echo:
        found.setdefault(echo, other)


def _own_links(
    records: Sequence[Record], alike: Sequence[tuple[int, int]], echo_of: Mapping[int, int]
) -> Iterable[tuple[int, int]]:
    """Pairs of one owner that are one piece of evidence; of records grouped already only those with a new one."""
    by_session: dict[tuple[str | None, str], int] = {}
    for index, record in enumerate(records):
        if record.session is not None and index not in echo_of:
            first = by_session.setdefault((record.owner, record.session), index)
            if record.group is None or records[first].group is None:
                yield first, index
    leader = list(range(len(records)))
    sketched = ((one, two) for one, two in sorted(alike, key=lambda pair: (pair[1], pair[0])))
    for one, two in (*_retries(records), *_led(records, sketched, leader)):
        if records[one].owner == records[two].owner and one not in echo_of and two not in echo_of:
            yield one, two


def _led(records: Sequence[Record], pairs: Iterable[tuple[int, int]], leader: list[int]) -> Iterable[tuple[int, int]]:
    """Those of the pairs in which the later record is like the first of the earlier one's likes, too."""
    for one, two in pairs:
        first = leader[one]
        if first == one or likeness(records[first].sketch, records[two].sketch) >= NEAR:
            leader[two] = first if leader[two] == two else leader[two]
            yield one, two


def _retries(records: Sequence[Record]) -> Iterable[tuple[int, int]]:
    if all(record.retry_of is None for record in records):
        return
    by_name: dict[str, int] = {}
    for index, record in enumerate(records):
        for name in record.names:
            by_name.setdefault(name, index)
    for index, record in enumerate(records):
        if record.retry_of is not None and record.retry_of in by_name:
            yield by_name[record.retry_of], index


def _near_duplicates(records: Sequence[Record]) -> Iterable[tuple[int, int]]:
    """Pairs of near-duplicates that are no trials of each other; of known records only with a new one."""
    new = np.array([record.group is None for record in records], dtype=bool)
    if not new.any():
        return
    sketches = np.stack([record.sketch for record in records])
    met = np.unique(np.concatenate([_sharing(sketches, band, new) for band in range(0, SLOTS, BAND)]), axis=0)
    rows = np.unique(met)
    facts = _TrialFacts.of([records[row] for row in rows.tolist()])
    for start in range(0, len(met), PAIRS):
        one, two = met[start : start + PAIRS].T
        rest = ~facts.are_trials(np.searchsorted(rows, one), np.searchsorted(rows, two))
        one, two = one[rest], two[rest]
        alike = _likeness(sketches[one], sketches[two]) >= NEAR
        yield from zip(one[alike].tolist(), two[alike].tolist(), strict=True)


def _sharing(sketches: Sketch, band: int, new: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Pairs (earlier, later) whose sketches agree in a band, shape (pairs, 2); one of each pair is new."""
    halves = np.ascontiguousarray(sketches[:, band : band + BAND]).view(np.uint64).reshape(len(sketches), -1)
    key = _mixed(_mixed(halves[:, 0]) + halves[:, 1] * GOLDEN)
    asked = np.flatnonzero(np.isin(key, key[new]))
    order = asked[np.argsort(key[asked], kind="stable")]
    starts = np.flatnonzero(np.r_[True, key[order][1:] != key[order][:-1]])
    sizes = np.diff(np.r_[starts, len(order)])
    found = [np.zeros((0, 2), np.int64)]
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        members = order[start : start + size]
        first = members[:BUCKET]
        pairs = np.stack(np.broadcast_arrays(first[:, None], members[None, :]), -1).reshape(-1, 2)
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]
        found.append(pairs[new[pairs[:, 0]] | new[pairs[:, 1]]])
    return np.concatenate(found)


@dataclass(frozen=True)
class _TrialFacts:
    """Task, session and start of every record as numbers; -1 and ``NAT`` where it names none."""

    task: npt.NDArray[np.int64]
    session: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]

    @staticmethod
    def of(records: Sequence[Record]) -> _TrialFacts:
        return _TrialFacts(
            _codes(record.task for record in records), _codes(record.session for record in records),
            np.array([NAT if r.started_at is None else int(r.started_at.timestamp() * 1e6) for r in records], np.int64),
        )  # fmt: skip

    def are_trials(self, one: npt.NDArray[np.int64], two: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether two records of one task name different sessions and did not begin at the same moment."""
        session_one, session_two = self.session[one], self.session[two]
        apart = (session_one >= 0) & (session_two >= 0) & (session_one != session_two)
        moments = (self.start[one] == NAT) | (self.start[one] != self.start[two])
        trials: npt.NDArray[np.bool_] = (self.task[one] == self.task[two]) & apart & moments
        return trials


NAT = np.iinfo(np.int64).min


def _codes(names: Iterable[str | None]) -> npt.NDArray[np.int64]:
    known: dict[str, int] = {}
    return np.array([-1 if name is None else known.setdefault(name, len(known)) for name in names], np.int64)


def _root(parent: list[int], index: int) -> int:
    while parent[index] != index:
        parent[index] = parent[parent[index]]
        index = parent[index]
    return index


def _join(parent: list[int], one: int, two: int) -> None:
    """The earlier record stays the root, so that a group keeps its name as it grows."""
    left, right = _root(parent, one), _root(parent, two)
    parent[max(left, right)] = min(left, right)
