"""An imported episode into what the store keeps: redacted, keyed, with every column filled."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any

import orjson

from storage.ids import canonical_json, content_hash
from tasks.ingest import outcome
from tasks.ingest.episode import STATING, Episode
from tasks.ingest.fingerprint import episode_id, fingerprint, source_hash
from tasks.ingest.importers.base import Imported
from tasks.ingest.redact import Redactor
from tasks.ingest.task_key import derive_task_key
from tasks.ingest.trust import TrustPolicy, with_trust

_STEP_TEXTS = ("text", "arguments", "raw_arguments", "snapshot", "uri", "source")
_TEXTS = ("task", "metadata", "environment")
_of_step, _of_episode = attrgetter(*_STEP_TEXTS), attrgetter(*_TEXTS)
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
    """One episode ready to be written: its row's columns, and the body as JSON text.

    ``learnt`` is what a copy in the same batch told, to be added to the body.
    """

    row: dict[str, Any]
    body: bytes
    learnt: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return str(self.row["id"])

    @property
    def payload(self) -> dict[str, Any]:
        """The body as an object."""
        return {**read_payload(self.body), **self.learnt}


def prepare(imported: Imported, door: Door, origin: Origin, hashed: str | None = None) -> Prepared:
    """Every column of the row and the body, with secrets taken out of both. ``hashed`` is the source hash if known."""
    settled, how = outcome.settled(imported.episode, capped=door.principal_capped)
    episode = with_trust(settled, door.trust, capped=door.principal_capped)
    hashed = hashed or source_hash(door.secret, door.namespace, imported.record)
    key = episode.task_key or derive_task_key(door.secret, door.namespace, episode.task)
    clean, details, redactions = _redacted(
        episode.model_copy(update={"task_key": key}),
        {**imported.details, **how, **_oddities(episode), **_memory_reads(episode)},
        door.redactor,
    )
    row = {
        **{name: getattr(episode, name) for name in _COLUMNS},
        "task": clean.task,
        "environment": clean.environment,
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
        "details": {**details, **_marks(episode)},
        "ingested_at": door.now,
        "purged_at": None,
    }
    return Prepared(row, _body(clean))


def _body(episode: Episode) -> bytes:
    try:
        return episode.model_dump_json(by_alias=True, exclude_defaults=True).encode()
    except (ValueError, UnicodeEncodeError):
        # A lone surrogate, which only a plug-in's importer lets through: written escaped.
        return canonical_json(episode.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def _redacted(
    episode: Episode, details: dict[str, Any], redactor: Redactor
) -> tuple[Episode, dict[str, Any], dict[str, int]]:
    """The episode and its details with texts redacted; ids, names and times stay, since evidence is joined by them."""
    width = len(_STEP_TEXTS)
    whole = [*_of_episode(episode), details, *(text for step in episode.steps for text in _of_step(step))]
    clean, counts = redactor.redact(whole)
    if clean is whole:
        return episode, details, {}
    steps = []
    for step, at in zip(episode.steps, range(len(_TEXTS) + 1, len(whole), width), strict=True):
        changed = clean[at : at + width] != whole[at : at + width]
        texts = dict(zip(_STEP_TEXTS, clean[at : at + width], strict=True))
        steps.append(step.model_copy(update=texts) if changed else step)
    found = {**dict(zip(_TEXTS, clean, strict=False)), "steps": steps}
    return episode.model_copy(update=found), clean[len(_TEXTS)], counts


def read_payload(body: bytes) -> dict[str, Any]:
    """A body's JSON text as an object."""
    try:
        payload: dict[str, Any] = orjson.loads(body)
    except orjson.JSONDecodeError:
        payload = json.loads(body)
    return payload


def _oddities(episode: Episode) -> dict[str, Any]:
    """Facts about times that a reader should know; the times themselves stay as they were recorded."""
    backwards = episode.started_at and episode.ended_at and episode.ended_at < episode.started_at
    return {"clock": "ended before it started"} if backwards else {}


def _marks(episode: Episode) -> dict[str, Any]:
    """What later stages find an episode by without reading its body: how many steps state facts, and the calls made.

    ``acts`` is a digest of the calls' names in their order: two runs that share it did the same.
    """
    own = [step for step in episode.steps if not step.is_copied_context]
    claims = sum(step.kind in STATING for step in own)
    calls = [(step.requestor, step.name) for step in own if step.kind == "tool_call"]
    return {**({"claims": claims} if claims else {}), **({"acts": content_hash(calls, 16)} if calls else {})}


def _memory_reads(episode: Episode) -> dict[str, Any]:
    """The rule versions that the run says it read, for lineage: a claim can only take weight away from evidence."""
    reads = {(step.rule, step.version) for step in episode.steps if step.kind == "memory_read" and step.rule}
    known = sorted((rule, version) for rule, version in reads if rule is not None and version is not None)
    return {"memory_reads": [list(pair) for pair in known]} if known else {}
