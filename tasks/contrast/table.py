"""The facts of many runs as columns: read from the bodies once, kept packed, and small enough for 100,000 runs.

One row a run, in the order given; one column a *token*, a plain statement such as ``("call", "search")``. A cell holds
one more than the position of the first such call, and one for every other token; zero is not so. Nothing here looks at
an outcome.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import zstandard
from scipy import sparse

from tasks.contrast.facts import Facts

Token = tuple[str, ...]
Sketches = npt.NDArray[np.uint16]

CALL, LOOP, ARGUMENT, SHAPE, FAILURE, THEN, VERSION, LENGTH = (
    "call", "loop", "argument", "shape", "failure", "then", "environment", "length",
)  # fmt: skip
MOST_VALUES = 12
"""An argument with more distinct values than this is no enumeration: its values name things, not choices."""
MANY = "<many>"
"""Stands for the rarer values of an argument that is no enumeration: that it was given is kept, not what."""

FORMAT = 1
"""Of the packed bytes. A table in another format is not read but made anew from the bodies."""
_HEAD = 8


class TableUnreadable(ValueError):
    """Packed facts that this version does not read; they are made anew from the bodies."""


@dataclass(frozen=True)
class Reading:
    """What is kept of one body. ``description`` is the task's written description, where the source has one.

    ``sketch`` has shape (slots,); ``read`` are rule versions whose text was found in the run.
    """

    episode_id: str
    facts: Facts
    sketch: Sketches
    description: str = ""
    read: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class FactsTable:
    """``cells`` has shape (runs, tokens), ``sketches`` (runs, slots); ``descriptions`` and ``reads`` are by row."""

    episode_ids: Sequence[str]
    tokens: Sequence[Token]
    cells: sparse.csr_matrix
    sketches: Sketches
    descriptions: Mapping[int, str] = field(default_factory=dict)
    reads: Mapping[int, tuple[tuple[str, int], ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.episode_ids)

    def take(self, rows: Sequence[int] | npt.NDArray[np.intp]) -> FactsTable:
        """Some of the runs, in the order of ``rows``."""
        chosen = np.asarray(rows, dtype=np.intp)
        place = {int(old): new for new, old in enumerate(chosen)}
        return FactsTable(
            [self.episode_ids[row] for row in chosen], self.tokens, self.cells[chosen], self.sketches[chosen],
            {place[row]: text for row, text in self.descriptions.items() if row in place},
            {place[row]: read for row, read in self.reads.items() if row in place},
        )  # fmt: skip

    def pack(self) -> bytes:
        """As bytes, for storage."""
        cells = self.cells.tocsr()
        head = json.dumps(
            {
                "format": FORMAT, "ids": list(self.episode_ids), "tokens": list(self.tokens), "cells": int(cells.nnz),
                "slots": int(self.sketches.shape[1]),
                "descriptions": sorted(self.descriptions.items()), "reads": sorted(self.reads.items()),
            }
        ).encode()  # fmt: skip
        arrays = (
            cells.indptr.astype("<i4").tobytes(), cells.indices.astype("<i4").tobytes(),
            cells.data.astype("<i4").tobytes(), self.sketches.astype("<u2").tobytes(),
        )  # fmt: skip
        plain = b"".join((len(head).to_bytes(_HEAD, "little"), head, *arrays))
        return zstandard.ZstdCompressor(level=3).compress(plain)


def unpack(data: bytes) -> FactsTable:
    """The table of packed bytes.

    Raises:
        TableUnreadable: if another version packed them, or they are damaged.
    """
    try:
        plain = zstandard.ZstdDecompressor().decompress(data)
        start = _HEAD + int.from_bytes(plain[:_HEAD], "little")
        head = json.loads(plain[_HEAD:start])
        if head["format"] != FORMAT:
            raise TableUnreadable(f"facts are packed in format {head['format']}, and this version reads {FORMAT}")
        runs, cells, slots = len(head["ids"]), head["cells"], head["slots"]
        indptr, start = _array(plain, start, "<i4", runs + 1)
        indices, start = _array(plain, start, "<i4", cells)
        values, start = _array(plain, start, "<i4", cells)
        sketches: Sketches = _array(plain, start, "<u2", runs * slots)[0].astype(np.uint16)
    except (zstandard.ZstdError, ValueError, KeyError, TypeError) as error:
        raise TableUnreadable(f"facts cannot be unpacked: {error}") from error
    tokens = [tuple(token) for token in head["tokens"]]
    return FactsTable(
        head["ids"], tokens, sparse.csr_matrix((values, indices, indptr), shape=(runs, len(tokens))),
        sketches.reshape(runs, slots), dict(head["descriptions"]),
        {row: tuple((rule, version) for rule, version in read) for row, read in head["reads"]},
    )  # fmt: skip


def _array(plain: bytes, start: int, kind: str, count: int) -> tuple[npt.NDArray[np.integer], int]:
    made = np.frombuffer(plain, dtype=kind, count=count, offset=start)
    return made, start + made.nbytes


def table_of(readings: Sequence[Reading]) -> FactsTable:
    """The table of some readings, in their order. Of an argument that is no enumeration rarer values are left out."""
    kept = _kept_values(Counter(value for one in readings for value in one.facts.arguments))
    place: dict[Token, int] = {}
    indptr, indices = [0], list[int]()
    values: list[int] = []
    for one in readings:
        row = dict(_cells(one.facts, kept))
        indices += [place.setdefault(token, len(place)) for token in row]
        values += row.values()
        indptr.append(len(indices))
    cells = sparse.csr_matrix(
        (np.array(values, np.int32), np.array(indices, np.int32), np.array(indptr, np.int32)),
        shape=(len(readings), len(place)),
    )
    slots = readings[0].sketch.shape[0] if readings else 0
    sketches = np.stack([one.sketch for one in readings]) if readings else np.zeros((0, slots), np.uint16)
    return FactsTable(
        [one.episode_id for one in readings], list(place), cells, sketches,
        {row: one.description for row, one in enumerate(readings) if one.description},
        {row: one.read for row, one in enumerate(readings) if one.read},
    )  # fmt: skip


def joined(tables: Sequence[FactsTable]) -> FactsTable:
    """Several tables under each other, thinned as one table of all their runs would be."""
    if len(tables) == 1:
        return tables[0]
    kept = _kept_values(_value_counts(tables))
    place: dict[Token, int] = {}
    parts: list[tuple[sparse.csr_matrix, npt.NDArray[np.int32]]] = []
    ids: list[str] = []
    descriptions: dict[int, str] = {}
    reads: dict[int, tuple[tuple[str, int], ...]] = {}
    for table in tables:
        descriptions.update({len(ids) + row: text for row, text in table.descriptions.items()})
        reads.update({len(ids) + row: read for row, read in table.reads.items()})
        ids += table.episode_ids
        column = np.array([place.setdefault(_thinned(token, kept), len(place)) for token in table.tokens], np.int32)
        parts.append((table.cells, column))
    stacked = [_moved(cells, column, len(place)) for cells, column in parts]
    cells = sparse.vstack(stacked, format="csr") if stacked else sparse.csr_matrix((0, 0), dtype=np.int32)
    full = [table.sketches for table in tables if len(table)]
    sketches = np.concatenate(full) if full else np.zeros((0, 0), np.uint16)
    return FactsTable(ids, list(place), cells, sketches, descriptions, reads)


def _moved(cells: sparse.csr_matrix, column: npt.NDArray[np.int32], width: int) -> sparse.csr_matrix:
    """The same cells under other columns. Where several fall together, values were left out: the cell is one."""
    indices = column[cells.indices] if len(column) else cells.indices
    moved = sparse.csr_matrix((cells.data, indices, cells.indptr), shape=(cells.shape[0], width))
    shared = np.bincount(column, minlength=width) > 1
    if shared.any():
        moved.sum_duplicates()
        moved.data[shared[moved.indices]] = 1
    return moved


def _value_counts(tables: Sequence[FactsTable]) -> Counter[tuple[str, str, str]]:
    counts: Counter[tuple[str, str, str]] = Counter()
    for table in tables:
        runs = np.bincount(table.cells.indices, minlength=len(table.tokens))
        for token, number in zip(table.tokens, runs.tolist(), strict=True):
            if token[0] == ARGUMENT:
                counts[token[1], token[2], token[3]] += number
    return counts


def _kept_values(counts: Mapping[tuple[str, str, str], int]) -> dict[tuple[str, str], frozenset[str]]:
    """By (call, argument) with too many values to be an enumeration, its commonest values: only those are kept."""
    values: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for (call, argument, value), number in counts.items():
        values.setdefault((call, argument), []).append((-number, value))
    return {
        pair: frozenset(value for _, value in sorted(each for each in found if each[1] != MANY)[:MOST_VALUES])
        for pair, found in values.items()
        if len(found) > MOST_VALUES
    }


def _thinned(token: Token, kept: Mapping[tuple[str, str], frozenset[str]]) -> Token:
    if token[0] != ARGUMENT or token[3] in kept.get((token[1], token[2]), (token[3],)):
        return token
    return ARGUMENT, token[1], token[2], MANY


def _cells(facts: Facts, kept: Mapping[tuple[str, str], frozenset[str]]) -> Iterable[tuple[Token, int]]:
    for call, (position, _) in facts.first.items():
        yield (CALL, call), position + 1
    for call in facts.loops:
        yield (LOOP, call), 1
    for call, argument, value in facts.arguments:
        yield _thinned((ARGUMENT, call, argument, value), kept), 1
    for call, argument, shape in facts.shapes:
        yield (SHAPE, call, argument, shape), 1
    for (call, error), failure in facts.failures.items():
        yield (FAILURE, call, error), 1
        for then in failure.then:
            yield (THEN, call, error, then), 1
    for component, version in facts.environment.items():
        yield (VERSION, component, version), 1
    if facts.calls:
        yield (LENGTH,), facts.calls
