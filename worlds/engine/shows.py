"""Whether a predicate is true of a recorded run, read off its steps: the graders' own reading of it.

An order and a missing check go by the first call of each name. A loop is the same call with the same arguments twice
in a row, or three times in all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from worlds.engine.habits import ABSENT, Predicate

MANY = 3
"""So many identical calls are a loop wherever they stand."""


def shows(predicate: Predicate, episode: Mapping[str, Any]) -> bool | None:
    """Whether ``predicate`` holds of ``episode`` (canonical form); None where it does not speak of such a run.

    Raises:
        KeyError: the predicate is of no known kind, or lacks a part of its kind.
    """
    return _READERS[predicate["kind"]](predicate, episode)


def _calls(episode: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [step for step in episode["steps"] if step["kind"] == "tool_call"]


def _name(step: Mapping[str, Any]) -> str:
    return f"user:{step['name']}" if step.get("requestor") == "user" else str(step["name"])


def _first(episode: Mapping[str, Any]) -> dict[str, int]:
    first: dict[str, int] = {}
    for position, step in enumerate(_calls(episode)):
        first.setdefault(_name(step), position)
    return first


def _present(predicate: Predicate, episode: Mapping[str, Any]) -> bool:
    return predicate["call"] in _first(episode)


def _order(predicate: Predicate, episode: Mapping[str, Any]) -> bool | None:
    first = _first(episode)
    if predicate["first"] not in first or predicate["then"] not in first:
        return None
    return first[predicate["first"]] < first[predicate["then"]]


def _missing(predicate: Predicate, episode: Mapping[str, Any]) -> bool | None:
    first = _first(episode)
    if predicate["before"] not in first:
        return None
    return first.get(predicate["check"], len(first) + first[predicate["before"]]) > first[predicate["before"]]


def _loop(predicate: Predicate, episode: Mapping[str, Any]) -> bool:
    places: dict[str, list[int]] = {}
    for position, step in enumerate(_calls(episode)):
        if _name(step) == predicate["call"]:
            places.setdefault(json.dumps(step["arguments"], sort_keys=True), []).append(position)
    return any(len(at) >= MANY or any(b - a == 1 for a, b in pairwise(at)) for at in places.values())


def _recovery(predicate: Predicate, episode: Mapping[str, Any]) -> bool | None:
    steps: Sequence[Mapping[str, Any]] = episode["steps"]
    failed = {step["of"] for step in steps if step["kind"] == "observation" and _is_error(step, predicate["error"])}
    calls = _calls(episode)
    for position, step in enumerate(calls):
        if step["id"] in failed and _name(step) == predicate["call"]:
            return any(_name(later) == predicate["then"] for later in calls[position + 1 :])
    return None


def _is_error(step: Mapping[str, Any], code: str) -> bool:
    return bool(step["is_error"]) and code in step["text"]


def _argument(predicate: Predicate, episode: Mapping[str, Any]) -> bool | None:
    made = [step["arguments"] for step in _calls(episode) if _name(step) == predicate["call"]]
    if not made:
        return None
    values = [str(arguments[predicate["argument"]]) for arguments in made if predicate["argument"] in arguments]
    return not values if predicate["value"] == ABSENT else predicate["value"].strip('"') in values


def _environment(predicate: Predicate, episode: Mapping[str, Any]) -> bool | None:
    version = episode.get("environment", {}).get(predicate["component"])
    return None if version is None else bool(version == predicate["version"])


_READERS = {
    "call-present": _present, "order": _order, "missing-check": _missing, "loop": _loop, "recovery": _recovery,
    "argument": _argument, "environment": _environment,
}  # fmt: skip
