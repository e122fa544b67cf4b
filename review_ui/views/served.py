"""The answer that agents would be sent, as the JSON that it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from review_ui.words import _
from tasks.promote.packet import recheck_date, served_evidence

LONGEST = 24_000
"""Characters of JSON shown at once; a longer text is read in parts, above."""


@dataclass(frozen=True)
class Served:
    """``json`` is what the read API would send of this candidate; empty where ``too_long`` says why."""

    json: str
    too_long: str


def served(content: Mapping[str, Any], packet: Mapping[str, Any]) -> Served:
    """The body of one rule of an answer, without the id, the version and the conflicts that only a promotion sets."""
    body = {
        "when_to_use": content.get("when_to_use") or "",
        "guidance": content.get("guidance") or [],
        "scope": content.get("scope") or {},
        "evidence": served_evidence(packet),
        "recheck_at": _recheck(content),
    }
    text = json.dumps(body, ensure_ascii=False, indent=2)
    if len(text) <= LONGEST:
        return Served(text, "")
    return Served(
        "", _("The JSON has {n} characters; its text is shown above, part by part.").format(n=f"{len(text):,}")
    )


def _recheck(content: Mapping[str, Any]) -> str | None:
    try:
        due = recheck_date(content)
    except (ValueError, AttributeError):  # no date, or no scope that could hold one
        return None
    return due.date().isoformat() if due else None
