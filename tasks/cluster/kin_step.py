"""What was ever promoted in a namespace, as the search for kin wants it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlmodel import Session

from storage.queries import rules as rule_queries
from tasks.cluster.kin import Promoted, Told
from tasks.contrast.predicate import Predicate, PredicateInvalid, from_canonical


def load_promoted(session: Session, namespace: str) -> Promoted:
    """Every version of every rule with its lineage. A withdrawn rule was read as well: its readers are echoes too."""
    told = tuple(
        Told((rule_id, version), predicate_of(content), lines_of(content), at)
        for rule_id, version, content, at in rule_queries.contents_promoted(session, namespace)
    )
    return Promoted(told, rule_queries.closure_in(session, namespace) if told else {})


def predicate_of(content: Mapping[str, Any]) -> Predicate | None:
    """The predicate of a stored content; None if it claims nothing that a machine checks, as an exemplar."""
    stored = content.get("predicate")
    try:
        return from_canonical(dict(stored)) if stored else None
    except PredicateInvalid:
        return None


def lines_of(content: Mapping[str, Any]) -> tuple[str, ...]:
    """The lines that agents read."""
    lines = (content.get("when_to_use"), *(content.get("guidance") or ()))
    return tuple(str(line) for line in lines if line)
