"""Errors as a model can use them: a type to branch on, what happened, and what to do now."""

from __future__ import annotations

import json
from typing import Any

from mcp.types import CallToolResult, TextContent

from slowwave_client import (
    AccessRefused,
    BadRequest,
    ForeignSession,
    MemoryStale,
    MemoryUnavailable,
    NotFound,
    SlowwaveError,
    VersionGone,
)

WITHOUT = "go on without memory, and do not act on rules from earlier answers: they may have been withdrawn since"
KINDS: tuple[tuple[type[SlowwaveError], str, str], ...] = (
    (MemoryStale, "memory_stale", f"{WITHOUT}; call again in some seconds"),
    (MemoryUnavailable, "memory_unavailable", f"{WITHOUT}; call again in some seconds"),
    (VersionGone, "rule_withdrawn", "do not use this rule; call search_rules for what holds now"),
    (ForeignSession, "foreign_session", "leave session_id out, and pass on the one that the answer names"),
    (AccessRefused, "access_refused", "do not try again: tell the user that this server's token does not allow it"),
    (NotFound, "not_found", "check the id; call search_rules to find rules"),
    (BadRequest, "bad_request", "correct the arguments and call again"),
)
"""The first that fits; a subclass stands before its base."""


def refusal(problem: SlowwaveError) -> CallToolResult:
    """A failed call's answer."""
    kind, now = next(
        ((kind, now) for error, kind, now in KINDS if isinstance(problem, error)),
        ("failed", "tell the user; go on without memory"),
    )
    told: dict[str, Any] = {"type": kind, "what": str(problem), "what_now": now}
    if isinstance(problem, VersionGone):
        told |= {"state": problem.state, "reason": problem.reason}
    return refused(told)


def refused(told: dict[str, Any]) -> CallToolResult:
    """``told`` for programs and, as text, for the model."""
    document = {"error": told}
    text = json.dumps(document, ensure_ascii=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=document, is_error=True)
