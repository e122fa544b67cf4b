"""Resolve a conflict: one short transaction, called by the review page and the command line.

It records which side stands, who said so and why. It promotes and revokes nothing: each side is still decided where
such things are decided, and its page shows how the conflict was resolved.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from storage import audit
from storage.conflicts import decide
from storage.engine import Database
from storage.ids import keyed_hash
from storage.queries.conflicts import MIXED_OUTCOME, conflict_by_id
from storage.tables import Conflict
from tasks.conflict.resolve.errors import (
    ConflictChanged,
    ConflictClosed,
    ConflictGone,
    OtherwiseResolved,
    SideUnknown,
)
from tasks.conflict.resolve.shown import KEEPS, shown_hash
from tasks.promote.people import Reviewer
from tasks.promote.quorum import check_person, check_reason


@dataclass(frozen=True)
class Resolved:
    """Where a conflict stands after a decision; ``changed`` is False where the same had been decided before."""

    conflict_id: str
    namespace: str
    keep: str
    changed: bool = True


def resolve(
    database: Database,
    namespace: str,
    conflict_id: str,
    *,
    keep: str,
    reviewer: Reviewer,
    reason: str,
    now: datetime,
    secret: bytes,
    shown: str | None = None,
) -> Resolved:
    """Record which side of a conflict stands. The same decision again is a success without a second effect.

    Args:
        keep: ``left``, ``right``, ``both`` or ``neither``; of runs that did the same and ended differently only
            ``both``, which notes them.
        shown: ``shown_hash`` of what the reviewer saw; what is there now if absent.

    Raises:
        DecisionRefused: ``NotAllowed``, ``ReasonMissing``, and those of ``tasks.conflict.resolve.errors``; nothing was
            changed.
    """
    check_person(reviewer, namespace)
    reason = check_reason(reason)
    if keep not in KEEPS:
        raise SideUnknown(f"a resolution keeps {', '.join(KEEPS)}, not {keep!r}")
    with database.write() as session:
        row = conflict_by_id(session, namespace, conflict_id)
        if row is None:
            raise ConflictGone(f"there is no conflict {conflict_id} in {namespace}; list them")
        if row.sides.get("form") == MIXED_OUTCOME and keep != "both":
            raise SideUnknown(
                "runs that did the same and ended differently can only be noted, keeping both: neither is put aside"
            )
        if row.state == "resolved":
            return _repeated(row, keep)
        if shown is not None and shown != shown_hash(row.kind, row.sides):
            raise ConflictChanged(
                f"a side of conflict {conflict_id} says something else than what was shown; reload it"
            )
        if not decide(session, row, keep=keep, reason=reason, by=reviewer.user_id, now=now):
            return _repeated(row, keep)
        _record(session, row, reviewer, reason, now, secret)
    return Resolved(conflict_id, namespace, keep)


def _repeated(row: Conflict, keep: str) -> Resolved:
    if row.resolution is None:
        raise ConflictClosed(f"conflict {row.id} was closed by itself: {row.reason or 'a side is gone'}")
    if row.resolution != keep:
        raise OtherwiseResolved(f"conflict {row.id} was resolved before, keeping {row.resolution}")
    return Resolved(row.id, row.namespace, keep, changed=False)


def _record(session: Session, row: Conflict, reviewer: Reviewer, reason: str, now: datetime, secret: bytes) -> None:
    detail = {
        "keep": row.resolution,
        "kind": row.kind,
        "left": row.left_ref,
        "right": row.right_ref,
        "shown": shown_hash(row.kind, row.sides),
        "reason": keyed_hash(secret, "reason", reason),
    }
    audit.record(
        session, actor=reviewer.actor, action="conflict.resolved", namespace=row.namespace,
        target=f"conflict:{row.id}", detail=detail, now=now,
    )  # fmt: skip
