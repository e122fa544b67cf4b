"""Revocation: the barrier first, in one short transaction; the repair afterwards, as a run of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlmodel import Session

from storage import audit, outbox
from storage.candidates import move_candidate, void_decisions
from storage.conflicts import resolve_conflicts
from storage.engine import Database
from storage.ids import keyed_hash
from storage.ledger import Claim, add_steps, guard
from storage.queries import evidence as evidence_queries
from storage.queries import rules as rule_queries
from storage.queries.evidence import open_candidates_leaning
from storage.queries.lineage import episodes_that_read, lineage_of_episodes, sessions_that_read
from storage.queries.rules import VersionKey
from storage.queries.runs import run_by_id, run_newest_of_key
from storage.queries.taint import tainted_among, tainted_episode_ids, tainted_versions
from storage.runs import insert_run
from storage.tables import Candidate, RuleVersion
from storage.versions import move_versions, quarantine_descendants, restore_version
from tasks.context import StepContext
from tasks.promote.errors import RuleGone
from tasks.promote.people import Reviewer
from tasks.promote.quorum import check_person, check_reason
from tasks.revoke import purge_erase_step
from tasks.revoke.purge import KEY as PURGE
from tasks.verify.support import NOTHING, Remaining
from tasks.verify.weigh_step import weigh_again

TAINTED = "some of its evidence ran under a rule that was revoked"


@dataclass(frozen=True)
class Preview:
    """What a revocation would do, and whom it would reach. Lists are whole; pages shorten them."""

    rule_id: str
    versions: list[VersionKey]
    descendants: list[VersionKey]
    sessions: list[str]
    candidates: list[str]
    episodes: list[str]


@dataclass(frozen=True)
class RevokeResult:
    """What a revocation did. ``changed`` is False where the rule was revoked before; the epoch is then that one."""

    rule_id: str
    epoch: int
    revoked: list[VersionKey]
    quarantined: list[VersionKey] = field(default_factory=list)
    repair_run_id: str | None = None
    changed: bool = True


def preview(session: Session, namespace: str, rule_id: str) -> Preview:
    """What revoking a rule now would withdraw, void and taint. Reads only.

    Raises:
        RuleGone: if there is no such rule.
    """
    rows = _versions(session, namespace, rule_id)
    keys = [(row.rule_id, row.version) for row in rows if row.state != "revoked"]
    below = rule_queries.descendants_of(session, namespace, keys)
    served = [
        (row.rule_id, row.version)
        for row in rule_queries.versions_by_keys(session, namespace, below)
        if row.state == "active" and row.rule_id != rule_id
    ]
    withdrawn = {*keys, *below}
    episodes = episodes_that_read(session, namespace, withdrawn)
    return Preview(
        rule_id=rule_id,
        versions=sorted(keys),
        descendants=sorted(served),
        sessions=sorted(sessions_that_read(session, namespace, withdrawn)),
        candidates=[row.id for row in open_candidates_leaning(session, namespace, episodes, withdrawn)],
        episodes=sorted(episodes),
    )


def revoke(
    database: Database, namespace: str, rule_id: str, *, reason: str, actor: Reviewer, now: datetime, secret: bytes
) -> RevokeResult:
    """Withdraw a rule in every version, and at once whatever descends from it; open the repair that sorts them out.

    A rule that is revoked already stays so: success, with the epoch of then.

    Raises:
        DecisionRefused: ``RuleGone``, ``NotAllowed``, ``ReasonMissing``; nothing was changed.
        NamespaceUnknown: if the namespace has no row.
    """
    check_person(actor, namespace)
    reason = check_reason(reason)
    with database.write() as session:
        epoch = outbox.lock_namespace(session, namespace) + 1
        rows = _versions(session, namespace, rule_id)
        done = withdraw(session, namespace, rows, reason=reason, actor=actor, epoch=epoch, now=now, secret=secret)
        if done is None:
            return _already(session, namespace, rows)
        result, changes = done
        outbox.publish(session, namespace, changes, now)
        return result


def withdraw(
    session: Session,
    namespace: str,
    rows: Sequence[RuleVersion],
    *,
    reason: str,
    actor: Reviewer,
    epoch: int,
    now: datetime,
    secret: bytes,
) -> tuple[RevokeResult, list[dict[str, Any]]] | None:
    """Revoke a rule in every version inside a transaction that holds the namespace's lock.

    Returns what was done, and the changes that the caller publishes as its last act; None if it was revoked before.
    """
    rule_id = rows[0].rule_id
    keys = [(row.rule_id, row.version) for row in rows]
    revoked = move_versions(session, namespace, keys, to="revoked", reason=reason, epoch=epoch, now=now)
    if not revoked:
        return None
    because = f"descends from {rule_id}, which was revoked"
    below = quarantine_descendants(session, namespace, revoked, reason=because, epoch=epoch, now=now)
    resolve_conflicts(session, namespace, [_ref(key) for key in revoked])
    key = f"{rule_id}@{rows[0].version}"
    run = insert_run(session, namespace=namespace, kind="repair", key=key, requested_by=actor.actor, now=now)
    add_steps(session, run, "repair", [""])
    detail = {"versions": revoked, "quarantined": below, "reason": keyed_hash(secret, "reason", reason)}
    _record(session, actor.actor, "rule.revoked", namespace, f"rule:{rule_id}", detail, now)
    changes = [outbox.change("revoked", *one, reason) for one in revoked]
    changes += [outbox.change("quarantined", *one, because) for one in below]
    return RevokeResult(rule_id, epoch, revoked, below, run.id), changes


def run(database: Database, claim: Claim, context: StepContext) -> dict[str, Any]:
    """Repair after a revocation: void what waits on tainted evidence, restore what stands without it.

    May be run again at any point: what was voided or restored is not touched twice. Returns ``voided`` candidates,
    ``restored`` versions, and ``to_review``: versions left quarantined, each with why.
    """
    if _follows_a_purge(database, claim):
        return purge_erase_step.run(database, claim, context)
    voided = _void_candidates(database, claim, context)
    restored, to_review = [], []
    for rule_id, version in _quarantined_by(database, claim):
        left = _restore_if_it_stands(database, claim, context, (rule_id, version))
        if left is not None and left.stands:
            restored.append({"rule": rule_id, "version": version, "why": left.words()})
        elif left is not None:
            to_review.append({"rule": rule_id, "version": version, "why": left.words()})
    return {"voided": voided, "restored": restored, "to_review": to_review}


def _follows_a_purge(database: Database, claim: Claim) -> bool:
    with database.read() as session:
        found = run_by_id(session, claim.run_id)
    return found is not None and found.key.startswith(PURGE)


def _versions(session: Session, namespace: str, rule_id: str) -> Sequence[RuleVersion]:
    rows = rule_queries.versions_of(session, namespace, rule_id)
    if not rows:
        raise RuleGone(f"there is no rule {rule_id} in {namespace}; list the rules and look again")
    return rows


def _already(session: Session, namespace: str, rows: Sequence[RuleVersion]) -> RevokeResult:
    newest = rows[0]
    repair = run_newest_of_key(session, namespace, "repair", f"{newest.rule_id}@{newest.version}")
    keys = sorted((row.rule_id, row.version) for row in rows)
    run_id = repair.id if repair else None
    return RevokeResult(newest.rule_id, newest.state_epoch, keys, repair_run_id=run_id, changed=False)


def _void_candidates(database: Database, claim: Claim, context: StepContext) -> list[str]:
    with database.read() as session:
        tainted = tainted_episode_ids(session, claim.namespace)
        withdrawn = tainted_versions(session, claim.namespace)
        leaning = open_candidates_leaning(session, claim.namespace, tainted, withdrawn)
    return [candidate.id for candidate in leaning if _void(database, claim, context, candidate)]


def _void(database: Database, claim: Claim, context: StepContext, candidate: Candidate) -> bool:
    with database.write() as session:
        guard(session, claim)
        held = session.merge(candidate, load=False)
        if not move_candidate(session, held, "void", context.now):
            return False
        void_decisions(session, claim.namespace, candidate.id, why=TAINTED, now=context.now)
        resolve_conflicts(session, claim.namespace, [f"candidate:{candidate.id}"])
        target = f"candidate:{candidate.id}"
        _record(session, context.actor, "candidate.void", claim.namespace, target, {"run": claim.run_id}, context.now)
        return True


def _quarantined_by(database: Database, claim: Claim) -> list[VersionKey]:
    """Quarantined versions below the rule of this repair, ancestors before descendants."""
    with database.read() as session:
        found = run_by_id(session, claim.run_id)
        rule_id = found.key.rpartition("@")[0] if found else ""
        roots = [(row.rule_id, row.version) for row in rule_queries.versions_of(session, claim.namespace, rule_id)]
        below = rule_queries.descendants_of(session, claim.namespace, roots)
        rows = rule_queries.versions_by_keys(session, claim.namespace, below)
    waiting = [row for row in rows if row.state == "quarantined"]
    return [(row.rule_id, row.version) for row in sorted(waiting, key=lambda r: (r.promoted_epoch, r.rule_id))]


def _restore_if_it_stands(database: Database, claim: Claim, context: StepContext, key: VersionKey) -> Remaining | None:
    """Weigh what is left, then restore on it unless more was tainted meanwhile. None if the version moved on."""
    with database.read() as session:
        row = rule_queries.version(session, claim.namespace, *key)
    if row is None or row.state != "quarantined":
        return None
    with database.read() as session:
        epoch = outbox.current_epoch(session, claim.namespace)
    predicate = row.content.get("predicate")
    if not predicate:
        return NOTHING
    left = weigh_again(database, claim.namespace, predicate, context.settings)
    if left.stands and not _restore(database, claim, context, row, left, epoch):
        return _restore_if_it_stands(database, claim, context, key)
    return left


def _restore(
    database: Database, claim: Claim, context: StepContext, row: RuleVersion, left: Remaining, weighed_at: int
) -> bool:
    """Serve the version again; False if anything changed for readers since its support was weighed."""
    namespace, key = claim.namespace, (row.rule_id, row.version)
    with database.write() as session:
        guard(session, claim)
        epoch = outbox.lock_namespace(session, namespace)
        if epoch != weighed_at:
            return False
        cited = evidence_queries.episodes_cited(session, namespace, row.candidate_id, row.candidate_number)
        lineage = lineage_of_episodes(session, namespace, cited - tainted_among(session, namespace, cited))
        reason = f"stands without it: {left.words()}"
        moved = restore_version(
            session, namespace, key, reason=reason, epoch=epoch + 1, now=context.now, lineage=lineage
        )
        if moved:
            detail = {"run": claim.run_id, "support": left.support, "counter": left.counter}
            _record(session, context.actor, "rule.restored", namespace, _ref(key), detail, context.now)
            outbox.publish(session, namespace, [outbox.change("restored", *key, reason)], context.now)
        return True


def _ref(key: VersionKey) -> str:
    return f"rule:{key[0]}@{key[1]}"


def _record(
    session: Session, actor: str, action: str, namespace: str, target: str, detail: dict[str, Any], now: datetime
) -> None:
    audit.record(session, actor=actor, action=action, namespace=namespace, target=target, detail=detail, now=now)
