"""Put the proposal to withdraw a rule before the reviewers, refresh it, or take it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlmodel import Session

from storage import audit
from storage.candidates import add_revision, move_candidate, void_decisions
from storage.engine import Database
from storage.ids import content_hash
from storage.ledger import Claim, guard
from storage.queries import candidates as candidate_queries
from storage.tables import Candidate, CandidateRevision, Evidence
from tasks.context import StepContext
from tasks.draft.statistical import expected_gain
from tasks.recheck import proposal
from tasks.recheck.judge import Judged
from tasks.recheck.proposal import AUTHOR, Active, Shown, candidate_id
from tasks.stage.columns import queue_columns, reasons
from tasks.stage.reach_step import sessions_reached
from tasks.stage.refresh import Known, Plan, plan
from tasks.stage.settle import packet_hash
from tasks.stage.snapshot import snapshot
from tasks.stage.step import known_of

TIER_WHY = "it takes a rule away, as any revocation does, and has the agent do nothing more than before"
STANDS_AGAIN = "tonight's recheck finds that the rule stands"


def propose(
    database: Database,
    claim: Claim,
    context: StepContext,
    rule: Active,
    judged: Judged,
    shown: Sequence[Shown],
    kind: str,
) -> bool:
    """Stage or refresh the candidate that withdraws a rule; False where nothing was written.

    A rejection of exactly this proposal stands: the rule stays, until the proposal is another one.
    """
    content = proposal.content(rule, claim.namespace, kind, proposal.due(rule.content, context.now.date()))
    packet = proposal.packet(rule, judged, shown, TIER_WHY)
    hashes = content_hash(content), packet_hash(packet)
    family = (rule.content.get("predicate") or {}).get("family")
    with database.read() as session:
        reach = sessions_reached(session, claim.namespace, family, rule.content.get("scope") or {}, context.now).count
    with database.write() as session:
        guard(session, claim)
        identity = candidate_id(claim.namespace, rule.key[0])
        candidate = candidate_queries.candidate_by_id(session, claim.namespace, identity, lock=True)
        if candidate is not None and candidate.run_id == claim.run_id:
            return True
        known = known_of(session, candidate)
        decided = _plan(session, candidate, known, hashes, packet)
        if not decided.writes:
            return False
        columns = _columns(claim, rule, kind, hashes, packet)
        before, after = known.snapshot if known else None, snapshot(hashes[0], packet)
        why = reasons(packet, decided.kind, before, after, withdraws=True)
        columns |= queue_columns(packet, why) | {"reach": reach}
        if candidate is None:
            candidate = Candidate(
                namespace=claim.namespace, id=identity, created_at=context.now, updated_at=context.now, number=1,
                **columns,
            )  # fmt: skip
            session.add(candidate)
            session.flush()
        elif not _refresh(session, claim, context, candidate, decided, columns):
            raise RuntimeError(f"candidate {identity} moved while its row was locked: the store is not as it should be")
        _add(session, claim, context, candidate, content, packet, shown)
        detail = {"run": claim.run_id, "rule": rule.key, "verdict": judged.verdict, "content_hash": hashes[0]}
        _record(session, context, f"candidate.{decided.kind}", claim.namespace, identity, detail)
        return True


def withdraw_proposal(database: Database, claim: Claim, context: StepContext, rule_id: str) -> bool:
    """Void a waiting proposal, since the rule stands again."""
    identity = candidate_id(claim.namespace, rule_id)
    with database.write() as session:
        guard(session, claim)
        candidate = candidate_queries.candidate_by_id(session, claim.namespace, identity, lock=True)
        if candidate is None or candidate.state not in ("staged", "approved"):
            return False
        if not move_candidate(session, candidate, "void", context.now):
            return False
        void_decisions(session, claim.namespace, identity, why=STANDS_AGAIN, now=context.now, verdict="approve")
        detail = {"run": claim.run_id, "why": STANDS_AGAIN}
        _record(session, context, "candidate.void", claim.namespace, identity, detail)
        return True


def _plan(
    session: Session, candidate: Candidate | None, known: Known | None, hashes: tuple[str, str], packet: dict[str, Any]
) -> Plan:
    new = snapshot(hashes[0], packet)
    if candidate is None:
        return plan(None, new, hashes[1])
    refused = candidate_queries.rejected_hashes(session, candidate.namespace, [candidate.id])
    return plan(known, new, hashes[1], rejected=(candidate.id, hashes[0]) in refused)


def _columns(claim: Claim, rule: Active, kind: str, hashes: tuple[str, str], packet: dict[str, Any]) -> dict[str, Any]:
    predicate = rule.content.get("predicate") or {}
    return {
        "kind": kind, "tier": packet["tier"], "tier_why": packet["tier_why"], "content_hash": hashes[0],
        "packet_hash": hashes[1], "title": f"Withdraw: {rule.title}".rstrip("."),
        "predicate_id": candidate_id(claim.namespace, rule.key[0]), "family_id": predicate.get("family"),
        "cluster_id": None, "run_id": claim.run_id, "replaces_rule_id": rule.key[0], "replaces_version": rule.key[1],
        # What was promised is what is now missing, for every run that it reaches.
        "rank": expected_gain(rule.packet),
    }  # fmt: skip


def _refresh(
    session: Session, claim: Claim, context: StepContext, candidate: Candidate, decided: Plan, columns: dict[str, Any]
) -> bool:
    extra = columns | {"number": candidate.number + 1}
    if not move_candidate(session, candidate, decided.state, context.now, extra=extra):
        return False
    if decided.voids:
        why = decided.voids
        void_decisions(session, claim.namespace, candidate.id, why=why, now=context.now, verdict="approve")
    return True


def _add(
    session: Session,
    claim: Claim,
    context: StepContext,
    candidate: Candidate,
    content: dict[str, Any],
    packet: dict[str, Any],
    shown: Sequence[Shown],
) -> None:
    inputs = sorted({one.episode_id for one in shown})
    revision = CandidateRevision(
        namespace=claim.namespace, candidate_id=candidate.id, number=candidate.number, run_id=claim.run_id,
        content=content, content_hash=candidate.content_hash, packet=packet, packet_hash=candidate.packet_hash,
        author=AUTHOR, drafter=AUTHOR, mode="none", inputs=inputs, prompt_hash=content_hash([content, inputs]),
        cost=packet["cost"], created_at=context.now,
    )  # fmt: skip
    evidence = [
        Evidence(
            namespace=claim.namespace, id=content_hash([candidate.id, candidate.number, one.episode_id], 32),
            candidate_id=candidate.id, number=candidate.number, episode_id=one.episode_id,
            step_ids=list(one.step_ids), stance=one.stance, group_id=one.group, stratum=one.stratum,
        )
        for one in shown
    ]  # fmt: skip
    add_revision(session, revision, evidence)


def _record(
    session: Session, context: StepContext, action: str, namespace: str, candidate_id: str, detail: dict[str, Any]
) -> None:
    audit.record(
        session, actor=context.actor, action=action, namespace=namespace, target=f"candidate:{candidate_id}",
        detail=detail, now=context.now,
    )  # fmt: skip
