"""Merge a candidate that says the same as another into that one: one text is decided on, with the evidence of both.

The merge lasts from night to night while the one that is kept stands; then the other comes back by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session

from storage import audit, outbox
from storage.candidates import add_revision, move_candidate, void_decisions
from storage.conflicts import resolve_conflicts
from storage.engine import Database
from storage.ids import content_hash as hash_of
from storage.ids import keyed_hash
from storage.queries import candidates as candidate_queries
from storage.queries import evidence as evidence_queries
from storage.queries.taint import tainted_among
from storage.tables import Candidate, CandidateRevision, Draft, Evidence
from tasks.cluster.kin import Worded
from tasks.cluster.kin_step import lines_of, predicate_of
from tasks.promote.errors import CandidateGone, HashMismatch, WrongState
from tasks.promote.people import Reviewer
from tasks.promote.quorum import check_person, check_reason
from tasks.stage.columns import MERGED, queue_columns, with_reason
from tasks.stage.merge import LIKENESS, MOST_OFFERED, Likely, Link, Said, entry, merged_packet, united, why_not
from tasks.stage.refresh import OPEN, void_reason
from tasks.stage.settle import packet_hash
from tasks.stage.snapshot import snapshot

MOST_READ = 200
"""Waiting candidates that are looked through for duplicates, the highest rank first."""


@dataclass(frozen=True)
class Merged:
    """What came of it. ``voids`` says why the approvals of the kept one fell; None where they stand."""

    into_id: str
    other_id: str
    number: int
    state: str
    voids: str | None = None
    changed: bool = True


def merge(
    database: Database,
    namespace: str,
    into_id: str,
    other_id: str,
    *,
    content_hash: str,
    other_hash: str,
    reviewer: Reviewer,
    reason: str,
    now: datetime,
    secret: bytes,
) -> Merged:
    """Merge ``other_id`` into ``into_id``, whose text stays as it is. The other is void, and its approvals with it.

    The approvals of the one that is kept stand unless the other brings a group that speaks against it. The same merge
    again is a success without a second effect.

    Args:
        content_hash: of the content of the one that is kept, as it was shown.
        other_hash: of the other's content, as it was shown.

    Raises:
        DecisionRefused: ``NotAllowed``, ``ReasonMissing``, ``CandidateGone``; ``HashMismatch`` if one of them is not
            what was shown any more; ``WrongState`` if one of them does not wait, or they cannot be one. Nothing was
            changed.
        NamespaceUnknown: if the namespace has no row.
    """
    check_person(reviewer, namespace)
    reason = check_reason(reason)
    with database.write() as session:
        outbox.lock_namespace(session, namespace)
        into, kept = _load(session, namespace, into_id, content_hash)
        other, lost = _load(session, namespace, other_id, other_hash)
        if other.state == "void" and into_id in other.taken_by:
            return Merged(into_id, other_id, into.number, into.state, changed=False)
        _check(into, kept, other, lost)
        why = f"merged into {into_id}"
        extra: dict[str, Any] = {"taken_by": [into_id], "wanted": {}, "parked_at": None, "parked_by": None}
        if not move_candidate(session, other, "void", now, extra=extra):
            raise HashMismatch(f"candidate {other_id} changed while it was being merged; reload it and read again")
        void_decisions(session, namespace, other_id, why=why, now=now, verdict="approve")
        resolve_conflicts(session, namespace, [f"candidate:{other_id}"])
        new = entry(
            other_id,
            other.title,
            other.content_hash,
            lost.content,
            lost.packet,
            by=reviewer.user_id,
            reason=reason,
            at=now,
        )
        voids = _put(session, into, kept, other, new, now)
        digest = keyed_hash(secret, "reason", reason)
        told = {"merged": other_id, "number": into.number, "content_hash": content_hash, "other_hash": other_hash}
        _record(
            session, reviewer, "candidate.merge", namespace, into_id, told | {"voids": voids, "reason": digest}, now
        )
        _record(session, reviewer, "candidate.void", namespace, other_id, {"why": why, "reason": digest}, now)
        return Merged(into_id, other_id, into.number, into.state, voids)


def _load(session: Session, namespace: str, candidate_id: str, shown: str) -> tuple[Candidate, CandidateRevision]:
    candidate = candidate_queries.candidate_by_id(session, namespace, candidate_id, lock=True)
    revision = candidate_queries.current_revisions(session, namespace, [candidate_id]).get(candidate_id)
    if candidate is None or revision is None:
        raise CandidateGone(f"there is no candidate {candidate_id} in {namespace}; reload the queue")
    if candidate.content_hash != shown:
        raise HashMismatch(
            f"candidate {candidate_id} has other content now ({candidate.content_hash[:12]}…) than what was shown "
            f"({shown[:12]}…); reload it and read it again"
        )
    return candidate, revision


def _check(into: Candidate, kept: CandidateRevision, other: Candidate, lost: CandidateRevision) -> None:
    if into.id == other.id:
        raise WrongState(f"candidate {into.id} cannot be merged into itself; name another one")
    for row in (into, other):
        if row.kind != "rule":
            raise WrongState(f"candidate {row.id} is a proposal of the kind {row.kind}; only rules can be merged")
        if row.state not in OPEN:
            raise WrongState(f"candidate {row.id} is {row.state}; only what waits for a decision can be merged")
    why = why_not(kept.content, lost.content)
    if why:
        raise WrongState(f"candidates {into.id} and {other.id} cannot be merged: {why}")


def _put(
    session: Session,
    into: Candidate,
    kept: CandidateRevision,
    other: Candidate,
    new: Sequence[Mapping[str, Any]],
    now: datetime,
) -> str | None:
    """The next revision of the one that is kept; returns why its approvals fell."""
    own = [row for row, _ in evidence_queries.evidence_of(session, into.namespace, into.id, into.number)]
    brought = _brought(session, into.namespace, [other], own)
    links = [_link(row) for row in (*own, *brought)]
    merged = [*(kept.packet.get("merged") or []), *new]
    packet = merged_packet(kept.packet, merged, links)
    hashed = packet_hash(packet)
    voids = void_reason(snapshot(kept.content_hash, kept.packet), snapshot(kept.content_hash, packet))
    columns = {
        "number": into.number + 1,
        "packet_hash": hashed,
        **queue_columns(packet, with_reason(into.why_now, MERGED).split()),
    }
    if not move_candidate(session, into, "staged" if voids else into.state, now, extra=columns):
        raise HashMismatch(f"candidate {into.id} changed while another was being merged into it; reload it")
    if voids:
        void_decisions(session, into.namespace, into.id, why=voids, now=now, verdict="approve")
    # A merge writes no text: the author stays who it was.
    values = kept.model_dump() | {"number": into.number, "packet": packet, "packet_hash": hashed, "created_at": now}
    values["inputs"] = sorted({*kept.inputs, *(row.episode_id for row in brought)})
    rows = [_copied(row, into) for row in (*own, *brought)]
    add_revision(session, CandidateRevision(**values), rows)
    return voids


def _brought(session: Session, namespace: str, others: Iterable[Candidate], own: Sequence[Evidence]) -> list[Evidence]:
    """What other candidates cite beyond that, as far as it still counts: not revised, purged or tainted since."""
    rows = [
        row
        for other in others
        for row, episode in evidence_queries.evidence_of(session, namespace, other.id, other.number)
        if episode.is_current and episode.purged_at is None and not row.is_stale
    ]
    tainted = tainted_among(session, namespace, {row.episode_id for row in rows})
    fit = {_link(row): row for row in rows if row.episode_id not in tainted}
    return [fit[link] for link in united((_link(row) for row in own), fit)]


def _link(row: Evidence) -> Link:
    return Link(row.episode_id, row.stance, row.group_id)


def _copied(row: Evidence, into: Candidate) -> Evidence:
    identity = hash_of([into.id, into.number, row.episode_id, row.stance], 32)
    return Evidence(**(row.model_dump() | {"id": identity, "candidate_id": into.id, "number": into.number}))


# What a night keeps


def merges_kept(database: Database, drafts: Sequence[Draft]) -> list[Draft]:
    """Tonight's drafts, each with what was merged into its candidate, while the other has not come back.

    A draft so changed is no row: what the night stored stays what the night wrote.
    """
    if not drafts:
        return []
    with database.read() as session:
        found = candidate_queries.current_revisions(session, drafts[0].namespace, [one.candidate_id for one in drafts])
        return [
            _with_merged(session, draft, found[draft.candidate_id].packet["merged"])
            if draft.candidate_id in found and found[draft.candidate_id].packet.get("merged")
            else draft
            for draft in drafts
        ]


def _with_merged(session: Session, draft: Draft, merged: Sequence[Mapping[str, Any]]) -> Draft:
    observed = evidence_queries.observations_of(session, draft.namespace, draft.inference_id)
    own = [
        _plain(draft, episode.id, link.stance, link.group_id, observation.step_ids, episode.task_key)
        for link, observation, episode in observed
    ]
    packet, _ = with_merged(session, draft.namespace, draft.candidate_id, draft.packet, merged, own)
    gone = {f"candidate:{one['id']}" for one in packet.get("merged") or []}
    conflicts = [row for row in draft.conflicts if row.get("with") not in gone]
    return Draft(**{**draft.model_dump(), "packet": packet, "conflicts": conflicts})


def _plain(draft: Draft, episode_id: str, stance: str, group: str, steps: Sequence[str], task: str) -> Evidence:
    return Evidence(
        namespace=draft.namespace, id="", candidate_id=draft.candidate_id, number=0, episode_id=episode_id,
        step_ids=list(steps), stance=stance, group_id=group, stratum=task,
    )  # fmt: skip


def with_merged(
    session: Session,
    namespace: str,
    candidate_id: str,
    packet: Mapping[str, Any],
    merged: Sequence[Mapping[str, Any]],
    own: Sequence[Evidence],
) -> tuple[dict[str, Any], list[Evidence]]:
    """A newer packet of a candidate with what was merged into it, and the evidence that this brings.

    Args:
        packet: of the candidate's own claim alone.
        merged: as the candidate's last packet names them; those that came back since are left out.
        own: the evidence of the newer packet.
    """
    takers = {candidate_id, *(str(one["id"]) for one in merged)}
    rows = candidate_queries.candidates_by_ids(session, namespace, takers)
    still = [
        one
        for one in merged
        if (row := rows.get(str(one["id"]))) is not None and row.state == "void" and takers & set(row.taken_by)
    ]
    brought = _brought(session, namespace, [rows[str(one["id"])] for one in still], own)
    links = [_link(row) for row in (*own, *brought)]
    return merged_packet(packet, still, links), brought


def brought_rows(
    session: Session, candidate: Candidate, packet: Mapping[str, Any], own: Sequence[Evidence]
) -> list[Evidence]:
    """The evidence that a packet's merges bring beside a revision's own, as rows of that revision."""
    merged = packet.get("merged") or []
    if not merged:
        return []
    _, brought = with_merged(session, candidate.namespace, candidate.id, packet, merged, own)
    return [_copied(row, candidate) for row in brought]


# What is offered


def likely_duplicates(
    session: Session, candidate: Candidate, revision: CandidateRevision, limit: int = MOST_OFFERED
) -> list[Likely]:
    """Waiting candidates of the namespace that may say the same: open conflicts first, then same calls, then words."""
    if candidate.kind != "rule" or candidate.state not in OPEN:
        return []
    ref = f"candidate:{candidate.id}"
    known = {
        (row.right_ref if row.left_ref == ref else row.left_ref).removeprefix("candidate:"): row.kind
        for row in candidate_queries.conflicts_touching(session, candidate.namespace, [ref])
        if row.kind in ("duplicate", "overlap")
    }
    waiting = candidate_queries.queue(session, candidate.namespace, limit=MOST_READ)
    beyond = known.keys() - {row.id for row, _ in waiting}
    rows = candidate_queries.candidates_by_ids(session, candidate.namespace, beyond)
    texts = candidate_queries.current_revisions(session, candidate.namespace, beyond)
    pool = [*waiting, *((rows[one], texts[one]) for one in sorted(rows.keys() & texts.keys()))]
    found, mine = [], _said(revision)
    for row, text in pool:
        if row.id == candidate.id or row.kind != "rule" or row.state not in OPEN:
            continue
        why = known.get(row.id) or mine.likeness(_said(text))
        if why and not why_not(revision.content, text.content):
            found.append(Likely(row.id, row.title, row.content_hash, why))
    return sorted(found, key=lambda one: (LIKENESS.index(one.why), one.id))[:limit]


def _said(text: CandidateRevision) -> Said:
    return Said(predicate_of(text.content), Worded.of(lines_of(text.content)))


def _record(
    session: Session,
    reviewer: Reviewer,
    action: str,
    namespace: str,
    candidate_id: str,
    detail: dict[str, Any],
    now: datetime,
) -> None:
    target = f"candidate:{candidate_id}"
    audit.record(
        session, actor=reviewer.actor, action=action, namespace=namespace, target=target, detail=detail, now=now
    )
