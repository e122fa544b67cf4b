"""Who&When: failed runs of several agents, each with the step that a person holds to blame.

One JSON object a run: ``question``, ``history`` and the annotation. In the algorithm-generated half every message has
a ``name``, and ``Computer_terminal`` runs the code of the message before it. In the hand-crafted half the role names
the speaker: ``Orchestrator (-> WebSurfer)`` sends a worker to work, and what the worker answers is what was observed.
The flag of the outcome is ``is_correct`` or ``is_corrected``; it is recorded without saying who judged. The annotation
and the correct answer are metadata: no agent of the run knew them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.benchmark import (
    UNKNOWN_AGENT,
    as_list,
    as_run,
    outcome_by,
    rest_of,
    verdict,
)
from tasks.ingest.importers.parts.reading import Made, Notes, identifier, read_each, surest
from tasks.ingest.importers.parts.who_when_steps import Conversation
from tasks.ingest.source import Sample, Source

_READ = frozenset({"question", "history", "question_ID", "is_correct", "is_corrected", "system_prompt"})
_ANNOTATION = ("mistake_agent", "mistake_step", "mistake_reason", "ground_truth")
_FLAGS = ("is_correct", "is_corrected")


class WhoWhen:
    """Multi-agent runs with the culprit named."""

    name = "who-when"
    version = 1
    about = "Who&When: failed multi-agent runs with the step to blame"

    def sniff(self, sample: Sample) -> float:
        return surest(sample, _confidence, as_list)

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        yield from read_each(source, _build, as_list)


def _confidence(value: Any) -> float:
    if not isinstance(value, dict):
        return 0.0
    marks = sum(key in value for key in ("mistake_agent", "mistake_step", "mistake_reason"))
    if isinstance(value.get("history"), list):
        return 0.95 if marks else 0.6 if "question" in value and "question_ID" in value else 0.0
    return 0.4 if marks and "question" in value else 0.0


def _build(record: Any) -> Made:
    value, notes = as_run(record), Notes()
    talk = Conversation(value, notes)
    question = value.get("question")
    task = question if isinstance(question, str) and question.strip() else talk.writer.first_user_text()
    if task is None:
        raise RecordFault("question is no text, and no person speaks in history: the task is unknown")
    failed, told = _flag(value)
    notes.facts["outcome_from"] = told
    question_id = identifier(value.get("question_ID"))
    annotation = {key: value[key] for key in _ANNOTATION if value.get(key) is not None}
    blamed = talk.step_of(value.get("mistake_step"))
    if blamed is not None:
        annotation["mistake_step_id"] = blamed
    fields = {
        "id": question_id,
        "task": task.strip(),
        "task_key": question_id,
        "agent": UNKNOWN_AGENT,
        "steps": talk.writer.steps,
        "metadata": {"agents": list(talk.speakers), **annotation, **rest_of(value, _READ | set(_ANNOTATION))},
        **outcome_by(failed, "recorded"),
    }
    return Made(fields, notes)


def _flag(value: dict[str, Any]) -> tuple[bool | None, str | None]:
    """The recorded flag. Two that contradict each other settle nothing."""
    flags = {key: verdict(value.get(key)) for key in _FLAGS}
    said = {flag for flag in flags.values() if flag is not None}
    names = " and ".join(key for key, flag in flags.items() if flag is not None)
    if len(said) > 1:
        return None, f"nothing: {names} contradict each other"
    return (said.pop(), f"{names}: the data set's flag of the run") if said else (None, None)


IMPORTER = WhoWhen()
