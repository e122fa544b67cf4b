"""What importers of benchmark results have in common: plain fields, and one verdict a run."""

from __future__ import annotations

from typing import Any

from tasks.ingest.importers.base import RecordFault

UNKNOWN_AGENT = "unknown-agent"


def as_list(value: Any) -> list[Any] | None:
    """The runs of a value that is a list of them."""
    return value if isinstance(value, list) else None


def as_run(value: Any) -> dict[str, Any]:
    """The run that a value is.

    Raises:
        RecordFault: if it is no object.
    """
    if not isinstance(value, dict):
        raise RecordFault("a run is a JSON object")
    return value


def verdict(flag: Any) -> bool | None:
    """A recorded yes or no, also as 1 or 0; None for anything else."""
    return bool(flag) if isinstance(flag, int | float) and flag in (0, 1) else None


def outcome_by(flag: bool | None, source: str) -> dict[str, Any]:
    """Outcome fields from a recorded verdict, and who gave it."""
    if flag is None:
        return {"outcome": "unknown"}
    return {"outcome": "success" if flag else "failure", "outcome_source": source}


def rest_of(value: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Fields that a format does not name, apart, so that none of them passes for one of ours."""
    extra = {key: child for key, child in value.items() if key not in known}
    return {"extra": extra} if extra else {}
