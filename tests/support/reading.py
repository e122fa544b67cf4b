"""Reading bytes as the door does, and saying whether what came out can be stored."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

from tasks.ingest.episode import Episode
from tasks.ingest.importers.base import Imported, Rejected
from tasks.ingest.importers.registry import NotRecognised, choose
from tasks.ingest.prepare import Door, Origin, prepare
from tasks.ingest.redact import Redactor
from tasks.ingest.source import Source, SourceBroken

Found = list[Imported | Rejected]
DOOR = Door("acme/support", "ops", False, b"k" * 32, datetime(2026, 11, 30, tzinfo=UTC), Redactor())


def source_of(data: bytes, name: str = "file") -> Source:
    """Bytes as a source without neighbours."""
    return Source(io.BytesIO(data), name, name, name)


def read_all(data: bytes, importer: str) -> Found:
    """What comes out, the end of a broken stream included."""
    source = source_of(data)
    found: Found = []
    try:
        found.extend(choose(source, importer).read(source))
    except SourceBroken as broken:
        found.append(Rejected(broken.line, broken.reason))
    except NotRecognised as unknown:
        found.append(Rejected(None, str(unknown)))
    return found


def assert_storable(found: Found) -> None:
    """What the door makes of it can be written to any database and read back."""
    for each in found:
        if isinstance(each, Rejected):
            assert each.reason.strip()
            continue
        prepared = prepare(each, DOOR, Origin("any", 1, "scope", "file"))
        assert "\\u0000" not in json.dumps(prepared.payload).replace("\\\\", "")
        json.dumps([prepared.payload, prepared.row], default=str, ensure_ascii=False).encode("utf-8")
        Episode.model_validate(prepared.payload)


def steps_of(found: Found) -> list[str]:
    """Each episode's steps as text, for comparison."""
    dumped = (each.episode.model_dump(mode="json")["steps"] for each in found if isinstance(each, Imported))
    return [json.dumps(steps) for steps in dumped]
