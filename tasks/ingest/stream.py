"""Records on their way in: each with the hash it is known by, a batch at a time.

What is held already is recognised by that hash alone: it is neither redacted nor sealed a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from tasks.ingest.fingerprint import hash_of
from tasks.ingest.importers.base import Imported, Rejected
from tasks.ingest.jsontext import canonical_bytes
from tasks.ingest.prepare import Door, Origin

FAULTS = (ValueError, RecursionError, OverflowError)


@dataclass(frozen=True)
class Hashed:
    """A record and the hash it is known by."""

    imported: Imported
    hashed: str


@dataclass(frozen=True)
class Held:
    """A record that the store has, and what it was read by."""

    importer: str
    importer_version: int
    redactor_version: int
    is_capped: bool
    is_current: bool
    is_purged: bool

    def is_final(self, origin: Origin, redactor_version: int, *, capped: bool) -> bool:
        """Whether reading the record again would change nothing: no newer importer or redactor is at work.

        Args:
            capped: an agent's token brings it now; what one brought before gives way to an operator's.
        """
        if self.is_capped and not capped and not self.is_purged:
            return False
        if self.is_purged or self.importer != origin.importer:
            return True
        before = (self.importer_version, self.redactor_version)
        after = (origin.importer_version, redactor_version)
        return before == after or any(new < old for new, old in zip(after, before, strict=True))


@dataclass
class Batch:
    """Records that are written together, and what was refused among them."""

    records: list[Hashed] = field(default_factory=list)
    refused: list[Rejected] = field(default_factory=list)
    size: int = 0

    def __len__(self) -> int:
        return len(self.records) + len(self.refused)


def batches(
    found: Iterable[Imported | Rejected], door: Door, most: Callable[[], int], most_bytes: int
) -> Iterator[Batch]:
    """Everything found, in order; ``most`` is asked before each batch, since what a store bears may change."""
    batch, limit = Batch(), most()
    for each in found:
        if isinstance(each, Imported):
            _add(batch, each, door)
        else:
            batch.refused.append(each)
        if len(batch) >= limit or batch.size > most_bytes:
            yield batch
            batch, limit = Batch(), most()
    if len(batch):
        yield batch


def _add(batch: Batch, imported: Imported, door: Door) -> None:
    try:
        raw = canonical_bytes(imported.record)
        batch.records.append(Hashed(imported, hash_of(door.secret, door.namespace, raw)))
    except FAULTS as error:
        batch.refused.append(cannot_be_stored(imported, error))
    else:
        batch.size += len(raw)


def cannot_be_stored(imported: Imported, error: Exception) -> Rejected:
    """The refusal of a record that an importer took and the store cannot."""
    return Rejected(imported.line, f"cannot be stored: {type(error).__name__}")
