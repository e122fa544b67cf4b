"""tau-bench result files: a JSON list of ``{task_id, reward, info, traj, trial}``.

The record names neither its domain nor its agent. The domain is read from the policy at the head of each run
(``# Airline Agent Policy``); for the agent the file's name is the only hint, and ``details`` marks it as one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from tasks.ingest.episode import Episode
from tasks.ingest.explain import explain
from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.chat import StepWriter, as_text, calls_of, messages_of, outcome_of
from tasks.ingest.jsontext import canonical_bytes, tidy
from tasks.ingest.source import Record, Sample, Source

UNKNOWN_AGENT = "unknown-agent"
_POLICY = re.compile(r"#\s*(\w+) agent policy", re.I)
_DOMAINS = "airline|retail|telecom"
_FILE = re.compile(rf"^(?:tau(?:1|[-_]?bench)?[-_])?(?P<agent>.+?)[-_](?P<domain>{_DOMAINS})\b", re.I)


class TauBench:
    """Customer-service runs with a verifier's reward."""

    name = "tau-bench"
    version = 2
    about = "tau-bench results: a list of customer-service runs with a reward"

    def sniff(self, sample: Sample) -> float:
        items = [item for record in sample.records for item in (record if isinstance(record, list) else [record])]
        mine = [item for item in items[:20] if isinstance(item, dict) and isinstance(item.get("traj"), list)]
        return 0.0 if not mine else 0.95 if any("task_id" in item and "reward" in item for item in mine) else 0.6

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        seen: Counter[str] = Counter()
        for record in source.records():
            if record.fault is not None:
                yield Rejected(record.line, record.fault, record.data)
            elif isinstance(record.value, list):
                for index, value in enumerate(record.value):
                    yield _placed(_read_one(Record(None, value, record.dirty), source, seen), index, source)
            else:
                yield _read_one(record, source, seen)


def _placed(found: Imported | Rejected, index: int, source: Source) -> Imported | Rejected:
    if isinstance(found, Imported):
        return found
    return Rejected(source.line_of(index), f"item {index + 1}: {found.reason}", found.data)


def _read_one(record: Record, source: Source, seen: Counter[str]) -> Imported | Rejected:
    value, cleaned = tidy(record.value) if record.dirty else (record.value, {})
    try:
        episode, details = _episode(value, source.name, seen)
    except RecordFault as fault:
        return Rejected(record.line, str(fault), canonical_bytes(record.value))
    return Imported(
        episode, record.value, record.line, details={**details, **({"cleaned": cleaned} if cleaned else {})}
    )


def _episode(value: Any, file: str, seen: Counter[str]) -> tuple[Episode, dict[str, Any]]:
    if not isinstance(value, dict):
        raise RecordFault("a run is a JSON object")
    writer = _steps(value)
    task_id = _identifier(value.get("task_id"))
    task_info = (value.get("info") or {}).get("task") if isinstance(value.get("info"), dict) else None
    instruction = as_text(task_info.get("instruction")) if isinstance(task_info, dict) else ""
    task = writer.first_user_text() or instruction
    if not task.strip():
        raise RecordFault("traj holds no word of the user, and info no instruction: the task is unknown")
    hint = _FILE.match(file)
    domain = _domain(writer) or (hint["domain"].lower() if hint else None)
    agent = hint["agent"] if hint else None
    told = {"instruction": instruction, "trial": value.get("trial")}
    fields = {
        "id": _source_id(task_id, value.get("trial"), seen),
        "task": task,
        "task_key": f"{domain or 'tau'}/{task_id}" if task_id is not None else None,
        "agent": agent or UNKNOWN_AGENT,
        "model": agent,
        "environment": {domain: "unknown"} if domain else {},
        "steps": writer.steps,
        "metadata": {key: child for key, child in told.items() if child not in ("", None)},
        **outcome_of(value.get("reward")),
    }
    try:
        return Episode.model_validate(fields), {"agent_from": "file name"} if agent else {}
    except ValidationError as error:
        raise RecordFault(explain(error)) from None


def _steps(value: dict[str, Any]) -> StepWriter:
    writer = StepWriter()
    for message in messages_of(value, "traj"):
        role, content, calls = message.get("role"), message.get("content"), calls_of(message)
        text = as_text(content)
        if role == "system":
            writer.add("system", text=text)
        elif role == "user":
            writer.add("user", text=text, trust="user")
        elif role == "tool":
            writer.observation(message.get("tool_call_id"), content, is_error=text.startswith("Error"))
        elif role == "assistant":
            if text:
                writer.add("plan" if calls else "answer", text=text)
            for call in calls:
                function = call.get("function") if isinstance(call.get("function"), dict) else {}
                assert isinstance(function, dict)
                writer.call(call.get("id"), function.get("name"), function.get("arguments"))
        else:
            raise RecordFault("traj holds a message whose role is none of system, user, assistant, tool")
    return writer


def _domain(writer: StepWriter) -> str | None:
    policy = next((step["text"] for step in writer.steps if step["kind"] == "system"), "")
    found = _POLICY.search(policy[:400])
    return found[1].lower() if found else None


def _identifier(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and str(value) else None


def _source_id(task_id: str | None, trial: Any, seen: Counter[str]) -> str | None:
    """``task/trial``; a second run of that name in one file is another run, not a correction of the first."""
    if task_id is None:
        return None
    name = f"{task_id}/{_identifier(trial) or 0}"
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}#{seen[name]}"


IMPORTER = TauBench()
