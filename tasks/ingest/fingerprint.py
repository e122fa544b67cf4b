"""What makes two records the same record, and two copies the same run."""

from __future__ import annotations

from typing import Any

from storage.ids import keyed_hash
from tasks.ingest.episode import Episode, Step
from tasks.ingest.jsontext import canonical_bytes

ID_LENGTH = 24
_SPACING = b" \t\n\v\f\r"
_BETWEEN = "\ud800"
"""Between the texts of steps: no text that is stored holds a lone surrogate."""


def source_hash(secret: bytes, namespace: str, record: Any) -> str:
    """The idempotence key: a keyed hash of the namespace and the raw record, whatever its spacing and key order."""
    return hash_of(secret, namespace, canonical_bytes(record))


def hash_of(secret: bytes, namespace: str, canonical: bytes) -> str:
    """The same of a record's canonical bytes."""
    return keyed_hash(secret, "source", namespace, canonical)


def episode_id(hashed: str) -> str:
    """The id of an episode: the same record has the same id wherever it is ingested under one key."""
    return f"ep-{hashed[:ID_LENGTH]}"


def fingerprint(secret: bytes, namespace: str, episode: Episode, hashed: str) -> str:
    """A keyed hash of the session and what happened in it: equal for copies of one run that differ in trimmings.

    Without a session two runs that did the same are two runs, so the record's own hash stands in for it.
    """
    if not episode.session_id:
        return keyed_hash(secret, "run", namespace, hashed)
    steps = [step for step in episode.steps if step.kind != "system"]
    said = canonical_bytes([[_happened(step) for step in steps], episode.outcome])
    texts = _without_spacing(_BETWEEN.join(step.text for step in steps))
    return keyed_hash(secret, "run", namespace, episode.session_id, said, texts)


def _happened(step: Step) -> list[Any]:
    """A step without its id, times and trust, which differ between copies, and without its text."""
    arguments = step.arguments if step.arguments is not None else step.raw_arguments
    return [step.kind, step.name, arguments, step.requestor, step.rule, step.version]


def _without_spacing(text: str) -> bytes:
    """Left out and not levelled: that is one pass over bytes, where taking words apart makes an object of each."""
    return text.encode("utf-8", "surrogatepass").translate(None, _SPACING)
