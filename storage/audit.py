"""The audit log: append-only, hash-chained, one chain for the whole store. Text enters as keyed digests only."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.ids import canonical_json
from storage.tables import AuditEntry, AuditHead

BATCH = 2000
_TABLE = AuditEntry.__table__  # type: ignore[attr-defined]
# Columns, not entries: a log is long.
_ENTRIES = sa.select(*_TABLE.columns).order_by(col(AuditEntry.seq)).limit(BATCH)
# In one statement, so that both are of the same moment.
_ENDS = sa.select(AuditHead, sa.select(sa.func.max(col(AuditEntry.seq))).scalar_subquery())


@dataclass(frozen=True)
class ChainReport:
    """What ``verify`` found: how many sound entries, the first that does not fit, and the head's hash."""

    entries: int
    ok: bool
    broken_at: int | None = None
    why: str = ""
    head: str = field(default="", compare=False)


def record(
    session: Session,
    *,
    actor: str,
    action: str,
    namespace: str = "",
    target: str = "",
    detail: dict[str, Any] | None = None,
    now: datetime,
) -> AuditEntry:
    """Append one act. The head row's lock is held until commit, so the chain cannot fork.

    ``detail`` holds ids, hashes and counts, never text that a purge would have to erase.
    """
    head = session.execute(
        sa.update(AuditHead).where(col(AuditHead.id) == 1).values(seq=col(AuditHead.seq) + 1)
        .returning(col(AuditHead.seq), col(AuditHead.hash))
    ).one()  # fmt: skip
    entry = AuditEntry(
        seq=head.seq,
        at=now,
        actor=actor,
        action=action,
        namespace=namespace,
        target=target,
        detail=detail or {},
        previous_hash=head.hash,
        hash="",
    )
    entry.hash = entry_hash(entry)
    session.add(entry)
    session.execute(sa.update(AuditHead).where(col(AuditHead.id) == 1).values(hash=entry.hash))
    return entry


def entry_hash(entry: Any) -> str:
    """SHA-256 over the previous hash and everything the entry, or its row, says."""
    said = [
        entry.previous_hash,
        entry.seq,
        entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
        entry.actor,
        entry.action,
        entry.namespace,
        entry.target,
        entry.detail,
    ]
    return hashlib.sha256(canonical_json(said)).hexdigest()


def verify(session: Session) -> ChainReport:
    """Check the whole chain of this store, a batch at a time: acts that come meanwhile are checked with it."""
    walk, last = _Walk(), 0
    while True:
        entries = session.execute(_ENTRIES.where(col(AuditEntry.seq) > last)).all()
        if not entries:
            head, newest = session.execute(_ENDS, execution_options={"populate_existing": True}).one()
            if (newest or 0) > last:
                continue
            return walk.end(head)
        for entry in entries:
            if (broken := walk.take(entry)) is not None:
                head = session.exec(select(AuditHead)).one()
                return replace(broken, head=head.hash)
        last = entries[-1].seq


class _Walk:
    """Numbers without a gap, each hash over the one before, the head at the end."""

    def __init__(self) -> None:
        self.previous, self.sound = "", 0

    def take(self, entry: Any) -> ChainReport | None:
        """What is wrong with the next entry."""
        expected = self.sound + 1
        if entry.seq != expected:
            return ChainReport(self.sound, False, expected, f"entry {expected} is missing")
        if entry.previous_hash != self.previous:
            return ChainReport(self.sound, False, entry.seq, "does not follow the entry before it")
        if entry.hash != entry_hash(entry):
            return ChainReport(self.sound, False, entry.seq, "was changed after it was written")
        self.previous, self.sound = entry.hash, expected
        return None

    def end(self, head: AuditHead) -> ChainReport:
        """Whether the newest entry is the head's."""
        if head.seq != self.sound or head.hash != self.previous:
            return ChainReport(self.sound, False, head.seq, "the newest entries were removed", head.hash)
        return ChainReport(self.sound, True, head=head.hash)
