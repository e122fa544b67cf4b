"""From a source's values to episodes: the loop that importers of one run a record have in common.

A file may hold one run, a list of runs, or a run a line. A run that the file breaks off in the middle of is kept and
says so; a record that is no run is refused alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from tasks.ingest.episode import Episode, as_utc
from tasks.ingest.explain import explain
from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.chat import as_text
from tasks.ingest.jsontext import canonical_bytes, tidy
from tasks.ingest.source import Record, Sample, Source, SourceBroken

_MEDIA = ("image", "audio", "video", "file", "document")
MOST_EXIT_CODE, LEAST_EXIT_CODE = 2**32 - 1, -(2**31)


@dataclass
class Notes:
    """Small facts about one import, and how often each kind of thing was met."""

    facts: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def count(self, key: str, what: str, times: int = 1) -> None:
        """One more of ``what`` under ``key``."""
        if times:
            self.counts.setdefault(key, Counter())[what[:60]] += times

    def not_kept(self, what: str, times: int = 1) -> None:
        """Something of the record that is no part of the episode."""
        self.count("not_kept", what, times)

    def details(self) -> dict[str, Any]:
        """As an import's details; facts that are None, empty or false are left out."""
        facts = {key: fact for key, fact in self.facts.items() if fact}
        return {**facts, **{key: dict(found) for key, found in self.counts.items()}}


@dataclass(frozen=True)
class Made:
    """An episode's fields. ``record`` replaces the raw record as what identity is made from, where more was read.

    ``parts`` are those of ``Imported``.
    """

    fields: dict[str, Any]
    notes: Notes
    record: Any = None
    parts: tuple[str, ...] = ()


Build = Callable[[Any], Made]
Split = Callable[[Any], list[Any] | None]


def surest(sample: Sample, confidence: Callable[[Any], float], split: Split) -> float:
    """How sure an importer is of the one of a sample's first runs that it is surest of; 0 where there is none."""
    runs = [run for record in sample.records for run in (split(record) or [record])[:20]]
    return max(map(confidence, runs[:20]), default=0.0)


def read_each(source: Source, build: Build, split: Split = lambda _: None) -> Iterator[Imported | Rejected]:
    """Every run of a source.

    Args:
        build: makes an episode of one record, tidied; raises ``RecordFault`` where it is none.
        split: the runs that a value is a list of, or None where it is one run itself.
    """
    seen: Counter[str] = Counter()
    if source.sample().shape == "empty":
        yield Rejected(None, "the file is empty: there is no run in it")
    for record, cut in _with_cuts(source):
        if record.fault is not None:
            yield Rejected(record.line, record.fault, record.data)
            continue
        runs = split(record.value)
        if runs is None:
            yield from _one(record, cut, build, seen)
            continue
        if not runs:
            yield Rejected(record.line, "the list is empty: there is no run in it")
        for index, value in enumerate(runs):
            try:
                yield _made(value, None, record.dirty, build, seen)
            except RecordFault as fault:
                line = source.line_of(index) or record.line
                yield Rejected(line, f"item {index + 1}: {fault}", canonical_bytes(value))
        if cut is not None:
            yield Rejected(cut.line, str(cut.fault))


def only_record(source: Source) -> Any:
    """The value of a file that holds one, on one line or on many; None where it holds none or several."""
    records = source.sample().records
    return records[0] if len(records) == 1 else None


def _with_cuts(source: Source) -> Iterator[tuple[Record, Record | None]]:
    """Each record, and with a document that breaks off the place where it does."""
    if source.sample().shape != "document":
        yield from ((record, None) for record in source.records())
        return
    held: list[Record] = []
    broken: SourceBroken | None = None
    try:
        held.extend(source.records())
    except SourceBroken as stopped:
        broken = stopped
    cut = next((record for record in held if record.fault is not None), None)
    yield from ((record, cut) for record in held if record.fault is None)
    if broken is not None:
        raise broken


