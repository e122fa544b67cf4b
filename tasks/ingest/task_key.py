"""The stratum of an episode that names none: the same task text gives the same key."""

from __future__ import annotations

import unicodedata

from storage.ids import keyed_hash

PREFIX = "derived/"


def derive_task_key(secret: bytes, namespace: str, task: str) -> str:
    """A key from the task's text, known before the run began: nothing the agent did enters it.

    Fine-grained on purpose: letter case, width and spacing are levelled, words and numbers are not. Keyed, so that
    the key tells nothing of a text that was purged.
    """
    return PREFIX + keyed_hash(secret, "task-key", namespace, normalised(task), length=16)


def normalised(text: str) -> str:
    """Text with case, width (NFKC) and spacing levelled."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
