"""What the file names of KnowAgent's results hint at. The records name neither model nor agent."""

from __future__ import annotations

import re
from typing import Any

from tasks.ingest.importers.parts.benchmark import UNKNOWN_AGENT

_FILE = re.compile(r"KnowAgent(?:ALFWorld|HotpotQA)_(?P<model>.+?)_(?P<round>D\d+)\b", re.I)


def agent_of(file: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields that say who ran, and the note that they are a hint."""
    hint = _FILE.match(file)
    if hint is None:
        return {"agent": UNKNOWN_AGENT}, {}
    who = {"agent": "KnowAgent", "agent_version": hint["round"], "model": hint["model"]}
    return who, {"agent_from": "file name"}
