"""What was done under a rule, told from the runs that had read it: which calls changed something, which can be undone.

An episode says which tools were called; what a call does to the world stands in the namespace's policy, tool by tool.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

VersionKey = tuple[str, int]
FIELDS = ("side_effects", "cancellable")


class BadToolPolicy(ValueError):
    """What is said of tools cannot be taken: which one, and what it may be."""


@dataclass(frozen=True)
class Effects:
    """What calls of a tool do. None where the policy says nothing: then it is to be looked at."""

    side_effects: bool | None = None
    cancellable: bool | None = None


@dataclass(frozen=True)
class ToolPolicy:
    """What the tools of a namespace do, by patterns of their names; the first that fits counts."""

    patterns: tuple[tuple[str, Effects], ...] = ()

    @classmethod
    def read(cls, value: Any) -> ToolPolicy:
        """From a policy: ``{"pay_*": {"side_effects": true, "cancellable": false}}``.

        Raises:
            BadToolPolicy: naming the first fault.
        """
        if value is None:
            return cls()
        if not isinstance(value, dict):
            raise BadToolPolicy("tools must be an object: names or patterns of tools, each with what its calls do")
        return cls(tuple((str(name), _effects(name, each)) for name, each in value.items()))

    def of(self, tool: str) -> Effects:
        """What calls of this tool do."""
        return next((effects for pattern, effects in self.patterns if fnmatchcase(tool, pattern)), Effects())


def _effects(name: object, value: Any) -> Effects:
    if not isinstance(value, dict) or not all(key in FIELDS and isinstance(each, bool) for key, each in value.items()):
        raise BadToolPolicy(f"tools.{name} must be an object with any of {', '.join(FIELDS)}, each true or false")
    if value.get("cancellable") and value.get("side_effects") is False:
        raise BadToolPolicy(f"tools.{name} has nothing to cancel: it has no side effects")
    return Effects(value.get("side_effects"), value.get("cancellable"))


@dataclass(frozen=True)
class Action:
    """One call that was made after the rule may have been read."""

    episode_id: str
    session_id: str | None
    step_id: str
    tool: str
    side_effects: bool | None
    cancellable: bool | None


def actions_of(
    episode_id: str,
    session_id: str | None,
    body: Mapping[str, Any],
    keys: Collection[VersionKey],
    policy: ToolPolicy,
) -> list[Action]:
    """Calls of a run after it first read one of these versions, or all if it does not say when; without those that
    the policy calls harmless."""
    steps: Sequence[Any] = [step for step in body.get("steps") or () if isinstance(step, dict)]
    read = next((n for n, step in enumerate(steps) if (step.get("rule"), step.get("version")) in keys), 0)
    found = []
    for step in steps[read:]:
        effects = policy.of(str(step.get("name") or ""))
        if step.get("kind") == "tool_call" and effects.side_effects is not False:
            name, place = str(step.get("name") or "?"), str(step.get("id") or "")
            found.append(Action(episode_id, session_id, place, name, effects.side_effects, effects.cancellable))
    return found
