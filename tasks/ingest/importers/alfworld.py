"""ALFWorld runs as KnowAgent wrote them: one JSON object a line with ``name``, ``result`` and ``traj``.

``traj`` is one text: the room, the task after ``Your task is to:``, actions on lines that start with ``> ``, each
followed by what the environment answered. ``> Think:`` and ``> ActionPath:`` are the agent's own notes and no actions.
``name`` is the task's id as the environment states it, with its trial (the instance of the room): two files that hold
the same name hold the same task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.benchmark import as_list, as_run, outcome_by, rest_of, verdict
from tasks.ingest.importers.parts.chat import StepWriter
from tasks.ingest.importers.parts.knowagent import agent_of
from tasks.ingest.importers.parts.reading import Made, Notes, identifier, read_each, surest
from tasks.ingest.source import Sample, Source

_TASK = "Your task is to:"
_NOTE = re.compile(r"(think|actionpath)\s*:\s*", re.I)
_NOTHING = "Nothing happens."
_THING = r"(?:(?! (?:from|with|in/on|in|on|to) ).)+"
_GRAMMAR = [
    re.compile(pattern.replace("OBJECT", f"(?P<object>{_THING})").replace("PLACE", f"(?P<receptacle>{_THING})"))
    for pattern in (
        r"(?P<verb>go to) PLACE",
        r"(?P<verb>open|close) PLACE",
        r"(?P<verb>take) OBJECT from PLACE",
        r"(?P<verb>put) OBJECT (?:in/on|in|on) PLACE",
        r"(?P<verb>move) OBJECT to PLACE",
        r"(?P<verb>clean|heat|cool) OBJECT with PLACE",
        r"(?P<verb>toggle|use|examine) OBJECT",
        r"(?P<verb>look|inventory)",
    )
]


class AlfWorld:
    """Household tasks in a text world that says itself whether they were done."""

    name = "alfworld"
    version = 1
    about = "ALFWorld runs as one text each: a household task, actions and what the world answered"

    def sniff(self, sample: Sample) -> float:
        return surest(sample, _confidence, as_list)

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        yield from read_each(source, partial(_build, file=source.name), as_list)


def _confidence(value: Any) -> float:
    if not isinstance(value, dict) or "traj" not in value:
        return 0.0
    name, traj = value.get("name"), value["traj"]
    if isinstance(traj, str) and _TASK in traj:
        return 0.95 if "result" in value or "name" in value else 0.6
    return 0.4 if isinstance(name, str) and "/trial_" in name else 0.0


def _build(record: Any, file: str) -> Made:
    value, notes = as_run(record), Notes()
    writer, task = _steps(value.get("traj"))
    name, done = identifier(value.get("name")), verdict(value.get("result"))
    who, hint = agent_of(file)
    told = None if done is None else "result: the environment's own word that the task was done or not"
    notes.facts |= {"outcome_from": told, **hint}
    known = {"result": value["result"]} if "result" in value else {}
    fields = {
        "id": name,
        "task": task,
        "task_key": name,
        **who,
        "environment": {"alfworld": "unknown"},
        "steps": writer.steps,
        "metadata": {**known, **rest_of(value, frozenset({"name", "result", "traj"}))},
        **outcome_by(done, "environment"),
    }
    return Made(fields, notes)


def _steps(traj: Any) -> tuple[StepWriter, str]:
    if not isinstance(traj, str):
        raise RecordFault("traj must be the text of the run")
    room, marker, rest = traj.partition(_TASK)
    if not marker:
        raise RecordFault(f"traj holds no {_TASK!r}: the task is unknown")
    task, _, happened = rest.partition("\n")
    if not task.strip():
        raise RecordFault(f"nothing stands after {_TASK!r}: the task is unknown")
    writer = StepWriter()
    _observe(writer, room.splitlines(), None)
    writer.add("user", text=task.strip(), trust="user")
    call: str | None = None
    seen: list[str] = []
    for line in happened.split("\n"):
        if not line.startswith(">"):
            seen.append(line.removesuffix("\r"))
            continue
        _observe(writer, seen, call)
        call, seen = _act(writer, line[1:].strip()), []
    _observe(writer, seen, call)
    if all(step["kind"] in ("user", "observation") for step in writer.steps):
        raise RecordFault("traj holds no line that starts with '> ': nothing was done in this run")
    return writer, task.strip()


def _act(writer: StepWriter, action: str) -> str | None:
    """One line of the agent: the id of its call, or None for a note."""
    note = _NOTE.match(action)
    if note is not None:
        told = action[note.end() :]
        writer.add("plan", text=told if note[1].lower() == "think" else f"ActionPath: {told}")
        return None
    parsed = next((found for found in (form.fullmatch(action) for form in _GRAMMAR) if found), None)
    if parsed is None:
        words = action.split(maxsplit=1)
        return writer.call(None, words[0] if words else "", {"action": action}, text=action)
    arguments = {key: child for key, child in parsed.groupdict().items() if key != "verb"}
    return writer.call(None, parsed["verb"], arguments, text=action)


def _observe(writer: StepWriter, lines: list[str], call: str | None) -> None:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        writer.observation(None, text, of=call, source="environment", is_error=text.strip() == _NOTHING)


IMPORTER = AlfWorld()
