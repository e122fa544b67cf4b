"""What the ``atif`` package finds wrong with a trajectory, in words that quote none of its values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import atif
from pydantic import ValidationError

READ = frozenset(f"ATIF-v1.{minor}" for minor in range(2, 8))
_VERSION = re.compile(r"ATIF-v\d{1,4}\.\d{1,4}")
SHOWN = 3
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not a field of the format",
    "literal_error": "is none of the values that the format knows",
    "string_type": "must be text",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
}
# The package's own rules quote what they refuse. Told by what else they say, in words of ours.
_RULES = (
    ("must be ISO 8601", "must be a time such as 2026-11-29T01:02:03Z"),
    ("is not sequential", "has steps whose ids do not count up from 1"),
    ("does not match any tool_call", "has a result of a call that is not in its step"),
    ("is only valid on", "has a field that only an agent's step may have"),
    ("llm_call_count == 0", "has metrics or reasoning though no model was called"),
    ("Duplicate trajectory_id", "has two sub-agents of one trajectory_id"),
    ("must set `trajectory_id`", "has an embedded sub-agent without a trajectory_id"),
    ("at least one of", "refers to a sub-agent by neither trajectory_id nor trajectory_path"),
    ("ContentPart of type", "must have what its type says, and nothing else"),
)


def faults_of(value: Any) -> str | None:
    """Why the package refuses a trajectory, or None where it takes it."""
    try:
        atif.Trajectory.model_validate(value)
    except ValidationError as error:
        return _explained(error)
    except (RecursionError, ValueError, TypeError, OverflowError):
        return "the trajectory cannot be checked"
    return None


def version_note(value: Any) -> str | None:
    """What there is to say on a version that this importer was not written for."""
    if isinstance(value, str) and value in READ:
        return None
    if not isinstance(value, str) or not _VERSION.fullmatch(value):
        return "no version of ATIF is named"
    return f"{value} is not among the versions that are known here, v1.2 to v1.7"


def _explained(error: ValidationError) -> str:
    """The first few faults, one of each place: the package says two where a field may be of two kinds."""
    faults: dict[str, str] = {}
    for fault in error.errors(include_url=False, include_input=False):
        faults.setdefault(_place(fault["loc"]), _what(fault["type"], fault["msg"]))
    said = [f"{place} {what}" for place, what in list(faults.items())[:SHOWN]]
    return "; ".join(said) + (f"; and {len(faults) - SHOWN} more" if len(faults) > SHOWN else "")


def _what(kind: str, said: str) -> str:
    if kind == "value_error":
        return next((words for mark, words in _RULES if mark in said), "breaks a rule of the format")
    return _WORDS.get(kind, "is not of the kind that the format asks for")


def _place(location: Sequence[int | str]) -> str:
    """``steps[2].message``. Names of types, which the package adds where there are several, are left out."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.isidentifier() and part not in ("str", "float"):
            text += f".{part[:40]}" if text else part[:40]
    return text or "the trajectory"
