"""SWE-agent runs (``.traj``): ``trajectory`` (what was done), ``history`` (what the model was told), ``info``.

The task's text stands in the history only: it is the first word of the user that is no demonstration. Demonstrations
are carried over from elsewhere, never work of this run. ``exit_status: submitted`` says that something was handed in,
not that it was right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.chat import StepWriter
from tasks.ingest.importers.parts.reading import (
    Made,
    Notes,
    content_text,
    identifier,
    items,
    numbers_in,
    obj,
    read_each,
    word,
)
from tasks.ingest.importers.parts.swe_agent_history import Calls, write_head, write_history
from tasks.ingest.importers.parts.swe_agent_outcome import verdict
from tasks.ingest.jsontext import JsonFault, parse
from tasks.ingest.source import Sample, Source

AGENT = "swe-agent"


class SweAgent:
    """Runs of a software engineering agent, with its demonstrations told apart."""

    name = "swe-agent"
    version = 1
    about = "SWE-agent trajectories (.traj): actions and observations on a repository"

    def sniff(self, sample: Sample) -> float:
        values = [item for record in sample.records for item in (record if isinstance(record, list) else [record])]
        return max((_confidence(value) for value in values[:20]), default=0.0)

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        return read_each(source, _build, lambda value: value if isinstance(value, list) else None)


def _confidence(value: Any) -> float:
    if not isinstance(value, dict):
        return 0.0
    trajectory, history, info = value.get("trajectory"), value.get("history"), value.get("info")
    acts = [step for step in items(trajectory)[:20] if isinstance(step, dict) and "action" in step]
    if any("observation" in step for step in acts):
        return 0.95
    told = [turn for turn in items(history)[:20] if isinstance(turn, dict) and "role" in turn]
    if any("agent" in turn or "message_type" in turn or "is_demo" in turn for turn in told):
        return 0.95 if isinstance(info, dict) else 0.6
    if told and isinstance(info, dict) and {"exit_status", "submission", "model_stats"} & info.keys():
        return 0.6
    return 0.4 if (isinstance(trajectory, list) and (acts or isinstance(info, dict))) else 0.0


def _build(value: Any) -> Made:
    if not isinstance(value, dict):
        raise RecordFault("a run is a JSON object with trajectory and history")
    trajectory, notes, writer = value.get("trajectory"), Notes(), StepWriter()
    if trajectory is not None and not isinstance(trajectory, list):
        notes.not_kept("a trajectory that is no list")
    done = [step for step in items(trajectory) if isinstance(step, dict)]
    notes.not_kept("entries of the trajectory that are no objects", len(items(trajectory)) - len(done))
    history = _history(value, done, notes)
    if done:
        write_head(history, writer, notes)
        _write_trajectory(done, Calls(history), writer, notes)
    else:
        write_history(history, writer, notes)
    info, replay = obj(value.get("info")), _replay(value.get("replay_config"))
    submission = content_text(info.get("submission"), notes)
    if submission.strip() and writer.steps:
        writer.add("answer", text=submission)
    return Made(_fields(value, info, replay, writer, notes), notes)


def _history(value: dict[str, Any], done: list[dict[str, Any]], notes: Notes) -> list[dict[str, Any]]:
    """What the model was told: the run's history, else what its first step says it was asked."""
    first = done[0] if done else {}
    found = items(value.get("history")) or items(first.get("query")) or items(first.get("messages"))
    turns = [turn for turn in found if isinstance(turn, dict)]
    notes.not_kept("messages of the history that are no objects", len(found) - len(turns))
    return turns


def _write_trajectory(done: list[dict[str, Any]], calls: Calls, writer: StepWriter, notes: Notes) -> None:
    for step in done:
        thought, action = content_text(step.get("thought"), notes), content_text(step.get("action"), notes)
        thought = thought if thought.strip() else content_text(step.get("response"), notes)
        if thought.strip() and thought.strip() != action.strip():
            writer.add("plan", text=thought)
        of = None
        if action.strip():
            of = writer.call(None, calls.name_of(action), {"command": action})
        else:
            notes.count("steps_without_action", "kept as what was said and seen")
        if "observation" in step and (step["observation"] is not None or of is not None):
            writer.observation(None, content_text(step["observation"], notes), **({"of": of} if of else {}))


def _fields(
    value: dict[str, Any], info: dict[str, Any], replay: dict[str, Any], writer: StepWriter, notes: Notes
) -> dict[str, Any]:
    outcome, notes.facts["outcome_from"], notes.facts["outcome_note"] = verdict(value, info)
    problem = obj(replay.get("problem_statement")) or obj(value.get("problem_statement"))
    instance = identifier(value.get("instance_id")) or identifier(info.get("instance_id"))
    model = obj(obj(replay.get("agent")).get("model")).get("name")
    task = writer.first_user_text()
    if task is None and (text := content_text(problem.get("text"), notes)).strip():
        task, notes.facts["task_from"] = text, "the problem statement of the run's configuration"
    return {
        "task": task,
        "task_key": instance or identifier(problem.get("id")),
        "agent": AGENT,
        "agent_version": identifier(info.get("swe_agent_version")),
        "model": word(model) or word(value.get("model_name")),
        "steps": writer.steps,
        "metadata": _metadata(value, info),
        **outcome,
    }


def _metadata(value: dict[str, Any], info: dict[str, Any]) -> dict[str, Any]:
    kept = {
        "exit_status": word(info.get("exit_status")),
        "environment": word(value.get("environment")),
        "model_stats": numbers_in(info.get("model_stats")),
    }
    return {key: child for key, child in kept.items() if child}


def _replay(value: Any) -> dict[str, Any]:
    """The configuration to replay a run by: an object, or JSON text of one. Only names are read from it."""
    if not isinstance(value, str):
        return obj(value)
    try:
        return obj(parse(value.encode("utf-8", "surrogatepass")).value)
    except JsonFault:
        return {}


IMPORTER = SweAgent()
