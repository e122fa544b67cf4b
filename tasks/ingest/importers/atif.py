"""ATIF trajectories (Agent Trajectory Interchange Format, v1.2 to v1.7), as the harbor framework writes them.

One trajectory a file, a list of them, or one a line. Its sub-agents are joined into it, and so is what the harness
wrote beside it (``atif_outcome``). A trajectory that the ``atif`` package refuses is still read where its steps can
be, with the fault in ``details``.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tasks.ingest.episode import LONGEST_ID, as_utc
from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.atif_faults import faults_of, version_note
from tasks.ingest.importers.parts.atif_files import continues, owner_of, standing_alone
from tasks.ingest.importers.parts.atif_outcome import Trial, read_trial
from tasks.ingest.importers.parts.atif_steps import Walk
from tasks.ingest.importers.parts.reading import (
    Made,
    Notes,
    content_text,
    identifier,
    items,
    moment,
    obj,
    only_record,
    read_each,
    word,
)
from tasks.ingest.jsontext import tidy
from tasks.ingest.source import Sample, Source


class Atif:
    """Agent trajectories in the interchange format, with sub-agents and the verifier's word."""

    name = "atif"
    version = 1
    about = "ATIF trajectories (v1.2 to v1.7), with sub-agents and the trial's result beside them"

    def sniff(self, sample: Sample) -> float:
        values = [item for record in sample.records for item in (record if isinstance(record, list) else [record])]
        return max((confidence(value) for value in values[:20]), default=0.0)

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        single = isinstance(only_record(source), dict)
        trial = read_trial(source) if single else Trial()
        if trial.record and not standing_alone(source):
            trial = Trial(facts={"outcome_note": "the result beside it was not used: several runs lie there"})
        yield from read_each(source, lambda value: _build(value, source, trial, single), _runs)

    def part_of(self, source: Source) -> str | None:
        """See ``Joining``: a trial's result or reward, and a sub-agent's file."""
        return owner_of(source)


def confidence(value: Any) -> float:
    """How sure it is that a value is a trajectory."""
    if not isinstance(value, dict):
        return 0.0
    version, steps = value.get("schema_version"), value.get("steps")
    named = isinstance(version, str) and version.startswith("ATIF")
    if not isinstance(steps, list):
        return 0.4 if named else 0.0
    shaped = any(isinstance(step, dict) and "step_id" in step and "source" in step for step in steps[:20])
    return 0.95 if named else 0.6 if shaped and isinstance(value.get("agent"), dict) else 0.0


def _runs(value: Any) -> list[Any] | None:
    return value if isinstance(value, list) else None


def _build(value: Any, source: Source, trial: Trial, single: bool) -> Made:
    if not isinstance(value, dict):
        raise RecordFault("a trajectory is a JSON object")
    fault = faults_of(value)
    if not any(isinstance(step, dict) for step in items(value.get("steps"))):
        raise RecordFault(fault or "steps is empty: nothing happened in this run")
    walk = Walk(lambda path: _trajectory_at(source, path), source.name)
    walk.trajectory(value)
    notes = walk.notes
    if single and continues(source, value):
        trial = Trial(
            facts={"outcome_note": "the run goes on in another file, whose last part has the verdict"},
            task_name=trial.task_name,
            record={"task_name": trial.task_name} if trial.task_name else {},
        )
    notes.facts |= {**trial.facts, "format_faults": fault, "version_note": version_note(value.get("schema_version"))}
    if value.get("continued_trajectory_ref"):
        notes.facts["continued"] = "the run goes on in another file"
    fields, record = _fields(value, walk, trial, notes, single, source), _record(value, walk, trial)
    return Made(fields, notes, record, (*walk.files, *trial.files))


def _record(value: dict[str, Any], walk: Walk, trial: Trial) -> Any:
    """All of the input that the episode was made from; the trajectory alone where there was nothing else."""
    beside = {"trial": trial.record, "subagents": walk.files}
    found = {key: child for key, child in beside.items() if child}
    return {"trajectory": value, **found} if found else None


def _fields(
    value: dict[str, Any], walk: Walk, trial: Trial, notes: Notes, single: bool, source: Source
) -> dict[str, Any]:
    agent = obj(value.get("agent"))
    models = [word(obj(step).get("model_name")) for step in items(value.get("steps"))]
    task = walk.first_request()
    if task is None and trial.task_name:
        task, notes.facts["task_from"] = trial.task_name, "the task's name in result.json"
    session = identifier(value.get("session_id"))
    started, ended = _times(walk, trial, notes)
    # A file of one run without an id is known by its place: a result that comes later is a revision of it.
    unnamed = source.path[-LONGEST_ID:] if source.neighbours is not None and single else None
    return {
        "id": identifier(value.get("trajectory_id")) or session or unnamed,
        "task": task,
        "task_key": trial.task_name,
        "session_id": session,
        "agent": word(agent.get("name")),
        "agent_version": identifier(agent.get("version")),
        "model": word(agent.get("model_name")) or next((model for model in models if model), None),
        "tools_offered": _tools(agent.get("tool_definitions")),
        "started_at": started,
        "ended_at": ended,
        "steps": walk.writer.steps,
        "metadata": _metadata(value),
        **trial.fields,
    }


def _times(walk: Walk, trial: Trial, notes: Notes) -> tuple[Any, Any]:
    """From the first step to the last; the trial's own times are local ones, and serve where steps have none."""
    if not walk.times:
        return moment(trial.times[0], notes), moment(trial.times[1], notes)
    return min(walk.times, key=_in_utc), max(walk.times, key=_in_utc)


def _in_utc(at: datetime) -> datetime:
    return as_utc(at) or at


def _tools(definitions: Any) -> list[str]:
    named = (obj(obj(each).get("function")).get("name") or obj(each).get("name") for each in items(definitions))
    return [name for name in map(word, named) if name]


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    kept = {"schema_version": word(value.get("schema_version")), "final_metrics": value.get("final_metrics")}
    kept |= {
        "notes": content_text(value.get("notes"), Notes()),
        "continued_in": word(value.get("continued_trajectory_ref")),
    }
    return {key: child for key, child in kept.items() if child}


def _trajectory_at(source: Source, path: str) -> dict[str, Any] | None:
    beside = source.near(path)
    value = obj(only_record(beside)) if beside is not None else {}
    if not isinstance(value.get("steps"), list):
        return None
    found: dict[str, Any] = tidy(value)[0]
    return found


IMPORTER = Atif()
