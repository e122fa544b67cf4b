"""The audit log: append-only, hash-chained, one chain for the whole store. Text enters as keyed digests only."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.ids import canonical_json
from storage.tables import AuditEntry, AuditHead


@dataclass(frozen=True)
class ChainReport:
    """What ``verify`` found: how many entries, and the first that does not fit."""

    entries: int
    ok: bool
    broken_at: int | None = None
    why: str = ""


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


def entry_hash(entry: AuditEntry) -> str:
    """SHA-256 over the previous hash and everything the entry says."""
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


def check_chain(entries: Iterable[AuditEntry], head: AuditHead) -> ChainReport:
    """Walk the chain: numbers without a gap, each hash over the one before, the head at the end."""
    previous, expected = "", 1
    for entry in entries:
        if entry.seq != expected:
            return ChainReport(expected - 1, False, expected, f"entry {expected} is missing")
        if entry.previous_hash != previous:
            return ChainReport(expected - 1, False, entry.seq, "does not follow the entry before it")
        if entry.hash != entry_hash(entry):
            return ChainReport(expected - 1, False, entry.seq, "was changed after it was written")
        previous, expected = entry.hash, expected + 1
    if head.seq != expected - 1 or head.hash != previous:
        return ChainReport(expected - 1, False, head.seq, "the newest entries were removed")
    return ChainReport(expected - 1, True)


def verify(session: Session) -> ChainReport:
    """Check the whole chain of this store."""
    head = session.exec(select(AuditHead)).one()
    return check_chain(session.exec(select(AuditEntry).order_by(col(AuditEntry.seq))), head)
