"""tau2-bench result files: one JSON object with ``info``, ``tasks`` and ``simulations``.

Known to vary: users call tools too; a submission may write one made-up time into every run; runs may lack their
task id; newer files have more keys. ``info.*.llm_args`` may hold credentials and is never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from tasks.ingest.episode import Episode
from tasks.ingest.explain import explain
from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.chat import StepWriter, as_text, calls_of, messages_of, outcome_of
from tasks.ingest.importers.parts.tau2_tasks import TaskBook
from tasks.ingest.jsontext import canonical_bytes, tidy
from tasks.ingest.source import Sample, Source

# Ends that say nothing of the agent: whatever reward stands beside them was not earned.
_NOT_THE_AGENT = frozenset({"infrastructure_error", "user_error", "unexpected_error"})


@dataclass(frozen=True)
class _File:
    """What a file says of all its runs."""

    domain: str | None
    agent: str | None
    details: dict[str, Any]
    tasks: TaskBook
    times_are_real: bool


class Tau2:
    """Dual-control customer-service runs with a verifier's reward."""

    name = "tau2"
    version = 2
    about = "tau2-bench results: simulations in which users call tools too"

    def sniff(self, sample: Sample) -> float:
        for value in sample.records:
            if isinstance(value, dict) and isinstance(value.get("simulations"), list):
                return 0.95 if "tasks" in value or "info" in value else 0.6
        return 0.0

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        for record in source.records():
            if record.fault is not None:
                yield Rejected(record.line, record.fault, record.data)
            elif not isinstance(record.value, dict) or not isinstance(record.value.get("simulations"), list):
                yield Rejected(record.line, "a tau2 file is an object with a list of simulations")
            else:
                yield from _read_file(record.value, record.dirty, source)


def _read_file(document: dict[str, Any], dirty: bool, source: Source) -> Iterator[Imported | Rejected]:
    simulations = document["simulations"]
    file = _about(tidy({key: document.get(key) for key in ("info", "tasks")})[0], simulations)
    for index, raw in enumerate(simulations):
        value, cleaned = tidy(raw) if dirty else (raw, {})
        try:
            episode, details = _episode(value, file)
        except RecordFault as fault:
            line = source.line_of(index, "simulations")
            yield Rejected(line, f"simulation {index + 1}: {fault}", canonical_bytes(raw))
        else:
            details |= {"cleaned": cleaned} if cleaned else {}
            yield Imported(episode, raw, None, task_key_derived="task_key_from" in details, details=details)


def _about(document: dict[str, Any], simulations: list[Any]) -> _File:
    info = _object(document.get("info"))
    agent, environment = _object(info.get("agent_info")), _object(info.get("environment_info"))
    details = {"implementation": agent.get("implementation"), "git_commit": info.get("git_commit")}
    starts = [run.get("start_time") for run in simulations if isinstance(run, dict) and run.get("start_time")]
    return _File(
        domain=_short(environment.get("domain_name")),
        agent=_short(agent.get("llm")),
        details={key: _short(child) for key, child in details.items() if _short(child)},
        tasks=TaskBook(document.get("tasks")),
        times_are_real=len(starts) < 2 or len({as_text(start) for start in starts}) > 1,
    )


def _episode(value: Any, file: _File) -> tuple[Episode, dict[str, Any]]:
    if not isinstance(value, dict):
        raise RecordFault("a run is a JSON object")
    writer = _steps(value, file.times_are_real)
    task_id, how = _task_id(value, file.tasks)
    task = writer.first_user_text() or file.tasks.ticket(task_id)
    if not task.strip():
        raise RecordFault("messages hold no word of the user, and its task no ticket: the task is unknown")
    reward, ended = _object(value.get("reward_info")).get("reward"), _short(value.get("termination_reason"))
    times = {"started_at": value.get("start_time"), "ended_at": value.get("end_time")} if file.times_are_real else {}
    fields = {
        "id": _short(value.get("id")),
        "session_id": _short(value.get("id")),
        "task": task,
        "task_key": f"{file.domain or 'tau2'}/{task_id}" if task_id is not None else None,
        "agent": file.agent or "unknown-agent",
        "model": file.agent,
        "environment": {file.domain: "unknown"} if file.domain else {},
        "steps": writer.steps,
        "metadata": _metadata(value, file.tasks.instruction(task_id)),
        **times,
        **(outcome_of(None) if ended in _NOT_THE_AGENT else outcome_of(reward)),
    }
    times_note = None if file.times_are_real else "left out: the same in every run"
    details = {**file.details, "termination": ended, "times": times_note, **how}
    try:
        return Episode.model_validate(fields), {key: note for key, note in details.items() if note}
    except ValidationError as error:
        raise RecordFault(explain(error)) from None


def _task_id(value: dict[str, Any], tasks: TaskBook) -> tuple[str | None, dict[str, str]]:
    """The task's id, and notes: how it was found where the run does not say, or what speaks against what it says.

    A recorded id stands. Where the reward was computed from another task's criteria the doubt is noted with it.
    """
    judged = tasks.by_criteria(_object(value.get("reward_info")))
    given = value.get("task_id")
    if isinstance(given, str | int) and not isinstance(given, bool) and str(given):
        doubt = judged is not None and judged != str(given)
        note = {"task_key_doubt": f"the reward was computed from the criteria of task {judged}"}
        return str(given), note if doubt else {}
    return judged, {} if judged is None else {"task_key_from": "the task whose criteria the reward was computed from"}


def _steps(value: dict[str, Any], times_are_real: bool) -> StepWriter:
    writer = StepWriter()
    for message in messages_of(value, "messages"):
        role, content, calls = message.get("role"), message.get("content"), calls_of(message)
        text, at = as_text(content), message.get("timestamp") if times_are_real else None
        if role == "tool":
            flag = message.get("error")
            is_error = flag if isinstance(flag, bool) else text.startswith("Error")
            writer.observation(message.get("id"), content, is_error=is_error, at=at)
        elif role in ("user", "assistant"):
            by_user = role == "user"
            if text:
                kind = "user" if by_user else "plan" if calls else "answer"
                writer.add(kind, text=text, trust="user" if by_user else None, at=at)
            for call in calls:
                asked_by_user = call.get("requestor", role) == "user"
                writer.call(call.get("id"), call.get("name"), call.get("arguments"), by_user=asked_by_user, at=at)
        elif role == "system":
            writer.add("system", text=text, at=at)
        else:
            raise RecordFault("messages hold one whose role is none of system, user, assistant, tool")
    return writer


def _metadata(value: dict[str, Any], instruction: str) -> dict[str, Any]:
    kept = {
        "instruction": instruction or None,
        "trial": value.get("trial"),
        "termination_reason": value.get("termination_reason"),
    }
    return {key: child for key, child in kept.items() if child is not None}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _short(value: Any) -> str | None:
    return value[:200] if isinstance(value, str) and value.strip() else None


IMPORTER = Tau2()
