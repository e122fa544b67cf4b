"""An imported episode into what the store keeps: redacted, keyed, with every column filled."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tasks.ingest import outcome
from tasks.ingest.episode import Episode
from tasks.ingest.fingerprint import episode_id, fingerprint, source_hash
from tasks.ingest.importers.base import Imported
from tasks.ingest.redact import Redactor
from tasks.ingest.task_key import derive_task_key
from tasks.ingest.trust import TrustPolicy, with_trust

_STEP_TEXTS = ("text", "arguments", "raw_arguments", "snapshot")
_TEXTS = ("task", "metadata", "environment")
_COLUMNS = (
    "session_id", "retry_of", "agent", "agent_version", "model", "tools_offered", "started_at",
    "ended_at", "time_is_naive", "outcome", "outcome_source", "reward", "trust",
)  # fmt: skip


@dataclass(frozen=True)
class Door:
    """Where records come in, and under whose name. ``principal_capped`` marks an agent's token."""

    namespace: str
    principal: str
    principal_capped: bool
    secret: bytes
    now: datetime
    redactor: Redactor
    trust: TrustPolicy = field(default_factory=TrustPolicy)


@dataclass(frozen=True)
class Origin:
    """The importer and the place that a batch of records came from."""

    importer: str
    importer_version: int
    scope: str
    file: str


@dataclass(frozen=True)
class Prepared:
    """One episode ready to be written: its row's columns, and the body."""

    row: dict[str, Any]
    payload: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.row["id"])


def prepare(imported: Imported, door: Door, origin: Origin) -> Prepared:
    """Every column of the row and the body's payload, with secrets taken out of both."""
    settled, how = outcome.settled(imported.episode, capped=door.principal_capped)
    episode = with_trust(settled, door.trust, capped=door.principal_capped)
    hashed = source_hash(door.secret, door.namespace, imported.record)
    key = episode.task_key or derive_task_key(door.secret, door.namespace, episode.task)
    dumped = episode.model_copy(update={"task_key": key}).model_dump(mode="json", by_alias=True, exclude_defaults=True)
    payload, redactions = _redacted(dumped, door.redactor)
    row = {
        **{name: getattr(episode, name) for name in _COLUMNS},
        "task": payload["task"],
        "environment": payload.get("environment", {}),
        "namespace": door.namespace,
        "id": episode_id(hashed),
        "revision": 1,
        "is_current": True,
        "supersedes_id": None,
        "importer": origin.importer,
        "importer_version": origin.importer_version,
        "redactor_version": door.redactor.version,
        "source_scope": origin.scope,
        "source_file": origin.file,
        "source_line": imported.line,
        "source_id": episode.source_id,
        "source_hash": hashed,
        "fingerprint": fingerprint(door.secret, door.namespace, episode, hashed),
        "task_key": key,
        "task_key_derived": imported.task_key_derived or not episode.task_key,
        "principal": door.principal,
        "principal_capped": door.principal_capped,
        "n_steps": len(episode.steps),
        "n_calls": sum(step.kind == "tool_call" for step in episode.steps),
        "redactions": redactions,
        "details": {**imported.details, **how, **_oddities(episode), **_memory_reads(episode)},
        "ingested_at": door.now,
        "purged_at": None,
    }
    return Prepared(row, payload)


def _redacted(payload: dict[str, Any], redactor: Redactor) -> tuple[dict[str, Any], dict[str, int]]:
    """The payload with its texts redacted; ids, names and times stay, since evidence is joined by them."""
    steps = payload["steps"]
    texts = [payload.get(name) for name in _TEXTS] + [step.get(name) for step in steps for name in _STEP_TEXTS]
    clean, counts = redactor.redact(texts)
    out = {**payload, **{name: text for name, text in zip(_TEXTS, clean, strict=False) if name in payload}}
    out["steps"] = []
    at = len(_TEXTS)
    for step in steps:
        found = zip(_STEP_TEXTS, clean[at : at + len(_STEP_TEXTS)], strict=True)
        out["steps"].append({**step, **{name: text for name, text in found if name in step}})
        at += len(_STEP_TEXTS)
    return out, dict(Counter(counts))


def _oddities(episode: Episode) -> dict[str, Any]:
    """Facts about times that a reader should know; the times themselves stay as they were recorded."""
    backwards = episode.started_at and episode.ended_at and episode.ended_at < episode.started_at
    return {"clock": "ended before it started"} if backwards else {}


def _memory_reads(episode: Episode) -> dict[str, Any]:
    """The rule versions that the run says it read, for lineage: a claim can only take weight away from evidence."""
    reads = {(step.rule, step.version) for step in episode.steps if step.kind == "memory_read" and step.rule}
    known = sorted((rule, version) for rule, version in reads if rule is not None and version is not None)
    return {"memory_reads": [list(pair) for pair in known]} if known else {}
