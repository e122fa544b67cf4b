"""Smallest valid rows for tests of the store itself. Tests of anything above it build states through its real doors."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from sqlmodel import Session

from storage import bodies
from storage.tables import Candidate, CandidateRevision, Episode, Namespace, Rule, RuleVersion, Run, User

AT = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
SPACE = "acme/support"


def add(session: Session, *rows: Any) -> None:
    """Add rows, each written before the next: they may refer to one another."""
    for row in rows:
        session.add(row)
        session.flush()


def namespace(path: str = SPACE) -> Namespace:
    """A partition at epoch 0."""
    return Namespace(path=path, created_at=AT)


def episode(name: str, *, space: str = SPACE, **given: Any) -> Episode:
    """An episode without a body."""
    values: dict[str, Any] = {
        "importer": "canonical", "importer_version": 1, "redactor_version": 1, "source_id": name,
        "source_hash": f"hash-{name}", "fingerprint": f"print-{name}", "task": "Return the blue kettle",
        "task_key": "kettle", "outcome": "success", "outcome_source": "recorded", "principal": "operator",
        "n_steps": 1, "n_calls": 0, "ingested_at": AT,
    }  # fmt: skip
    return Episode(namespace=space, id=name, **{**values, **given})


def with_body(session: Session, name: str, payload: dict[str, Any], *, space: str = SPACE) -> None:
    """An episode with its body."""
    add(session, episode(name, space=space))
    bodies.save_body(session, space, name, payload)


def run(name: str = "run-1", *, space: str = SPACE, **given: Any) -> Run:
    """A night that is running."""
    values: dict[str, Any] = {"key": "2026-11-30", "requested_by": "test", "started_at": AT}
    return Run(id=name, namespace=space, **{**values, **given})


def user(name: str = "rosa", role: str = "reviewer") -> User:
    """A person who may review."""
    return User(id=f"user-{name}", name=name, role=role, created_at=AT)


def candidate(name: str = "cand-1", *, space: str = SPACE, **given: Any) -> Candidate:
    """A staged candidate at revision 1."""
    values: dict[str, Any] = {
        "kind": "rule", "tier": "standard", "content_hash": "content", "packet_hash": "packet", "title": "Check first",
        "predicate_id": f"pred-{name}", "created_at": AT, "updated_at": AT,
    }  # fmt: skip
    return Candidate(namespace=space, id=name, **{**values, **given})


def revision(name: str = "cand-1", number: int = 1, *, space: str = SPACE, **given: Any) -> CandidateRevision:
    """One exact text of a candidate."""
    values: dict[str, Any] = {
        "content": {"when_to_use": "Before cancel_order", "guidance": ["Read the order first"]},
        "content_hash": "content", "packet_hash": "packet", "author": "statistical", "drafter": "statistical",
        "mode": "corrective", "prompt_hash": "none", "created_at": AT,
    }  # fmt: skip
    return CandidateRevision(namespace=space, candidate_id=name, number=number, **{**values, **given})


def rule(name: str = "rule-1", *, space: str = SPACE) -> Rule:
    """A rule without versions."""
    return Rule(namespace=space, id=name, predicate_id=f"pred-{name}", title="Check first", created_at=AT)


def version(name: str = "rule-1", number: int = 1, state: str = "active", *, space: str = SPACE, **given: Any) -> Any:
    """A version made of ``cand-1``."""
    values: dict[str, Any] = {
        "tier": "standard", "content_hash": "content", "candidate_id": "cand-1", "candidate_number": 1,
        "promoted_at": AT, "promoted_epoch": 1, "state_at": AT, "state_epoch": 1,
    }  # fmt: skip
    return RuleVersion(namespace=space, rule_id=name, version=number, state=state, **{**values, **given})


def promoted(session: Session, rules: Iterable[str] = ("rule-1",), *, space: str = SPACE) -> None:
    """A namespace with one active version of each of these rules."""
    add(session, namespace(space), candidate(space=space), revision(space=space))
    for name in rules:
        add(session, rule(name, space=space), version(name, space=space))
