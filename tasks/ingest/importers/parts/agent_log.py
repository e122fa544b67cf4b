"""What the importers of coding agents' own logs have in common: entries, times, media, exit codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from tasks.ingest.episode import Episode, as_utc
from tasks.ingest.explain import explain
from tasks.ingest.importers.base import RecordFault, Rejected
from tasks.ingest.jsontext import canonical_bytes, tidy
from tasks.ingest.source import Source

SHORT = 200
KINDS = 20
_WORDS = {"list": "a list", "str": "text", "NoneType": "null", "bool": "true or false", "dict": "an object"}


@dataclass(frozen=True)
class Entry:
    """One object of a log: as it was written (``raw``), and as it can be stored (``value``)."""

    raw: Any
    value: dict[str, Any]
    line: int | None
    place: str = ""
    cleaned: dict[str, int] = field(default_factory=dict)

    def rejected(self, reason: str) -> Rejected:
        """This entry, refused."""
        return Rejected(self.line, f"{self.place}{reason}", canonical_bytes(self.raw))


def entries(source: Source, key: str | None = None) -> Iterator[Entry | Rejected]:
    """Every object of a log: one a line, an item of a document that is a list, or an item of the list under ``key``.

    A session is known whole only at the end, so no more is read than a document may hold.
    """
    source.keep_at_most(source.limits.document)
    is_document = source.sample().shape == "document"
    for record in source.records():
        if record.fault is not None:
            yield Rejected(record.line, record.fault, record.data)
            continue
        under = key if isinstance(record.value, dict) and isinstance(record.value.get(key or ""), list) else None
        if under is not None or (is_document and isinstance(record.value, list)):
            items = record.value[under] if under is not None else record.value
            for index, item in enumerate(items):
                yield from _entry(
                    item, record.dirty, record.line, f"{under or 'item'}[{index}]: ", source, index, under
                )
        else:
            yield from _entry(record.value, record.dirty, record.line)


def _entry(
    raw: Any,
    dirty: bool,
    line: int | None,
    place: str = "",
    source: Source | None = None,
    index: int = 0,
    key: str | None = None,
) -> Iterator[Entry | Rejected]:
    if isinstance(raw, dict):
        value, cleaned = tidy(raw) if dirty else (raw, {})
        yield Entry(raw, value, line, place, cleaned)
    else:
        at = (source.line_of(index, key) if source is not None else None) or line
        yield Rejected(at, f"{place}an entry must be an object; this is {kind_of(raw)}", canonical_bytes(raw))


def kind_of(value: Any) -> str:
    """What kind of JSON value it is, in words."""
    return _WORDS.get(type(value).__name__, "a number")


@dataclass
class Clock:
    """Reads a run's times: the earliest and latest, and what is odd about them."""

    first: datetime | None = None
    last: datetime | None = None
    backwards: int = 0
    unreadable: int = 0
    _before: datetime | None = None

    def read(self, value: Any, *, in_order: bool = True) -> datetime | None:
        """The time as it was written, or None; one that cannot be read is counted."""
        if value is None:
            return None
        try:
            found = datetime.fromisoformat(value) if isinstance(value, str) else None
            utc = as_utc(found)
        except ValueError:
            found = utc = None
        if utc is None:
            self.unreadable += 1
            return None
        self.first = utc if self.first is None else min(self.first, utc)
        self.last = utc if self.last is None else max(self.last, utc)
        if in_order:
            self.backwards += self._before is not None and utc < self._before
            self._before = utc
        return found

    def notes(self) -> dict[str, Any]:
        """For an episode's details."""
        said = {"times_backwards": self.backwards, "times_unreadable": self.unreadable}
        return {key: count for key, count in said.items() if count}


def count(counter: Counter[str], kind: Any) -> None:
    """One more of a kind that is named by the log: shortened, and of no more than a few kinds."""
    name = kind[:40] if isinstance(kind, str) and kind.strip() else "unnamed"
    counter[name if name in counter or len(counter) < KINDS else "other"] += 1


def media(kind: Any, media_type: Any, data: Any) -> str:
    """What stands in a step's text for a picture or a file that is not kept: its type and size."""
    if isinstance(data, str) and data.startswith("data:"):
        head, _, data = data.partition(",")
        media_type = media_type or head.removeprefix("data:").partition(";")[0]
    size = f"{len(data) * 3 // 4:,} bytes" if isinstance(data, str) else "size not recorded"
    return f"[{short(kind) or 'media'}: {short(media_type) or 'type not recorded'}, {size}, not kept]"


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; nothing where it is none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def short(value: Any) -> str | None:
    """A name or id worth keeping."""
    return value[:SHORT] if isinstance(value, str) and value.strip() else None


def episode_of(fields: dict[str, Any]) -> Episode:
    """The validated episode.

    Raises:
        RecordFault: saying which field is wrong.
    """
    try:
        return Episode.model_validate(fields)
    except ValidationError as error:
        raise RecordFault(explain(error)) from None


def first_request(steps: list[dict[str, Any]]) -> str | None:
    """What the user asked first; what was carried over from an earlier run only where nothing else was asked."""
    asked = [step for step in steps if step["kind"] == "user" and step.get("text", "").strip()]
    own = [step for step in asked if not step.get("is_copied_context")]
    return next((str(step["text"]) for step in [*own, *asked]), None)


def merged(counts: list[dict[str, int]]) -> dict[str, int]:
    """The sum of several counts."""
    return dict(sum((Counter(each) for each in counts if each), Counter()))


def kept(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that say something."""
    return {key: value for key, value in fields.items() if value not in (None, "", 0, {}, [])}
