"""Stage: drafts become candidates for review. What is known is refreshed, never doubled; what is closed stays so."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from storage import audit
from storage.candidates import add_revision, move_candidate, revisions_by_run, void_decisions
from storage.conflicts import note_conflicts, resolve_conflicts
from storage.engine import Database
from storage.ids import content_hash
from storage.ledger import Claim, guard
from storage.queries import candidates as candidate_queries
from storage.queries import evidence as evidence_queries
from storage.queries import rules as rule_queries
from storage.queries.parts import still_taken
from storage.tables import Candidate, CandidateRevision, Draft, Evidence, Inference, Namespace
from tasks.context import StepContext
from tasks.draft import exemplar_step
from tasks.draft.actions import regime_of
from tasks.draft.drafter import candidate_id
from tasks.draft.statistical import expected_gain
from tasks.draft.wording import title
from tasks.stage import columns, retire
from tasks.stage.edit import title_of
from tasks.stage.kept_step import kept
from tasks.stage.merge_step import brought_rows, merges_kept
from tasks.stage.park_step import look_for_arrivals
from tasks.stage.parts_step import families_compared, is_part, refresh_parts
from tasks.stage.reach_step import Reaches, measure_waiting
from tasks.stage.refresh import Known, Plan, plan
from tasks.stage.settle import packet_hash, settled
from tasks.stage.snapshot import snapshot
from tasks.verify.checks import HOLDS

UNCONFIRMED = "tonight's comparison no longer confirms it"


@dataclass(frozen=True)
class _Ready:
    """A draft with what staging it takes."""

    draft: Draft
    inference: Inference
    content: dict[str, Any]
    content_hash: str
    packet_hash: str
    replaces: tuple[str, int] | None
    is_other_rule: bool
    rank: float
    reach: int
    selected: tuple[str, ...]
    """Why the night took up the runs that are its evidence."""


def run(database: Database, claim: Claim, context: StepContext) -> dict[str, Any]:
    """Stage the run's drafts, best first. Run again, it changes nothing twice.

    Returns ``candidates`` (staged or refreshed tonight), counts by what was done, ``held_back`` by a check, ``retires``
    (other rules that these would put aside), ``problems`` where that is so much that a person has to look first,
    ``voided``: candidates whose finding tonight's comparison no longer confirms, and ``told``: the ids behind what
    left no revision (``unchanged``, ``closed``, ``over_cap``) and behind ``voided``. ``asked_for``: candidates that are
    back since the evidence that somebody wanted ``arrived``, or is ``missing`` on its last day. ``parts`` of split
    candidates are weighed again on the runs in their scope.
    """
    with database.read() as session:
        drafts = list(candidate_queries.drafts_of(session, claim.namespace, claim.run_id))
    drafts = kept(database, drafts, context.now, context.settings)
    drafts = merges_kept(database, drafts)
    fit = [draft for draft in drafts if not is_held(draft)]
    parts = refresh_parts(database, claim, context)
    reaches = Reaches(claim.namespace, context.now)
    ready = sorted(
        (_ready(database, claim, context, draft, reaches) for draft in fit), key=lambda r: (-r.rank, r.draft.id)
    )
    ready, retires, problems = _within_limit(database, claim, ready)
    done: Counter[str] = Counter()
    told: defaultdict[str, list[str]] = defaultdict(list)
    for one in ready:
        kind = _stage(database, claim, context, one, full=done["create"] >= context.settings.max_candidates)
        done[kind] += 1
        if kind in ("unchanged", "closed", "over-cap"):
            told[kind.replace("-", "_")].append(one.draft.candidate_id)
    voided = _void_unconfirmed(database, claim, context, _confirmed(database, claim, fit))
    exemplars = exemplar_step.run(database, claim, context)
    measure_waiting(database, claim, context)
    asked_for = look_for_arrivals(database, claim, context)
    with database.read() as session:
        created, refreshed = revisions_by_run(session, claim.namespace, claim.run_id)
    return {
        "candidates": created + refreshed,
        "created": created,
        "refreshed": refreshed,
        "unchanged": done["unchanged"],
        "closed": done["closed"],
        "over_cap": done["over-cap"],
        "held_back": len(drafts) - len(fit),
        "voided": len(voided) + len(parts["voided"]),
        "told": {**told, "voided": [*voided, *parts["voided"]]},
        "parts": {kind: len(ids) for kind, ids in parts.items()},
        "retires": retires,
        "problems": problems,
        "exemplars": exemplars,
        "asked_for": asked_for,
    }


def is_held(draft: Draft) -> bool:
    """Whether a failed check keeps this draft out of the queue."""
    return any(check["verdict"] == "fail" and check["name"] in HOLDS for check in draft.checks)


def _ready(database: Database, claim: Claim, context: StepContext, draft: Draft, reaches: Reaches) -> _Ready:
    namespace = claim.namespace
    with database.read() as session:
        candidate = candidate_queries.candidate_by_id(session, namespace, draft.candidate_id)
        earlier = candidate_queries.revisions_of(session, namespace, draft.candidate_id)
        inference = session.get_one(Inference, (namespace, draft.inference_id))
        rule = rule_queries.rule_by_predicate(session, namespace, inference.predicate_id)
        versions = rule_queries.versions_of(session, namespace, rule.id) if rule else []
        reach = reaches.of(session, inference.family_id, draft.content.get("scope") or {})
        selected = evidence_queries.selected_for(session, namespace, claim.run_id, draft.inference_id)
    waiting = candidate is None or candidate.state not in ("promoted", "rejected")
    content = settled(draft.content, (row.content for row in earlier), context.now.date(), waiting=waiting)
    active = next(((row.rule_id, row.version) for row in versions if row.state == "active"), None)
    return _Ready(
        draft=draft,
        inference=inference,
        content=content,
        content_hash=content_hash(content),
        packet_hash=packet_hash(draft.packet),
        replaces=active or _superseded_by(draft),
        is_other_rule=active is None,
        rank=expected_gain(draft.packet),
        reach=reach,
        selected=tuple(selected),
    )


def _within_limit(
    database: Database, claim: Claim, ready: list[_Ready]
) -> tuple[list[_Ready], list[str], list[dict[str, Any]]]:
    """The plan less the proposals that would retire too much; which rules it retires; and the problems to tell of."""
    with database.read() as session:
        active = [row for row in rule_queries.versions_in(session, claim.namespace) if row.kind == "rule"]
        limit = retire.limit_of(session.get_one(Namespace, claim.namespace).policy)
    retiring = {one.draft.id: sorted(_retired(one)) for one in ready}
    retired = sorted({rule_id for each in retiring.values() for rule_id in each})
    if not retire.halts(retired, len(active), limit):
        return ready, retired, []
    said = retire.words(retired, len(active), limit)
    families = sorted({str(one.inference.family_id) for one in ready if retiring[one.draft.id]})
    problems = [{"stage": "stage", "shard": "", "family": family, "error": said} for family in families]
    return [one for one in ready if not retiring[one.draft.id]], [], problems


def _retired(ready: _Ready) -> set[str]:
    """Rules that approving a draft would put aside; a new version of its own rule retires nothing."""
    found = {
        str(conflict["with"]).removeprefix("rule:").rpartition("@")[0]
        for conflict in ready.draft.conflicts
        if conflict.get("supersedes")
    }
    if ready.replaces is not None and ready.is_other_rule:
        found.add(ready.replaces[0])
    return found


def _superseded_by(draft: Draft) -> tuple[str, int] | None:
    """The active rule that this draft proposes to put aside."""
    for conflict in draft.conflicts:
        if conflict.get("supersedes"):
            rule_id, _, number = str(conflict["with"]).removeprefix("rule:").rpartition("@")
            return rule_id, int(number)
    return None


def _stage(database: Database, claim: Claim, context: StepContext, ready: _Ready, *, full: bool) -> str:
    """One draft, in one transaction; returns what was done with it."""
    with database.write() as session:
        guard(session, claim)
        candidate = candidate_queries.candidate_by_id(session, claim.namespace, ready.draft.candidate_id, lock=True)
        known = known_of(session, candidate)
        decided = _plan(session, candidate, known, ready)
        if _made_tonight(session, candidate, claim):
            return "create" if candidate is not None and candidate.number == 1 else "refresh"
        if not decided.writes:
            return decided.kind
        if decided.kind == "create" and full:
            return "over-cap"
        values = _columns(claim, ready, decided, known)
        if candidate is None:
            candidate = _create(session, claim, context, ready, values)
        else:
            _refresh(session, claim, context, candidate, values, decided)
        _add_revision(session, claim, context, candidate, ready)
        detail = {"run": claim.run_id, "number": candidate.number, "content_hash": ready.content_hash}
        _record(session, context, f"candidate.{decided.kind}", claim.namespace, candidate.id, detail)
        return decided.kind


def known_of(session: Session, candidate: Candidate | None) -> Known | None:
    """What a candidate is before a night touches it."""
    if candidate is None:
        return None
    revision = candidate_queries.revision(session, candidate.namespace, candidate.id, candidate.number)
    packet = revision.packet if revision else {}
    return Known(candidate.state, snapshot(candidate.content_hash, packet), candidate.packet_hash)


def _plan(session: Session, candidate: Candidate | None, known: Known | None, ready: _Ready) -> Plan:
    new = snapshot(ready.content_hash, ready.draft.packet)
    if candidate is None:
        return plan(None, new, ready.packet_hash)
    refused = candidate_queries.rejected_hashes(session, candidate.namespace, [candidate.id])
    rejected = (candidate.id, ready.content_hash) in refused
    revoked = ready.draft.packet.get("revoked_before") is not None
    taken = bool(still_taken(session, candidate.namespace, [candidate.id])) if candidate.taken_by else None
    return plan(known, new, ready.packet_hash, rejected=rejected, revoked=revoked, taken=taken)


def _made_tonight(session: Session, candidate: Candidate | None, claim: Claim) -> bool:
    if candidate is None:
        return False
    revision = candidate_queries.revision(session, candidate.namespace, candidate.id, candidate.number)
    return revision is not None and revision.run_id == claim.run_id


def _create(session: Session, claim: Claim, context: StepContext, ready: _Ready, values: dict[str, Any]) -> Candidate:
    candidate = Candidate(
        namespace=claim.namespace,
        id=ready.draft.candidate_id,
        kind=ready.draft.kind,
        created_at=context.now,
        updated_at=context.now,
        number=1,
        **values,
    )
    session.add(candidate)
    session.flush()
    return candidate


def _refresh(
    session: Session, claim: Claim, context: StepContext, candidate: Candidate, values: dict[str, Any], decided: Plan
) -> None:
    extra = values | {"number": candidate.number + 1}
    if not move_candidate(session, candidate, decided.state, context.now, extra=extra):
        raise RuntimeError(f"candidate {candidate.id} moved while its row was locked: the store is not as it should be")
    if decided.voids:
        void_decisions(session, claim.namespace, candidate.id, why=decided.voids, now=context.now, verdict="approve")


def _columns(claim: Claim, ready: _Ready, decided: Plan, known: Known | None) -> dict[str, Any]:
    packet, predicate = ready.draft.packet, ready.content["predicate"]
    edited = packet.get("edited")
    before, after = known.snapshot if known else None, snapshot(ready.content_hash, packet)
    why = columns.reasons(packet, decided.kind, before, after, selected=ready.selected)
    rule_id, version = ready.replaces or (None, None)
    return {
        "tier": packet["tier"],
        "tier_why": packet["tier_why"],
        "content_hash": ready.content_hash,
        "packet_hash": ready.packet_hash,
        "title": title_of(ready.content) if edited else title(predicate, mixed=bool(packet.get("exceptions"))),
        "predicate_id": ready.inference.predicate_id,
        "family_id": ready.inference.family_id,
        "cluster_id": ready.draft.cluster_id,
        "run_id": claim.run_id,
        "replaces_rule_id": rule_id,
        "replaces_version": version,
        "revoked_before": packet.get("revoked_before") is not None,
        "rank": ready.rank,
        "reach": ready.reach,
        "taken_by": [],
        **columns.queue_columns(packet, why),
    }


def _add_revision(session: Session, claim: Claim, context: StepContext, candidate: Candidate, ready: _Ready) -> None:
    draft = ready.draft
    revision = CandidateRevision(
        namespace=claim.namespace,
        candidate_id=candidate.id,
        number=candidate.number,
        run_id=claim.run_id,
        content=ready.content,
        content_hash=ready.content_hash,
        packet=draft.packet,
        packet_hash=ready.packet_hash,
        author=(draft.packet.get("edited") or {}).get("by") or draft.drafter,
        drafter=draft.drafter,
        mode=draft.mode,
        inputs=draft.inputs,
        prompt_hash=draft.prompt_hash,
        cost=draft.cost,
        created_at=context.now,
    )
    observed = evidence_queries.observations_of(session, claim.namespace, draft.inference_id)
    evidence = [
        Evidence(
            namespace=claim.namespace,
            id=content_hash([candidate.id, candidate.number, observation.id], 32),
            candidate_id=candidate.id,
            number=candidate.number,
            episode_id=episode.id,
            step_ids=observation.step_ids,
            stance=link.stance,
            group_id=link.group_id,
            stratum=episode.task_key,
        )
        for link, observation, episode in observed
    ]
    evidence += brought_rows(session, candidate, draft.packet, evidence)
    add_revision(session, revision, evidence)
    note_conflicts(session, claim.namespace, f"candidate:{candidate.id}", draft.conflicts, claim.run_id, context.now)


def _confirmed(database: Database, claim: Claim, fit: list[Draft]) -> set[str]:
    """Candidates that tonight confirms: those it drafted, and where it writes no text those it would have."""
    drafted = {draft.candidate_id for draft in fit}
    with database.read() as session:
        if regime_of(session.get_one(Namespace, claim.namespace).policy) != "episodic":
            return drafted
        found = evidence_queries.confirmed_inferences(session, claim.namespace, claim.run_id)
    return drafted | {candidate_id(claim.namespace, inference.predicate) for inference in found}


def _void_unconfirmed(database: Database, claim: Claim, context: StepContext, confirmed: set[str]) -> list[str]:
    """Withdraw waiting candidates of the families that were compared tonight without confirming them again."""
    with database.read() as session:
        compared = families_compared(session, claim.run_id)
        waiting = candidate_queries.candidates_in(session, claim.namespace)
        lost = [row for row in waiting if row.kind == "rule" and row.family_id in compared and row.id not in confirmed]
        texts = candidate_queries.current_revisions(session, claim.namespace, [row.id for row in lost])
    lost = [row for row in lost if row.id not in texts or not is_part(texts[row.id])]
    return [candidate.id for candidate in lost if _void(database, claim, context, candidate.id)]


def _void(database: Database, claim: Claim, context: StepContext, candidate_id: str) -> bool:
    with database.write() as session:
        guard(session, claim)
        candidate = candidate_queries.candidate_by_id(session, claim.namespace, candidate_id, lock=True)
        if candidate is None or not move_candidate(session, candidate, "void", context.now):
            return False
        void_decisions(session, claim.namespace, candidate_id, why=UNCONFIRMED, now=context.now, verdict="approve")
        resolve_conflicts(session, claim.namespace, [f"candidate:{candidate_id}"])
        _record(
            session, context, "candidate.void", claim.namespace, candidate_id, {"run": claim.run_id, "why": UNCONFIRMED}
        )
        return True


def _record(
    session: Session, context: StepContext, action: str, namespace: str, candidate_id: str, detail: dict[str, Any]
) -> None:
    audit.record(
        session, actor=context.actor, action=action, namespace=namespace, target=f"candidate:{candidate_id}",
        detail=detail, now=context.now,
    )  # fmt: skip
