"""The steps of an ATIF trajectory, with those of its sub-agents where they were called.

Sub-agents are found inside (``subagent_trajectories``) or in a file that the reference names.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tasks.ingest.episode import as_utc
from tasks.ingest.importers.parts.chat import StepWriter
from tasks.ingest.importers.parts.reading import Notes, content_text, exit_code, items, moment, obj, word

SIDECHAIN = "sidechain"
DEEPEST = 20
_BACK = "not followed: it refers back to a run that it is part of"
Opener = Callable[[str], dict[str, Any] | None]


@dataclass
class Walk:
    """One trajectory being written down; ``own`` is its file's name, ``files`` the sub-agents' files by their path."""

    open: Opener
    own: str
    notes: Notes = field(default_factory=Notes)
    writer: StepWriter = field(default_factory=StepWriter)
    times: list[datetime] = field(default_factory=list)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    _open_now: list[object] = field(default_factory=list)
    _joined: set[int] = field(default_factory=set)

    def trajectory(self, value: dict[str, Any], agent: str | None = None, folder: str = "") -> None:
        """Write every step; ``agent`` names a sub-agent, ``folder`` is where its own references start from."""
        self._open_now.append(id(value))
        self._joined.add(id(value))
        for step in self._ordered(items(value.get("steps"))):
            self._step(step, value, agent, folder)
        for embedded in items(value.get("subagent_trajectories")):
            if isinstance(embedded, dict) and id(embedded) not in self._joined:
                self.notes.count("subagents", "joined at the end: nothing refers to it")
                self._join(embedded, folder)
        self._open_now.pop()

    def first_request(self) -> str | None:
        """What the user asked first; a sub-agent's prompt is none, and a copied one is."""
        words = (step for step in self.writer.steps if step["kind"] == "user" and "agent" not in step)
        return next((step["text"] for step in words if step["text"].strip()), None)

    def _ordered(self, steps: list[Any]) -> list[dict[str, Any]]:
        """Steps by their ids, where all have one of their own; else as they stand."""
        found = [step for step in steps if isinstance(step, dict)]
        self.notes.not_kept("steps that are no objects", len(steps) - len(found))
        ids = [step.get("step_id") for step in found]
        numbers = [number for number in ids if isinstance(number, int) and not isinstance(number, bool)]
        if len(set(numbers)) == len(found) and numbers != sorted(numbers):
            self.notes.facts["order"] = "steps were put in the order of their step_id"
            return [step for _, step in sorted(zip(numbers, found, strict=True), key=lambda pair: pair[0])]
        return found

    def _step(self, step: dict[str, Any], owner: dict[str, Any], agent: str | None, folder: str) -> None:
        at = self._time(step.get("timestamp"))
        sidechain = obj(step.get("extra")).get("is_sidechain") is True
        shared = {
            "at": at,
            "agent": agent or (SIDECHAIN if sidechain else None),
            "is_copied_context": True if step.get("is_copied_context") is True else None,
        }
        text, calls = content_text(step.get("message"), self.notes), items(step.get("tool_calls"))
        thought, source = content_text(step.get("reasoning_content"), self.notes), step.get("source")
        if thought:
            self.writer.add("plan", text=thought, **shared)
        if text:
            kind = "user" if source == "user" else ("plan" if calls else "answer") if source == "agent" else "system"
            self._add(kind, text, shared)
        if source not in ("user", "agent", "system"):
            self.notes.count("unknown_sources", "kept as a system step")
        written = self._calls(calls, shared)
        self._results(step.get("observation"), written, owner, folder, shared)

    def _add(self, kind: str, text: str, shared: dict[str, Any]) -> None:
        """A sub-agent is prompted by an agent: its prompt starts nothing for the main one, and no user said it."""
        before = self.writer.last_user
        trust = "user" if kind == "user" and not shared["agent"] else None
        self.writer.add(kind, text=text, trust=trust, **shared)
        if kind == "user" and shared["agent"]:
            self.writer.last_user = before

    def _calls(self, calls: list[Any], shared: dict[str, Any]) -> list[tuple[object, str]]:
        """The step's calls as (their id, their step)."""
        written: list[tuple[object, str]] = []
        for call in calls:
            if not isinstance(call, dict):
                self.notes.not_kept("tool calls that are no objects")
                continue
            given = call.get("tool_call_id")
            number = self.writer.call(given, call.get("function_name"), call.get("arguments"), **shared)
            written.append((given, number))
        return written

    def _results(
        self, observation: Any, calls: list[tuple[object, str]], owner: dict[str, Any], folder: str,
        shared: dict[str, Any],
    ) -> None:  # fmt: skip
        """Each result after its call by id; one without an id answers the step's next call that none answers by id."""
        if observation is None:
            return
        results = items(obj(observation).get("results"))
        self.notes.not_kept("observations without results", not results)
        named = [obj(result).get("source_call_id") for result in results]
        left = iter([number for given, number in calls if given is None or given not in named])
        for result in results:
            if not isinstance(result, dict):
                self.notes.not_kept("results that are no objects")
                continue
            given, extra = result.get("source_call_id"), obj(result.get("extra"))
            of = next((number for own, number in calls if own == given and given is not None), None)
            if of is None and given is None:
                of = next(left, None)
            elif of is None:
                self.notes.count("results_of_other_steps", "its call is not in its step")
            failed, code = extra.get("is_error"), exit_code(extra.get("exit_code"))
            told = {"is_error": failed if isinstance(failed, bool) else None, "exit_code": code}
            tie = {"of": of} if of is not None else {}
            text = content_text(result.get("content"), self.notes)
            self.writer.observation(given, text, **tie, **told, **shared)
            for reference in _references(result.get("subagent_trajectory_ref")):
                self._follow(reference, owner, folder)

    def _follow(self, reference: dict[str, Any], owner: dict[str, Any], folder: str) -> None:
        """Join the sub-agent that a reference names: embedded by its id, else the file."""
        embedded = _embedded(reference, owner)
        if embedded is not None:
            self._join(embedded, folder)
            return
        path = path_of(reference, folder)
        if path is None:
            self.notes.count("subagents", "missing: the reference names none")
            return
        if path == self.own:
            self.notes.count("subagents", _BACK)
            return
        if path not in self.files:
            found = self.open(path)
            if found is None:
                self.notes.count("subagents", "missing: its file is not there or holds no trajectory")
                return
            self.files[path] = found
        self._join(self.files[path], posixpath.dirname(path))

    def _join(self, value: dict[str, Any], folder: str) -> None:
        if id(value) in self._open_now:
            self.notes.count("subagents", _BACK)
        elif id(value) in self._joined:
            self.notes.count("subagents", "referred to again")
        elif len(self._open_now) >= DEEPEST:
            self.notes.count("subagents", f"not followed: more than {DEEPEST} deep")
        else:
            self.trajectory(value, word(obj(value.get("agent")).get("name")) or "sub-agent", folder)

    def _time(self, value: Any) -> datetime | None:
        at = moment(value, self.notes)
        if at is not None:
            if self.times and _earlier(at, self.times[-1]):
                self.notes.facts["clock"] = "some steps are earlier than the one before"
            self.times.append(at)
        return at


