"""The task list of a tau2 file: what a run was asked, and which task a run without an id belongs to."""

from __future__ import annotations

from typing import Any

from tasks.ingest.importers.parts.chat import as_text
from tasks.ingest.jsontext import canonical_bytes

_PARTS = ("reason_for_call", "known_info", "unknown_info", "task_instructions")


class TaskBook:
    """Tasks by id and by what they are judged on."""

    def __init__(self, tasks: Any) -> None:
        listed = [task for task in tasks if isinstance(task, dict)] if isinstance(tasks, list) else []
        self._by_id = {str(task["id"]): task for task in listed if isinstance(task.get("id"), str | int)}
        self._by_criteria: dict[bytes, list[str]] = {}
        for name, task in self._by_id.items():
            key = _task_criteria(task.get("evaluation_criteria"))
            if key is not None:
                self._by_criteria.setdefault(key, []).append(name)

    def by_criteria(self, reward_info: dict[str, Any]) -> str | None:
        """The one task judged on exactly what this reward was computed from; None where none or several are."""
        key = _reward_criteria(reward_info)
        found = self._by_criteria.get(key, []) if key is not None else []
        return found[0] if len(found) == 1 else None

    def ticket(self, task_id: str | None) -> str:
        """What the agent was given where no user speaks; empty if there is none."""
        return as_text(self._by_id.get(task_id or "", {}).get("ticket"))

    def instruction(self, task_id: str | None) -> str:
        """What the simulated user was told; empty if unknown."""
        scenario = self._by_id.get(task_id or "", {}).get("user_scenario")
        told = scenario.get("instructions") if isinstance(scenario, dict) else None
        if isinstance(told, dict):
            return "\n\n".join(as_text(told[part]) for part in _PARTS if told.get(part))
        return as_text(told)


def _task_criteria(criteria: Any) -> bytes | None:
    if not isinstance(criteria, dict):
        return None
    return _key(criteria.get("actions"), criteria.get("nl_assertions"), criteria.get("communicate_info"))


def _reward_criteria(reward: dict[str, Any]) -> bytes | None:
    """The same key from a reward's report, which repeats each thing that was checked."""
    actions = [each.get("action") for each in _objects(reward.get("action_checks"))]
    said = [each.get("nl_assertion") for each in _objects(reward.get("nl_assertions"))]
    told = [each.get("info") for each in _objects(reward.get("communicate_checks"))]
    return _key(actions, said, told)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _key(actions: Any, assertions: Any, told: Any) -> bytes | None:
    """Nothing judged identifies nothing."""
    acts = [[each.get("name"), each.get("arguments")] for each in _objects(actions)]
    return canonical_bytes([acts, assertions or [], told or []]) if acts or assertions or told else None
