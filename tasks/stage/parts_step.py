"""Parts of split candidates by night: those that wait are weighed again on the runs in their scope.

A part has no inference of its own, so no night drafts it: what was split stays closed while a part of it stands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
from sqlmodel import Session

from storage import audit
from storage.candidates import add_revision, move_candidate, void_decisions
from storage.conflicts import note_conflicts, resolve_conflicts
from storage.engine import Database
from storage.ids import content_hash as hash_of
from storage.ledger import Claim, guard
from storage.queries import candidates as candidate_queries
from storage.queries import parts as queries
from storage.queries.consolidation import LOOK_FOLDS
from storage.queries.runs import steps_of_run
from storage.tables import Candidate, CandidateRevision, Look
from tasks.context import StepContext
from tasks.contrast.confirm import night_alpha, still_holds
from tasks.recheck.judge import promised_effect
from tasks.stage.columns import reasons
from tasks.stage.merge_step import brought_rows
from tasks.stage.part_step import Ground, Part, ground_of, made_part, part_columns, part_rows
from tasks.stage.refresh import OPEN, Known, plan
from tasks.stage.settle import settled
from tasks.stage.snapshot import snapshot
from tasks.stage.split import PartTest, is_worth_it, look_at_part
from tasks.verify.support import remaining
from tasks.verify.weigh_step import FamilyEvidence, load_evidence

NIGHTS = 2 * LOOK_FOLDS
"""The fold under which a night's look at a part is kept, apart from those of the whole and of the split."""


def families_compared(session: Session, run_id: str) -> set[str]:
    """The families that a run compared to the end."""
    steps = steps_of_run(session, run_id)
    return {step.shard for step in steps if step.stage == "contrast" and step.state == "done"}


def is_part(revision: CandidateRevision) -> bool:
    """Whether a candidate was split off another."""
    return bool((revision.content.get("predicate") or {}).get("within"))


def refresh_parts(database: Database, claim: Claim, context: StepContext) -> dict[str, list[str]]:
    """Weigh every waiting part of the families compared tonight again, on the runs in its scope.

    A part gets a new revision where its packet changed, and is voided where its effect is gone. One that is not
    confirmed yet is tested on the groups that arrived since, once they give a test a fair chance. Run again, it changes
    nothing twice. Returns the ids of the parts ``refreshed``, ``voided`` and ``unchanged``.
    """
    with database.read() as session:
        wholes = queries.taken_in_families(session, claim.namespace, families_compared(session, claim.run_id))
        ids = {one for whole in wholes for one in whole.taken_by}
        rows = candidate_queries.candidates_by_ids(session, claim.namespace, ids)
        revisions = candidate_queries.current_revisions(session, claim.namespace, ids)
        nights = queries.nights_that_looked_at(session, claim.namespace, NIGHTS, claim.run_id)
    every = [
        (rows[one], revisions[one])
        for one in sorted(ids & rows.keys() & revisions.keys())
        if rows[one].state in OPEN and is_part(revisions[one])
    ]
    waiting = [(row, revision) for row, revision in every if revision.run_id != claim.run_id]
    by_family: defaultdict[str, list[tuple[Candidate, CandidateRevision]]] = defaultdict(list)
    for row, revision in waiting:
        by_family[str(revision.content["predicate"].get("family"))].append((row, revision))
    alpha = night_alpha(context.settings.yearly_alpha, nights) / max(1, len(every))
    done: dict[str, list[str]] = {"refreshed": [], "voided": [], "unchanged": []}
    for family, parts in sorted(by_family.items()):
        found = load_evidence(database, claim.namespace, family, context.settings)
        for row, revision in parts:
            done[_refresh(database, claim, context, found, row, revision, alpha)].append(row.id)
    return done


def _refresh(
    database: Database,
    claim: Claim,
    context: StepContext,
    family: FamilyEvidence,
    row: Candidate,
    revision: CandidateRevision,
    alpha: float,
) -> str:
    with database.read() as session:
        looks = queries.looks_at(session, claim.namespace, row.predicate_id)
    told = revision.packet["part"]
    since = max([str(told["since"]), *(look.run_id for look in looks if look.fold == NIGHTS)])
    ground = ground_of(database, row, revision, context.settings, family=family, since=since)
    left = remaining(ground.compared)
    if left.enough and not left.stands:
        return _void(
            database, claim, context, row, f"tonight's comparison does not show it in its scope: {left.words()}"
        )
    everyone = np.ones(len(ground.compared.sample.success), bool)
    if not (everyone & ground.compared.sample.columns.mask[:, 0]).any():
        return "unchanged"
    tests, fresh = _tests(claim, context, ground, looks, alpha)
    content = _redated(revision, context)
    kept = {"part": told} | ({"merged": revision.packet["merged"]} if revision.packet.get("merged") else {})
    part = made_part(database, ground, content, row.title, everyone, tests, fresh, kept, context)
    return _save(database, claim, context, row, revision, part)


