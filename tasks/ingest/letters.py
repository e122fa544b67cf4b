"""Dead letters: what was refused, with its place and its reason, and what it is known by when it is refused again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from storage.ids import keyed_hash
from tasks.ingest.importers.base import Rejected
from tasks.ingest.jsontext import tidy_text
from tasks.ingest.prepare import Door, Origin
from tasks.ingest.reader import is_file

LETTER_BYTES = 64 * 2**10
"""Of a larger record only the place and the reason are kept: its source has the rest."""


@dataclass
class Letters:
    """The letters of one reading. ``places`` counts those of one place, and is cleared before the next source."""

    door: Door
    places: Counter[str] = field(default_factory=Counter)

    def write(self, refused: Rejected, origin: Origin) -> dict[str, Any]:
        """A letter's columns: once per record and reason to look at it, and never with a secret in it."""
        file, reason = tidy_text(origin.file, {}), self.door.redactor.redact_text(tidy_text(refused.reason, {}))[0]
        data = None
        if refused.data is not None and len(refused.data) <= LETTER_BYTES:
            data = self.door.redactor.redact_bytes(refused.data)
        return {
            "namespace": self.door.namespace,
            "record_hash": self._place(refused, origin.scope, reason),
            "source_scope": tidy_text(origin.scope, {}),
            "file": file,
            "line": refused.line,
            "importer": origin.importer or None,
            "reason": reason,
            "data": data,
            "principal": self.door.principal,
            "principal_capped": self.door.principal_capped,
            "at": self.door.now,
        }

    def _place(self, refused: Rejected, scope: str, reason: str) -> str:
        """What a letter is known by: its source and its bytes, else its line; in a request, that and the reason.

        The same twice in one reading is two letters, and the same two the next time.
        """
        identity = refused.data
        if identity is None:
            identity = f"line {refused.line}".encode()
            identity += b"" if is_file(scope) else f"\x00{reason}".encode("utf-8", "replace")
        secret, namespace = self.door.secret, self.door.namespace
        place = keyed_hash(secret, "dead-letter", namespace, scope, identity)
        self.places[place] += 1
        number = self.places[place]
        return place if number == 1 else keyed_hash(secret, "dead-letter", place, str(number))
