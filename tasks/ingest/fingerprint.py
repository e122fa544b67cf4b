"""What makes two records the same record, and two copies the same run."""

from __future__ import annotations

from typing import Any

from storage.ids import keyed_hash
from tasks.ingest.episode import Episode, Step
from tasks.ingest.jsontext import canonical_bytes

ID_LENGTH = 24


def source_hash(secret: bytes, namespace: str, record: Any) -> str:
    """The idempotence key: a keyed hash of the namespace and the raw record, whatever its spacing and key order."""
    return keyed_hash(secret, "source", namespace, canonical_bytes(record))


def episode_id(hashed: str) -> str:
    """The id of an episode: the same record has the same id wherever it is ingested under one key."""
    return f"ep-{hashed[:ID_LENGTH]}"


def fingerprint(secret: bytes, namespace: str, episode: Episode, hashed: str) -> str:
    """A keyed hash of the session and what happened in it: equal for copies of one run that differ in trimmings.

    Without a session two runs that did the same are two runs, so the record's own hash stands in for it.
    """
    happened = [_happened(step) for step in episode.steps if step.kind != "system"]
    return keyed_hash(
        secret, "run", namespace, episode.session_id or hashed, canonical_bytes([happened, episode.outcome])
    )


def _happened(step: Step) -> list[Any]:
    """A step without its id, times and trust, which differ between copies."""
    arguments = step.arguments if step.arguments is not None else step.raw_arguments
    text = " ".join(step.text.split())
    return [step.kind, text, step.name, arguments, step.requestor, step.rule, step.version]
