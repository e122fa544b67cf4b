"""From a source to episodes that are ready to be written: all the work that needs no database."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from storage.sealing import SealedBody, open_sealed, seal_text
from tasks.ingest.importers.base import Imported, Importer, Rejected
from tasks.ingest.importers.registry import importers
from tasks.ingest.pool import source_of
from tasks.ingest.prepare import Door, Origin, Prepared, prepare, read_payload
from tasks.ingest.source import Line, Source, SourceBroken
from tasks.ingest.stream import FAULTS, Batch, Hashed, batches, cannot_be_stored


@dataclass(frozen=True)
class Ready:
    """An episode with its body compressed and encrypted: all that a transaction has to do is to write it."""

    prepared: Prepared
    body: SealedBody

    @classmethod
    def seal(cls, prepared: Prepared, namespace: str) -> Ready:
        """The plain text stays behind: it is seldom asked for again, and would go from process to process beside."""
        sealed = seal_text(namespace, prepared.id, prepared.body)
        return cls(Prepared(prepared.row, b"", prepared.learnt), sealed)

    def payload(self) -> dict[str, Any]:
        """The body as an object, opened again."""
        return read_payload(open_sealed(self.body))

    @property
    def hashed(self) -> str:
        return str(self.prepared.row["source_hash"])


@dataclass
class Worked:
    """What became of some records: ready to be written, or refused."""

    ready: list[Ready] = field(default_factory=list)
    refused: list[Rejected] = field(default_factory=list)


def make_ready(records: Iterable[Hashed], door: Door, origin: Origin) -> Worked:
    """Prepare and seal. Needs no database."""
    worked = Worked()
    for each in records:
        try:
            prepared = prepare(each.imported, door, origin, each.hashed)
            worked.ready.append(Ready.seal(prepared, door.namespace))
        except FAULTS as error:
            worked.refused.append(cannot_be_stored(each.imported, error))
    return worked


def prepare_lines(lines: list[Line], door: Door, origin: Origin) -> Worked:
    """All that a child process of the pool does with some lines of a source."""
    found = records_of(importers()[origin.importer], source_of(lines, origin))
    with without_collection():
        batch = next(batches(found, door, lambda: sys.maxsize, sys.maxsize), Batch())
        worked = make_ready(batch.records, door, origin)
    return Worked(worked.ready, [*batch.refused, *worked.refused])


class BrokenOff(Rejected):
    """A refusal after which nothing more was read: what would have followed is not known."""


def records_of(importer: Importer, source: Source) -> Iterator[Imported | Rejected]:
    """Everything the importer finds. A stream that breaks off, or a plug-in that fails, is a reject of its own."""
    try:
        for found in importer.read(source):
            if not isinstance(found, Imported | Rejected):
                raise TypeError(f"read yielded {type(found).__name__}")
            yield found
    except SourceBroken as broken:
        yield BrokenOff(broken.line, broken.reason)
    except Exception as error:
        yield BrokenOff(
            None, f"the importer {importer.name} failed here ({type(error).__name__}); what came before counts"
        )


@contextmanager
def without_collection() -> Iterator[None]:
    """Records make objects by the million and no cycles: looking for some among them costs a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
