"""Decisions: approve, reject, and restore by hand. Called by the review page and the command line, synchronously.

Every decision is one short transaction. It takes the namespace's lock first, so that nothing is promoted on a version
while that is being revoked, and publishes its event last.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session

from storage import audit, outbox, reservations
from storage.candidates import move_candidate, void_decisions
from storage.conflicts import resolve_conflicts
from storage.engine import Database
from storage.ids import keyed_hash, uuid7
from storage.queries import candidates as candidate_queries
from storage.queries import evidence as evidence_queries
from storage.queries import rules as rule_queries
from storage.queries.lineage import lineage_of_candidate
from storage.queries.rules import VersionKey
from storage.tables import Candidate, CandidateRevision, Decision, RuleVersion
from storage.versions import WITHDRAWN, add_version, move_versions, restore_version, set_ancestors
from tasks.promote.errors import (
    CandidateGone,
    EvidenceStale,
    HashMismatch,
    PacketIncomplete,
    Quarantined,
    RuleGone,
    SelfApproval,
    WrongState,
)
from tasks.promote.naming import rule_id as name_rule
from tasks.promote.packet import missing_parts, puts_aside, recheck_date, served_evidence
from tasks.promote.people import Reviewer
from tasks.promote.quorum import Standing, Verdict, check_person, check_reason, is_repeat, state_after
from tasks.recheck.proposal import RETIRING
from tasks.revoke.step import withdraw
from tasks.stage.refresh import void_reason
from tasks.stage.snapshot import snapshot
from tasks.stage.wanted import wanted_of


@dataclass(frozen=True)
class DecisionResult:
    """Where a candidate stands after a decision. ``rule_id``, ``version``, ``epoch`` are set once it is promoted.

    ``revoked``: what was approved was to withdraw that version, at that epoch.
    ``needed`` and ``have`` count approvals; ``changed`` is False where the same decision had been taken before.
    """

    candidate_id: str
    state: str
    needed: int
    have: int
    changed: bool = True
    rule_id: str | None = None
    version: int | None = None
    epoch: int | None = None
    revoked: bool = False


@dataclass(frozen=True)
class RestoreResult:
    """A version that is served again."""

    rule_id: str
    version: int
    epoch: int
    changed: bool = True


def approve(
    database: Database,
    namespace: str,
    candidate_id: str,
    *,
    content_hash: str,
    packet_hash: str | None = None,
    reviewer: Reviewer,
    reason: str,
    now: datetime,
    secret: bytes,
    only_tier: str | None = None,
) -> DecisionResult:
    """Approve exactly the content that was shown; promote it when the tier's quorum is complete.

    ``only_tier`` refuses a candidate of another tier by then: an approval in bulk holds for the low one alone.
    ``packet_hash`` is that of the packet the reviewer saw (the current one if absent). More support since then voids
    nothing. The same approval again is a success without a second effect.

    Raises:
        DecisionRefused: see ``tasks.promote.errors``; nothing was changed.
        NamespaceUnknown: if the namespace has no row.
    """
    return _decide(
        "approve",
        database,
        namespace,
        candidate_id,
        content_hash,
        packet_hash,
        reviewer,
        reason,
        now,
        secret,
        only_tier,
    )


def reject(
    database: Database,
    namespace: str,
    candidate_id: str,
    *,
    content_hash: str,
    packet_hash: str | None = None,
    reviewer: Reviewer,
    reason: str,
    now: datetime,
    secret: bytes,
) -> DecisionResult:
    """Reject exactly the content that was shown: one rejection before the quorum closes the candidate.

    Raises:
        DecisionRefused: see ``tasks.promote.errors``; nothing was changed.
        NamespaceUnknown: if the namespace has no row.
    """
    return _decide(
        "reject", database, namespace, candidate_id, content_hash, packet_hash, reviewer, reason, now, secret
    )


def restore(
    database: Database,
    namespace: str,
    rule_id: str,
    version: int,
    *,
    reviewer: Reviewer,
    reason: str,
    now: datetime,
    secret: bytes,
) -> RestoreResult:
    """Serve a quarantined version again, on a person's word that it stands without what was revoked.

    Raises:
        DecisionRefused: ``RuleGone``, ``WrongState`` if it is neither quarantined nor active, ``NotAllowed``,
            ``SelfApproval``, ``ReasonMissing``.
    """
    check_person(reviewer, namespace)
    reason = check_reason(reason)
    with database.write() as session:
        epoch = outbox.lock_namespace(session, namespace) + 1
        row = rule_queries.version(session, namespace, rule_id, version)
        if row is None:
            raise RuleGone(f"there is no version {version} of rule {rule_id} in {namespace}; list its versions")
        if row.state == "active":
            return RestoreResult(rule_id, version, row.state_epoch, changed=False)
        if reviewer.user_id in candidate_queries.authors_of(session, namespace, row.candidate_id):
            raise SelfApproval("whoever wrote or edited a text may not put it back; another reviewer has to")
        key = (rule_id, version)
        lineage = rule_queries.ancestors_of(session, namespace, [key])
        if not restore_version(session, namespace, key, reason=reason, epoch=epoch, now=now, lineage=lineage):
            raise WrongState(f"version {version} of {rule_id} is {row.state}, or a newer one is active: not restored")
        digest = {"reason": keyed_hash(secret, "reason", reason)}
        _record(session, reviewer, "rule.restored", namespace, f"rule:{rule_id}@{version}", digest, now)
        outbox.publish(session, namespace, [outbox.change("restored", rule_id, version, reason)], now)
        return RestoreResult(rule_id, version, epoch)


def _decide(
    verdict: Verdict,
    database: Database,
    namespace: str,
    candidate_id: str,
    content_hash: str,
    packet_hash: str | None,
    reviewer: Reviewer,
    reason: str,
    now: datetime,
    secret: bytes,
    only_tier: str | None = None,
) -> DecisionResult:
    check_person(reviewer, namespace)
    reason = check_reason(reason)
    with database.write() as session:
        epoch = outbox.lock_namespace(session, namespace) + 1
        candidate = _load(session, namespace, candidate_id)
        if only_tier is not None and candidate.tier != only_tier:
            raise WrongState(
                f"candidate {candidate_id} is of the {candidate.tier} tier: read it and decide on it by itself"
            )
        shown = _shown(session, candidate, content_hash, packet_hash)
        standing = _standing(session, candidate)
        lineage: set[VersionKey] = set()
        if is_repeat(verdict, standing, reviewer.user_id):
            return _result(session, candidate, standing, changed=False)
        if verdict == "approve":
            lineage = _check_approvable(session, candidate)
        _vote(session, candidate, shown, verdict, reviewer, reason, now)
        state = state_after(verdict, standing, reviewer.user_id)
        if not move_candidate(session, candidate, state, now):
            raise HashMismatch(f"candidate {candidate_id} changed while it was being decided; reload it and read again")
        reservations.let_go(session, namespace, candidate_id, reviewer.user_id)
        version: RuleVersion | None = None
        changes: list[dict[str, Any]] = []
        if state == "promoted" and candidate.kind in RETIRING:
            changes = _retire(session, candidate, reviewer, reason, epoch, now, secret)
        elif state == "promoted":
            version, changes = _promote(session, candidate, lineage, reason, epoch, now)
        detail = _digest(candidate, shown, reason, secret) | {
            "changes": [(c["event"], c["rule"], c["version"]) for c in changes]
        }
        _record(session, reviewer, f"candidate.{verdict}", namespace, f"candidate:{candidate_id}", detail, now)
        if changes:
            outbox.publish(session, namespace, changes, now)
        return _result(session, candidate, _standing(session, candidate), changed=True, version=version)


def _load(session: Session, namespace: str, candidate_id: str) -> Candidate:
    candidate = candidate_queries.candidate_by_id(session, namespace, candidate_id, lock=True)
    if candidate is None:
        raise CandidateGone(f"there is no candidate {candidate_id} in {namespace}; reload the queue")
    return candidate


def _shown(session: Session, candidate: Candidate, content_hash: str, packet_hash: str | None) -> CandidateRevision:
    """The revision that the reviewer saw, if a decision on it still counts for what the candidate is now."""
    if content_hash != candidate.content_hash:
        raise HashMismatch(
            f"candidate {candidate.id} has other content now ({candidate.content_hash[:12]}…) than what was shown "
            f"({content_hash[:12]}…); reload it and read it again"
        )
    revisions = candidate_queries.revisions_of(session, candidate.namespace, candidate.id)
    current = revisions[0]
    if packet_hash is None or packet_hash == current.packet_hash:
        return current
    seen = next((r for r in revisions if r.packet_hash == packet_hash and r.content_hash == content_hash), None)
    if seen is None:
        raise HashMismatch(f"candidate {candidate.id} never had the packet {packet_hash[:12]}…; reload it")
    why = void_reason(snapshot(seen.content_hash, seen.packet), snapshot(current.content_hash, current.packet))
    if why:
        raise HashMismatch(f"the evidence behind candidate {candidate.id} changed since it was shown: {why}; reload it")
    return seen


def _standing(session: Session, candidate: Candidate) -> Standing:
    live = candidate_queries.decisions_of(session, candidate.namespace, candidate.id)
    return Standing(
        state=candidate.state,
        tier=candidate.tier,
        votes={d.reviewer_id: d.verdict for d in live if d.content_hash == candidate.content_hash},
        authors=frozenset(candidate_queries.authors_of(session, candidate.namespace, candidate.id)),
    )


def _check_approvable(session: Session, candidate: Candidate) -> set[VersionKey]:
    """The versions that a promotion would descend from, if the packet is whole and none of them is withdrawn."""
    namespace = candidate.namespace
    if (wanted := wanted_of(candidate.wanted)) is not None and candidate.parked_at is not None:
        raise WrongState(
            f"candidate {candidate.id} waits for evidence that was asked for: {wanted.what()}; it can be approved once "
            "that arrived or the request was taken back, and rejected now"
        )
    revision = _current(session, candidate)
    missing = missing_parts(revision.content, revision.packet)
    if missing:
        raise PacketIncomplete(f"candidate {candidate.id} cannot be approved yet: {'; '.join(missing)}")
    stale = evidence_queries.stale_cited(session, namespace, candidate.id, candidate.number)
    if stale:
        raise EvidenceStale(
            f"candidate {candidate.id} cites {len(stale)} episodes that were revised or purged since; the next night "
            "drafts it again from what is there now"
        )
    _check_not_revoked(session, candidate)
    lineage = lineage_of_candidate(session, namespace, candidate.id, candidate.number)
    withdrawn = [v for v in rule_queries.versions_by_keys(session, namespace, lineage) if v.state in WITHDRAWN]
    if withdrawn:
        named = ", ".join(f"{row.rule_id} version {row.version} ({row.state})" for row in withdrawn)
        raise Quarantined(
            f"the evidence behind candidate {candidate.id} was made under {named}; wait for the next night"
        )
    return lineage


def _check_not_revoked(session: Session, candidate: Candidate) -> None:
    """A new version of a rule does not bring back what was revoked while it waited: a night says whether it may."""
    if candidate.replaces_rule_id is None or candidate.kind in RETIRING:
        return
    replaced = rule_queries.version(
        session, candidate.namespace, candidate.replaces_rule_id, candidate.replaces_version or 0
    )
    rule = rule_queries.rule_by_predicate(session, candidate.namespace, candidate.predicate_id)
    if replaced is not None and replaced.state == "revoked" and rule is not None and rule.id == replaced.rule_id:
        raise Quarantined(
            f"rule {rule.id}, of which candidate {candidate.id} is a new version, was revoked since; wait for the next "
            "night, which asks whether runs made after that confirm it"
        )


def _promote(
    session: Session, candidate: Candidate, lineage: set[VersionKey], reason: str, epoch: int, now: datetime
) -> tuple[RuleVersion, list[dict[str, Any]]]:
    """Make the version, put what it replaces aside, and say what readers have to be told."""
    namespace, revision = candidate.namespace, _current(session, candidate)
    known = rule_queries.rule_by_predicate(session, namespace, candidate.predicate_id)
    rule_id = known.id if known else _name(candidate, revision)
    replaced = {(row.rule_id, row.version) for row in rule_queries.versions_of(session, namespace, rule_id)}
    replaced |= _put_aside(session, candidate, revision)
    superseded = move_versions(
        session, namespace, replaced, to="superseded", reason=f"superseded by {rule_id}", epoch=epoch, now=now
    )
    version = add_version(
        session,
        candidate,
        revision,
        rule_id=rule_id,
        evidence=served_evidence(revision.packet),
        recheck_at=recheck_date(revision.content),
        reason=reason,
        epoch=epoch,
        now=now,
    )
    set_ancestors(session, namespace, (rule_id, version.version), lineage)
    resolve_conflicts(session, namespace, [f"rule:{old}@{number}" for old, number in superseded])
    changes = [outbox.change("superseded", old, number, f"superseded by {rule_id}") for old, number in superseded]
    return version, [*changes, outbox.change("promoted", rule_id, version.version, reason)]


def _name(candidate: Candidate, revision: CandidateRevision) -> str:
    return name_rule(revision.content.get("predicate") or {}, candidate.predicate_id, candidate.kind)


def _retire(
    session: Session,
    candidate: Candidate,
    reviewer: Reviewer,
    reason: str,
    epoch: int,
    now: datetime,
    secret: bytes,
) -> list[dict[str, Any]]:
    """Approving a proposal to withdraw a rule is a revocation by whoever approves it.

    Raises:
        WrongState: if the version in question is not active any more.
    """
    namespace, rule_id = candidate.namespace, str(candidate.replaces_rule_id)
    rows = rule_queries.versions_of(session, namespace, rule_id)
    active = next((row.version for row in rows if row.state == "active"), None)
    if active is None or active != candidate.replaces_version:
        raise WrongState(
            f"rule {rule_id} version {candidate.replaces_version} is not active any more, so there is nothing to "
            "withdraw; reject this candidate, or wait for the next night"
        )
    done = withdraw(session, namespace, rows, reason=reason, actor=reviewer, epoch=epoch, now=now, secret=secret)
    return done[1] if done is not None else []


def _put_aside(session: Session, candidate: Candidate, revision: CandidateRevision) -> set[VersionKey]:
    """Versions that cannot stay current beside this one: never are both sides of a conflict served."""
    versions, rivals = puts_aside(revision.packet)
    found = set(versions)
    if candidate.replaces_rule_id is not None and candidate.replaces_version is not None:
        found.add((candidate.replaces_rule_id, candidate.replaces_version))
    for rival in candidate_queries.candidates_by_ids(session, candidate.namespace, rivals).values():
        made = rule_queries.version_of_candidate(session, candidate.namespace, rival.id, rival.content_hash)
        if made is not None:
            found.add((made.rule_id, made.version))
    return found


def _current(session: Session, candidate: Candidate) -> CandidateRevision:
    revision = candidate_queries.revision(session, candidate.namespace, candidate.id, candidate.number)
    if revision is None:
        raise CandidateGone(f"revision {candidate.number} of candidate {candidate.id} is gone; reload the queue")
    return revision


def _vote(
    session: Session,
    candidate: Candidate,
    shown: CandidateRevision,
    verdict: Verdict,
    reviewer: Reviewer,
    reason: str,
    now: datetime,
) -> None:
    """One live vote a reviewer and content: a changed mind voids the earlier vote and keeps it in the history."""
    void_decisions(
        session, candidate.namespace, candidate.id, why="changed their mind", now=now,
        reviewer_id=reviewer.user_id, content_hash=shown.content_hash,
    )  # fmt: skip
    session.add(
        Decision(
            namespace=candidate.namespace,
            id=uuid7(),
            candidate_id=candidate.id,
            number=shown.number,
            content_hash=shown.content_hash,
            packet_hash=shown.packet_hash,
            verdict=verdict,
            reviewer_id=reviewer.user_id,
            reason=reason,
            at=now,
        )
    )
    session.flush()


def _digest(candidate: Candidate, shown: CandidateRevision, reason: str, secret: bytes) -> dict[str, Any]:
    return {
        "content_hash": shown.content_hash,
        "packet_hash": shown.packet_hash,
        "number": shown.number,
        "state": candidate.state,
        "reason": keyed_hash(secret, "reason", reason),
    }


def _record(
    session: Session,
    reviewer: Reviewer,
    action: str,
    namespace: str,
    target: str,
    detail: dict[str, Any],
    now: datetime,
) -> None:
    audit.record(
        session, actor=reviewer.actor, action=action, namespace=namespace, target=target, detail=detail, now=now
    )


def _result(
    session: Session, candidate: Candidate, standing: Standing, *, changed: bool, version: RuleVersion | None = None
) -> DecisionResult:
    if version is None and candidate.state == "promoted":
        namespace, content_hash = candidate.namespace, candidate.content_hash
        version = rule_queries.version_of_candidate(session, namespace, candidate.id, content_hash)
    if candidate.state == "promoted" and candidate.kind in RETIRING:
        key = (str(candidate.replaces_rule_id), candidate.replaces_version or 0)
        version = rule_queries.version(session, candidate.namespace, *key)
    return DecisionResult(
        candidate_id=candidate.id,
        state=candidate.state,
        needed=standing.needed,
        have=standing.have,
        changed=changed,
        rule_id=version.rule_id if version else None,
        version=version.version if version else None,
        epoch=(version.state_epoch if version.state == "revoked" else version.promoted_epoch) if version else None,
        revoked=candidate.kind in RETIRING and version is not None,
    )
