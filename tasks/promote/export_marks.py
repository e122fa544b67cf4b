"""The marks of an export: what it is a copy of, and from them what of it no longer holds. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, get_args

Format = Literal["agents-md", "skill", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)
KEY = "slowwave-export"
_OPENING = re.compile(rf"^<!-- {KEY} (\{{.*\}}) -->$", re.MULTILINE)
_CLOSING = f"<!-- {KEY} end -->"
_FRONT = re.compile(r"\A---\nname: slowwave-[^\n]*\ndescription: [^\n]*\nmetadata:\n(  [^\n]*\n)*---\n")


class NoExport(ValueError):
    """A file has no marks of an export, or marks that are not understood."""


@dataclass(frozen=True)
class Exported:
    """One active version, as a file shows it."""

    id: str
    version: int
    when_to_use: str
    guidance: tuple[str, ...]
    scope: Mapping[str, Any]
    evidence: Mapping[str, Any]
    recheck_at: date | None


@dataclass(frozen=True)
class Origin:
    """What an export is a copy of: a namespace at an epoch, read at a time, under an id of its own."""

    export_id: str
    namespace: str
    epoch: int
    at: datetime


@dataclass(frozen=True)
class Marks:
    """What a file says of itself.

    ``versions`` maps rule ids to version numbers; ``rechecks`` those with a date for a re-check to it. ``untouched``:
    the text is still what was exported; ``alone``: the file holds nothing else.
    """

    format: str
    origin: Origin
    versions: Mapping[str, int]
    rechecks: Mapping[str, date]
    untouched: bool
    alone: bool


@dataclass(frozen=True)
class Standing:
    """What a store says now of an exported version: its state and why, and which version is active instead."""

    state: str
    reason: str = ""
    active: int | None = None


@dataclass(frozen=True)
class Change:
    """One exported version that no longer holds: ``withdrawn``, ``superseded`` or ``unknown`` to the store."""

    rule_id: str
    version: int
    kind: str
    state: str
    reason: str
    current_version: int | None


@dataclass(frozen=True)
class Staleness:
    """What of an export no longer holds, and what else is worth knowing: re-checks due, rules it lacks."""

    changes: tuple[Change, ...]
    due: tuple[str, ...]
    missing: tuple[str, ...]
    untouched: bool

    @property
    def is_stale(self) -> bool:
        """Whether it holds a rule that was withdrawn or superseded since, or that the store does not know."""
        return bool(self.changes)


def time_words(at: datetime) -> str:
    """A time as files show it, in UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def one_line(value: Any) -> str:
    """JSON in one line of ASCII: what would not be seen is an escape."""
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(", ", ": "))


def closed(format: Format, origin: Origin, rules: Sequence[Exported], text: str) -> str:
    """``text`` between its marks: comments of Markdown, or a first line of JSON."""
    marks = {
        "export_id": origin.export_id,
        "namespace": origin.namespace,
        "epoch": origin.epoch,
        "at": time_words(origin.at),
        "format": format,
        "rules": {rule.id: rule.version for rule in rules},
        "rechecks": {rule.id: rule.recheck_at.isoformat() for rule in rules if rule.recheck_at},
        "digest": _digest(text),
    }
    if format == "jsonl":
        copy = "a copy of active rules, which goes stale: slowwave export --check FILE"
        return one_line({KEY: {**marks, "what": copy}}) + "\n" + text
    # Nothing is left that could close the comment.
    said = one_line(marks).replace("--", "\\u002d\\u002d").replace("<", "\\u003c").replace(">", "\\u003e")
    return f"<!-- {KEY} {said} -->\n{text}{_CLOSING}\n"


def read_marks(text: str) -> Marks:
    """The marks of the first export in a file; the file may hold more than the export.

    Raises:
        NoExport: there are none, or they are not understood.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    head, _, rest = text.partition("\n")
    found = _OPENING.search(text)
    try:
        if found is not None:
            marks = json.loads(found.group(1))
            body, _, after = text[found.end() + 1 :].partition(_CLOSING)
            around = _FRONT.sub("", text[: found.start()]) + after
        else:
            marks, body, around = json.loads(head)[KEY], rest, ""
        return _understood(marks, body, is_alone=not around.strip())
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise NoExport("it has no marks of an export, or they were changed") from None


def _understood(marks: Mapping[str, Any], body: str, *, is_alone: bool) -> Marks:
    origin = Origin(
        str(marks["export_id"]), str(marks["namespace"]), int(marks["epoch"]), datetime.fromisoformat(marks["at"])
    )
    return Marks(
        format=str(marks["format"]),
        origin=origin,
        versions={str(name): int(number) for name, number in marks["rules"].items()},
        rechecks={str(name): date.fromisoformat(day) for name, day in marks["rechecks"].items()},
        untouched=marks["digest"] == _digest(body),
        alone=is_alone,
    )


def judge(marks: Marks, standings: Mapping[str, Standing], active: Mapping[str, int], today: date) -> Staleness:
    """What of an export no longer holds.

    Args:
        marks: the file's.
        standings: what the store says of each exported version, by rule id; absent if it does not know it.
        active: every version that is active there now, by rule id.
        today: the date, UTC.
    """
    changes = []
    for rule_id, version in sorted(marks.versions.items()):
        now = standings.get(rule_id, Standing("unknown", "the store has no such version"))
        if now.state != "active":
            kind = now.state if now.state == "unknown" else "superseded" if now.active else "withdrawn"
            changes.append(Change(rule_id, version, kind, now.state, now.reason, now.active))
    gone = {change.rule_id for change in changes}
    due = tuple(name for name, day in sorted(marks.rechecks.items()) if day <= today and name not in gone)
    missing = tuple(sorted(set(active) - set(marks.versions)))
    return Staleness(tuple(changes), due, missing, marks.untouched)


def _digest(text: str) -> str:
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()
