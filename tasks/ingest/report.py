"""What an ingest says of itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reject:
    """One record, or one file, that was not taken: where, and why."""

    file: str
    line: int | None
    reason: str


@dataclass
class IngestReport:
    """How it went. ``accepted``, ``duplicates`` and ``revised`` never count one record twice.

    ``joined`` counts files that another file's episodes read as a part of theirs.
    """

    accepted: int = 0
    duplicates: int = 0
    revised: int = 0
    joined: int = 0
    rejected: list[Reject] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return asdict(self)

    @property
    def seen(self) -> int:
        """Records so far, whatever became of them."""
        return self.accepted + self.duplicates + self.revised + self.joined + len(self.rejected)
