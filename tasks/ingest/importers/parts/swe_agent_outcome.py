"""Whether a patch was found right: only a test report that stands in the record says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tasks.ingest.importers.parts.reading import obj

_REPORTS = ("report", "test_report", "eval_report", "evaluation", "test_result", "verifier_result")


def verdict(record: dict[str, Any], info: dict[str, Any]) -> tuple[dict[str, Any], str | None, str | None]:
    """(outcome fields, where they were found, what speaks against them). Without a report the outcome is unknown."""
    found = [*_stated(record, ""), *_stated(info, "info.")]
    if not found:
        return {}, None, None
    if len({resolved for resolved, _ in found}) > 1:
        return {}, None, f"{found[0][1]} and another report in the record say different things"
    resolved, where = found[0]
    return {"outcome": "success" if resolved else "failure", "outcome_source": "verifier"}, where, None


def _stated(holder: dict[str, Any], place: str) -> Iterator[tuple[bool, str]]:
    """Every ``resolved`` of the holder and its reports; a report may be keyed by the task's id."""
    if isinstance(resolved := holder.get("resolved"), bool):
        yield resolved, f"{place}resolved"
    for key in _REPORTS:
        report = obj(holder.get(key))
        for part in (report, *report.values()):
            if isinstance(resolved := obj(part).get("resolved"), bool):
                yield resolved, f"resolved in {place}{key}"
