"""What became of an ATIF run: it stands beside the trajectory, in what the harness wrote down of the trial.

A trial's folder holds ``agent/trajectory.json``, ``result.json`` and ``verifier/reward.txt`` or ``reward.json``; all
may also lie in one folder. An exception, such as the agent's time running out, is no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from tasks.ingest.importers.parts.chat import is_reward
from tasks.ingest.importers.parts.reading import obj, only_record, word
from tasks.ingest.jsontext import tidy
from tasks.ingest.source import Source

_TRIALS_FOLDER = "agent"
_SURE = 1e-6


@dataclass(frozen=True)
class Trial:
    """What was read beside a trajectory, from ``files``. ``record`` is all of it, for the episode's identity."""

    fields: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    times: tuple[Any, Any] = (None, None)
    task_name: str | None = None
    files: tuple[str, ...] = ()


def read_trial(source: Source) -> Trial:
    """The trial that a trajectory's file belongs to; an empty one where nothing lies beside it."""
    name, result = next(_results(source), (None, {}))
    exception = word(obj(result.get("exception_info")).get("exception_type"))
    reward, where, written = _reward(source, name, result, exception)
    facts = {
        "outcome_from": where,
        "exception": exception,
        "outcome_note": _why_unknown(result, exception) if where is None else None,
        "trial": word(result.get("trial_name")),
    }
    kept = ("task_name", "trial_name", "verifier_result", "started_at", "finished_at", "agent_execution")
    record: dict[str, Any] = {key: result[key] for key in kept if result.get(key) is not None}
    record |= {"exception": exception} if exception else {}
    record |= {"reward": {"file": where, "value": written}} if written is not None else {}
    files = [each for each in (name, where if written is not None else None) if each is not None]
    return Trial(_verdict(reward), facts, record, _times(result), word(result.get("task_name")), tuple(files))


def is_result(value: Any) -> bool:
    """Whether this is a trial's result (a whole job's result names no trial)."""
    return isinstance(value, dict) and ("verifier_result" in value or "trial_name" in value)


def reward_in(source: Source) -> Any:
    """The reward in a verifier's file: a number as text, a number, or an object of rewards; None if there is none."""
    sample = source.sample()
    if sample.shape == "text":
        return _number(sample.head)
    value = only_record(source)
    return value if isinstance(value, dict) or is_reward(value) else None


def _places(source: Source) -> tuple[str, ...]:
    """Where a trial's files lie: in the folder above only if this one is the trial's ``agent``."""
    folders = {PurePath(place).parent.name for place in (source.path, source.scope)}
    return ("../", "") if _TRIALS_FOLDER in folders else ("",)


def _results(source: Source) -> Iterator[tuple[str | None, dict[str, Any]]]:
    for name in (f"{above}result.json" for above in _places(source)):
        beside = source.near(name)
        if beside is not None:
            value = only_record(beside)
            if is_result(value):
                yield name, tidy(value)[0]


def _reward(
    source: Source, name: str | None, result: dict[str, Any], exception: str | None
) -> tuple[Any, str | None, Any]:
    """(the reward, in words where it was found, what a verifier's file holds)."""
    recorded = obj(obj(result.get("verifier_result")).get("rewards")).get("reward")
    if is_reward(recorded):
        return recorded, f"verifier_result in {name}", None
    if exception and "verifier" in exception.lower():
        return None, None, None
    folders = [f"{above}verifier/" for above in _places(source)]
    for file in [f"{folder}reward.{kind}" for folder in (*folders, "") for kind in ("txt", "json")]:
        beside = source.near(file)
        held = reward_in(beside) if beside is not None else None
        reward = held.get("reward") if isinstance(held, dict) else held
        if is_reward(reward):
            return reward, file, held
    return None, None, None


def _why_unknown(result: dict[str, Any], exception: str | None) -> str | None:
    if exception:
        return "the run ended in an exception, which is no verdict"
    if obj(result.get("verifier_result")).get("rewards"):
        return "the verifier's rewards name none called reward"
    return None


def _verdict(reward: Any) -> dict[str, Any]:
    if not is_reward(reward):
        return {}
    outcome = "success" if reward >= 1 - _SURE else "failure" if reward <= _SURE else "partial"
    return {"outcome": outcome, "outcome_source": "verifier", "reward": float(reward)}


def _times(result: dict[str, Any]) -> tuple[Any, Any]:
    """When the agent ran, else the trial."""
    ran = obj(result.get("agent_execution"))
    held = ran if ran.get("started_at") else result
    return held.get("started_at"), held.get("finished_at")


def _number(text: str) -> float | None:
    try:
        value = float(text.strip())
    except ValueError:
        return None
    return value if is_reward(value) else None
