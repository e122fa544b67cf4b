"""What was noted of an episode on its way in, in words: what was not kept, what was mended, what is doubtful."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PLACED = frozenset({"outcome_from", "outcome_overruled"})
"""Entries of an episode's details that have a place of their own wherever it is shown."""
NAMES = {
    "broken_off": "breaks off",
    "cleaned": "characters replaced",
    "copies": "learnt from copies",
    "format_faults": "faults of the format",
    "memory_reads": "says it read",
    "outcome_note": "on its outcome",
    "renamed_steps": "steps renamed",
    "renditions": "earlier readings",
    "task_from": "task taken from",
    "task_key_doubt": "doubt about its task key",
    "task_key_from": "task key taken from",
    "times_not_read": "times not understood",
}
"""Where the entry's own name would not tell a person enough."""


def notes_of(details: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every entry that has no place of its own, whichever importer wrote it, as a name and words."""
    found = ((key, value) for key, value in sorted(details.items()) if key not in PLACED)
    return [(NAMES.get(key, key.replace("_", " ")), _words(key, value)) for key, value in found if not _is_empty(value)]


def _words(key: str, value: Any) -> str:
    if key == "memory_reads" and isinstance(value, list):
        return "; ".join(" version ".join(map(str, pair)) if isinstance(pair, list) else str(pair) for pair in value)
    return _plain(value, "; ")


def _plain(value: Any, between: str = ", ") -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return between.join(f"{name}: {_plain(child)}" for name, child in value.items())
    if isinstance(value, list | tuple):
        return between.join(_plain(child) for child in value)
    return "none" if value is None else str(value)


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | tuple | Mapping) and not value)
