"""What a newer draft of the same claim does to a candidate and to the approvals it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tasks.stage.snapshot import Snapshot

Kind = Literal["create", "refresh", "reopen", "unchanged", "closed"]
OPEN = frozenset({"staged", "approved"})


@dataclass(frozen=True)
class Known:
    """A candidate as it is: its state, and the snapshot and packet hash of its current revision."""

    state: str
    snapshot: Snapshot
    packet_hash: str


@dataclass(frozen=True)
class Plan:
    """What to do with a draft. ``state`` is the candidate's afterwards; ``voids`` says why its approvals fall."""

    kind: Kind
    state: str
    voids: str | None = None

    @property
    def writes(self) -> bool:
        """Whether a revision is added."""
        return self.kind in {"create", "refresh", "reopen"}


def void_reason(old: Snapshot, new: Snapshot) -> str | None:
    """Why an approval given on ``old`` does not count for ``new``; None where it does: more support voids nothing."""
    if new.content_hash != old.content_hash:
        return "the content changed"
    against = max(len(new.counter - old.counter), new.counter_count - old.counter_count)
    if against > 0:
        return f"{against} new independent group{'s speak' if against > 1 else ' speaks'} against it"
    if new.tainted - old.tainted:
        return "some of its evidence ran under a rule that was revoked"
    if new.stale - old.stale:
        return "some of its evidence has a newer revision, or was purged"
    if new.includes_no_effect and not old.includes_no_effect:
        return "its interval includes no effect now"
    return None


def plan(
    known: Known | None,
    new: Snapshot,
    packet_hash: str,
    *,
    rejected: bool = False,
    revoked: bool = False,
    taken: bool | None = None,
) -> Plan:
    """Decide on a draft, given the candidate it would become.

    Args:
        rejected: whether a rejection of exactly this content stands.
        revoked: whether the rule made of it was revoked, and runs since then confirm the finding by themselves.
        taken: whether what took its place (it was split, or merged) still stands; None where nothing ever did.
    """
    if known is None:
        return Plan("create", "staged")
    if taken and known.state == "void":
        return Plan("closed", "void")
    same_content = new.content_hash == known.snapshot.content_hash
    if rejected and not same_content:
        return (
            Plan("refresh", "rejected", "the content changed") if known.state in OPEN else Plan("closed", known.state)
        )
    if not same_content:
        return Plan("refresh" if known.state in OPEN else "reopen", "staged", "the content changed")
    if known.state == "promoted" and revoked:
        return Plan("reopen", "staged", "the rule made of it was revoked")
    if known.state in {"promoted", "rejected"}:
        return Plan("closed", known.state)
    if known.state == "void":
        is_same = packet_hash == known.packet_hash and taken is None
        return Plan("unchanged", "void") if is_same else Plan("reopen", "staged")
    if packet_hash == known.packet_hash:
        return Plan("unchanged", known.state)
    why = void_reason(known.snapshot, new)
    return Plan("refresh", "staged" if why else known.state, why)
