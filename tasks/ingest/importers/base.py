"""What every importer is, and what it hands over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from tasks.ingest.episode import Episode
from tasks.ingest.source import Sample, Source


class RecordFault(ValueError):
    """A record that holds no episode; its text is the reason, in words for a person."""


@dataclass(frozen=True)
class Imported:
    """One episode as its source wrote it.

    ``record`` is the raw record, whose bytes are the episode's identity. ``details`` are small facts about the
    import (never text); ``line`` is where the record begins, where that is known. ``task_key_derived`` marks a task
    key that the record does not state. ``parts`` are the other files that were read for it, by their names relative
    to its own file's folder: what these gave alone, before this one was there, gives way.
    """

    episode: Episode
    record: Any
    line: int | None = None
    task_key_derived: bool = False
    details: dict[str, Any] = field(default_factory=dict)
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rejected:
    """One record that is not an episode: where, why, and its bytes where there are any."""

    line: int | None
    reason: str
    data: bytes | None = None


@runtime_checkable
class Importer(Protocol):
    """One format. Raise ``version`` when the same record would come out differently; ``about`` is one line for people.

    ``sniff`` returns a confidence from 0 (not mine) to 1 (certain), from content; a file's name may break a tie and
    never decides. ``read`` yields every episode and every rejected record, and raises nothing for a bad record.
    An importer whose every line is a record of its own, whatever stands around it, may say so with ``by_line = True``:
    large files are then read on several cores.
    """

    name: str
    version: int
    about: str

    def sniff(self, sample: Sample) -> float: ...

    def read(self, source: Source) -> Iterator[Imported | Rejected]: ...


@runtime_checkable
class Joining(Protocol):
    """An importer whose episodes read more than one file.

    ``part_of`` names the file, relative to this one's folder, that reads this source as a part of its episodes, or None
    where there is none: such a source is counted as joined, and is neither an episode of its own nor a reject.
    """

    def part_of(self, source: Source) -> str | None: ...