def _one(record: Record, cut: Record | None, build: Build, seen: Counter[str]) -> Iterator[Imported | Rejected]:
    try:
        found = _made(record.value, record.line, record.dirty, build, seen)
    except RecordFault as fault:
        if cut is None:
            yield Rejected(record.line, str(fault), canonical_bytes(record.value))
        else:
            why = f"not JSON from here on, and what came before makes no run: {fault}"
            yield Rejected(cut.line, why, canonical_bytes(record.value))
        return
    if cut is not None:
        found.details["broken_off"] = f"the file breaks at line {cut.line}: the rest of the run is missing"
    yield found
    if cut is not None:
        yield Rejected(cut.line, str(cut.fault))


def _made(value: Any, line: int | None, dirty: bool, build: Build, seen: Counter[str]) -> Imported:
    tidied, cleaned = tidy(value) if dirty else (value, {})
    made = build(tidied)
    fields = {key: child for key, child in made.fields.items() if child is not None}
    if not fields.get("steps"):
        raise RecordFault("nothing happened in this run: no step could be read")
    if not str(fields.get("task", "")).strip():
        raise RecordFault("no word of the user was found: the task is unknown")
    try:
        episode = Episode.model_validate({**fields, "id": _numbered(fields.get("id"), seen)})
    except ValidationError as error:
        raise RecordFault(explain(error)) from None
    details = {**made.notes.details(), **({"cleaned": cleaned} if cleaned else {})}
    record = value if made.record is None else made.record
    return Imported(episode, record, line, details=details, parts=made.parts)


def _numbered(name: str | None, seen: Counter[str]) -> str | None:
    """A second run of a name in one file is another run, not a correction of the first."""
    if name is None:
        return None
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}#{seen[name]}"


def content_text(content: Any, notes: Notes) -> str:
    """Content as text: a string, or parts; what is no text leaves a visible mark and is counted."""
    if not isinstance(content, list):
        return as_text(content)
    return "\n".join(_part_text(part, notes) for part in content)


def _part_text(part: Any, notes: Notes) -> str:
    if not isinstance(part, dict):
        return as_text(part)
    if isinstance(said := part.get("text", part.get("refusal")), str):
        return said
    kind = part.get("type")
    if isinstance(kind, str) and any(word in kind for word in _MEDIA):
        notes.count("media_left_out", kind)
        return f"[{kind[:40]}{_place_of(part, kind)}]"
    return as_text(part)


def _place_of(part: dict[str, Any], kind: str) -> str:
    """Where a picture lies. The bytes of one that is written out are not copied."""
    held = part.get(kind, part.get("source", part))
    held = held if isinstance(held, dict) else {"url": held}
    named = (held.get(key) for key in ("path", "url", "image_url", "file_id", "filename"))
    place = next((name for name in named if isinstance(name, str) and name), None)
    if place is None:
        return ""
    return f" {place}" if len(place) <= 500 and not place.startswith("data:") else f" of {len(place):,} characters"


def moment(value: Any, notes: Notes) -> datetime | None:
    """A written time (ISO 8601, or seconds since 1970), or None where there is none that can be read."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError("no time")
        found = datetime.fromisoformat(value) if isinstance(value, str) else datetime.fromtimestamp(value, UTC)
        as_utc(found)
    except (ValueError, OverflowError, OSError):
        notes.count("times_not_read", "not a time")
        return None
    return found


def exit_code(value: Any) -> int | None:
    """A recorded exit code, where it is one."""
    if isinstance(value, bool) or not isinstance(value, int) or not LEAST_EXIT_CODE <= value <= MOST_EXIT_CODE:
        return None
    return value


def identifier(value: Any) -> str | None:
    """An id as text: a string or a whole number that is not empty."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value).strip()[:300] or None


def obj(value: Any) -> dict[str, Any]:
    """The object that ``value`` is, or an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The list that ``value`` is, or an empty one."""
    return value if isinstance(value, list) else []


def numbers_in(value: Any) -> dict[str, int | float]:
    """Those fields of an object that are numbers."""
    return {key: child for key, child in obj(value).items() if isinstance(child, int | float)}


def word(value: Any) -> str | None:
    """A name: text that is not blank."""
    return value.strip()[:300] if isinstance(value, str) and value.strip() else None
