"""The canonical form: one JSON object a line, or one object, or a list of them. Field map: docs/formats.md."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from tasks.ingest.episode import Episode
from tasks.ingest.explain import explain
from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.jsontext import canonical_bytes, tidy
from tasks.ingest.source import Record, Sample, Source

_OWN_FIELDS = frozenset(Episode.model_fields) - {"source_id", "model", "metadata", "environment", "agent"}
_TEXT_FIELDS = ("id", "task_key", "session_id", "retry_of", "agent_version")


class Canonical:
    """Episodes in our own words."""

    name = "canonical"
    version = 1
    about = "Episodes in Slowwave's own words, one JSON object a line"
    by_line = True

    def sniff(self, sample: Sample) -> float:
        return max((_confidence(value) for record in sample.records for value in _items(record)[:20]), default=0.0)

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        for record in source.records():
            if record.fault is not None:
                yield Rejected(record.line, record.fault, record.data)
            elif isinstance(record.value, list):
                yield from self._read_list(record, source)
            else:
                yield self._read_one(record.value, record.dirty, record.line)

    def _read_list(self, record: Record, source: Source) -> Iterator[Imported | Rejected]:
        for index, value in enumerate(record.value):
            found = self._read_one(value, record.dirty, None)
            if isinstance(found, Rejected):
                yield Rejected(source.line_of(index) or record.line, f"item {index + 1}: {found.reason}", found.data)
            else:
                yield found

    def _read_one(self, value: Any, dirty: bool, line: int | None) -> Imported | Rejected:
        tidied, cleaned = tidy(value) if dirty else (value, {})
        try:
            episode, notes = _episode(tidied)
        except RecordFault as fault:
            return Rejected(line, str(fault), canonical_bytes(value))
        return Imported(episode, value, line, details={**notes, **({"cleaned": cleaned} if cleaned else {})})


def _items(record: Any) -> list[Any]:
    return record if isinstance(record, list) else [record]


def _confidence(value: Any) -> float:
    if not isinstance(value, dict):
        return 0.0
    task, steps = isinstance(value.get("task"), str), isinstance(value.get("steps"), list)
    if task and steps:
        return 0.95
    # A record of ours that lacks a field is still ours to refuse by name, where enough of the rest is there.
    return 0.5 if (task or steps) and len(_OWN_FIELDS & value.keys()) >= 2 else 0.4 if task or steps else 0.0


def _episode(value: Any) -> tuple[Episode, dict[str, Any]]:
    if not isinstance(value, dict):
        raise RecordFault(f"an episode is a JSON object; this is {_kind(value)}")
    fields, notes = _prepared(value)
    try:
        episode = Episode.model_validate(fields)
    except ValidationError as error:
        raise RecordFault(explain(error)) from None
    if not episode.task.strip():
        raise RecordFault("task is empty: say what the run was asked to do")
    if not episode.steps:
        raise RecordFault("steps is empty: an episode needs at least one")
    if episode.reward is not None and not math.isfinite(episode.reward):
        raise RecordFault("reward must be a finite number")
    return episode, notes


def _prepared(value: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Forgiven: ids written as numbers, steps without an id. A step id used twice is renamed, and that is noted."""
    fields = {key: _as_text(child) if key in _TEXT_FIELDS else child for key, child in value.items()}
    if isinstance(environment := fields.get("environment"), dict):
        fields["environment"] = {key: _as_text(child) for key, child in environment.items()}
    notes: dict[str, Any] = {}
    if isinstance(steps := fields.get("steps"), list):
        fields["steps"], renamed = _with_ids(steps)
        notes = {"renamed_steps": renamed} if renamed else {}
    return fields, notes


def _with_ids(steps: list[Any]) -> tuple[list[Any], int]:
    used: dict[str, int] = {}
    renamed, out = 0, []
    for position, step in enumerate(steps, 1):
        if not isinstance(step, dict):
            out.append(step)
            continue
        given = _as_text(step.get("id"))
        wanted = given if given is not None else str(position)
        if isinstance(wanted, str):
            unique = wanted if wanted not in used else _unused(wanted, used)
            used.setdefault(unique, 1)
            renamed += given is not None and unique != wanted
            wanted = unique
        of = step.get("of")
        if wanted is step.get("id") and (of is None or isinstance(of, str)):
            out.append(step)
        else:
            out.append({**step, "id": wanted, **({"of": _as_text(of)} if "of" in step else {})})
    return out, renamed


def _unused(wanted: str, used: dict[str, int]) -> str:
    """``wanted``, or with the first number that makes it new; ``used`` tells from where to look on."""
    unique, number = wanted, used.get(wanted, 1)
    while unique in used:
        number += 1
        unique = f"{wanted}#{number}"
    used[wanted] = number
    used.setdefault(unique, 1)
    return unique


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _kind(value: Any) -> str:
    return {"list": "a list", "str": "text", "NoneType": "null", "bool": "true or false"}.get(
        type(value).__name__, "a number"
    )


IMPORTER = Canonical()