def _tests(
    claim: Claim, context: StepContext, ground: Ground, looks: Sequence[Look], alpha: float
) -> tuple[list[PartTest], list[Look]]:
    """What was tested before and still stands; and unless that confirms the part, a test of the groups since."""
    sample, direction = ground.compared.sample, -1 if ground.claim.direction == "avoid" else 1
    tests = []
    for look in looks:
        if look.confirmed and not still_holds(sample, 0, look.groups, direction, look.alpha):
            continue
        units = np.isin(np.asarray(sample.groups), look.groups)
        known = look_at_part(sample, units, direction, fold=look.fold, alpha=look.alpha)
        if known is not None:
            tests.append(replace(known, p_value=look.p_value, odds_ratio=look.odds_ratio, earlier=True))
    promised = promised_effect({"effect": ground.revision.packet.get("effect")})
    is_settled = any(one.confirmed for one in tests)
    if is_settled or not is_worth_it(sample, sample.fresh, direction, promised=promised, alpha=alpha):
        return tests, []
    test = look_at_part(sample, sample.fresh, direction, fold=NIGHTS, alpha=alpha)
    if test is None:
        return tests, []
    identity = ground.candidate.predicate_id
    look = Look(
        id=hash_of([claim.run_id, identity, NIGHTS], 32), namespace=claim.namespace, predicate_id=identity,
        fold=NIGHTS, run_id=claim.run_id, number=len(looks) + 1, alpha=test.alpha, p_value=test.p_value,
        odds_ratio=test.odds_ratio, groups=list(test.groups), confirmed=test.confirmed, at=context.now,
    )  # fmt: skip
    return [*tests, test], [look]


def _redated(revision: CandidateRevision, context: StepContext) -> dict[str, Any]:
    """The content; a re-check date that has passed is set anew, unless a person wrote it."""
    if revision.packet.get("edited"):
        return dict(revision.content)
    due = (context.now + timedelta(days=context.settings.recheck_days)).date().isoformat()
    fresh = {**revision.content, "scope": {**revision.content["scope"], "recheck_at": due}}
    return settled(fresh, [revision.content], context.now.date(), waiting=True)


def _save(
    database: Database, claim: Claim, context: StepContext, row: Candidate, revision: CandidateRevision, part: Part
) -> str:
    with database.write() as session:
        guard(session, claim)
        candidate = candidate_queries.candidate_by_id(session, claim.namespace, row.id, lock=True)
        if candidate is None or candidate.state not in OPEN or candidate.number != row.number:
            return "unchanged"  # Somebody decided or wrote meanwhile; the next night looks at what is there then.
        session.add_all(part.looks)
        before, after = snapshot(row.content_hash, revision.packet), snapshot(part.content_hash, part.packet)
        decided = plan(Known(candidate.state, before, candidate.packet_hash), after, part.packet_hash)
        if not decided.writes:
            return "unchanged"
        why = reasons(part.packet, decided.kind, before, after)
        columns = part_columns(part, candidate, why=why)
        columns |= {"run_id": claim.run_id, "number": candidate.number + 1}
        if not move_candidate(session, candidate, decided.state, context.now, extra=columns):
            raise RuntimeError(f"part {row.id} moved while its row was locked: the store is not as it should be")
        if decided.voids:
            void_decisions(session, claim.namespace, row.id, why=decided.voids, now=context.now, verdict="approve")
        made, evidence = part_rows(part, candidate, author=revision.drafter, now=context.now)
        evidence += brought_rows(session, candidate, part.packet, evidence)
        add_revision(session, made, evidence)
        conflicts = part.packet["conflicts"]
        note_conflicts(session, claim.namespace, f"candidate:{row.id}", conflicts, claim.run_id, context.now)
        detail = {"run": claim.run_id, "number": candidate.number, "content_hash": part.content_hash}
        _record(session, claim, context, "candidate.refresh", row.id, detail)
        return "refreshed"


def _void(database: Database, claim: Claim, context: StepContext, row: Candidate, why: str) -> str:
    with database.write() as session:
        guard(session, claim)
        candidate = candidate_queries.candidate_by_id(session, claim.namespace, row.id, lock=True)
        if candidate is None or candidate.number != row.number or candidate.state not in OPEN:
            return "unchanged"
        if not move_candidate(session, candidate, "void", context.now):
            return "unchanged"
        void_decisions(session, claim.namespace, row.id, why=why, now=context.now, verdict="approve")
        resolve_conflicts(session, claim.namespace, [f"candidate:{row.id}"])
        _record(session, claim, context, "candidate.void", row.id, {"run": claim.run_id, "why": why})
        return "voided"


def _record(
    session: Session, claim: Claim, context: StepContext, action: str, candidate_id_: str, detail: dict[str, Any]
) -> None:
    audit.record(
        session, actor=context.actor, action=action, namespace=claim.namespace, target=f"candidate:{candidate_id_}",
        detail=detail, now=context.now,
    )  # fmt: skip