def references_of(value: Any) -> Iterator[dict[str, Any]]:
    """Every reference to a sub-agent that a trajectory makes, its embedded ones' too."""
    left = [value]
    while left:
        trajectory = obj(left.pop())
        for step in items(trajectory.get("steps")):
            for result in items(obj(obj(step).get("observation")).get("results")):
                yield from _references(obj(result).get("subagent_trajectory_ref"))
        left += items(trajectory.get("subagent_trajectories"))


def path_of(reference: dict[str, Any], folder: str = "") -> str | None:
    """A reference's file relative to the parent's folder; of a path in a container only the name is known here."""
    path = reference.get("trajectory_path")
    if not isinstance(path, str) or not path.strip() or "://" in path:
        return None
    return posixpath.normpath(posixpath.join(folder, posixpath.basename(path) if path.startswith("/") else path))


def _references(value: Any) -> list[dict[str, Any]]:
    """Early versions wrote one reference, later ones a list."""
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]


def _embedded(reference: dict[str, Any], owner: dict[str, Any]) -> dict[str, Any] | None:
    """By ``trajectory_id``; up to v1.6 the session's id was the key, and it is one where a single sub-agent has it."""
    held = [each for each in items(owner.get("subagent_trajectories")) if isinstance(each, dict)]
    for key in ("trajectory_id", "session_id"):
        wanted = reference.get(key)
        found = [each for each in held if wanted is not None and each.get(key) == wanted]
        if found and (key == "trajectory_id" or len(found) == 1):
            return found[0]
    return None


def _earlier(one: datetime, other: datetime) -> bool:
    first, second = as_utc(one), as_utc(other)
    return first is not None and second is not None and first < second
