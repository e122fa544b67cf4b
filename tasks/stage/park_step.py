"""Ask for more evidence: a candidate waits for named runs, until its day, or until somebody takes it back.

While it waits it keeps its state and its approvals. It can be rejected; it cannot be approved or edited.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlmodel import Session

from storage import audit, outbox
from storage.candidates import NOTHING_WANTED, move_candidate
from storage.engine import Database
from storage.ids import keyed_hash
from storage.ledger import Claim, guard
from storage.queries import arrived as queries
from storage.queries import candidates as candidate_queries
from storage.queries.taint import tainted_among
from storage.tables import Candidate
from tasks.context import StepContext
from tasks.contrast.recoveries import EVERYWHERE
from tasks.promote.errors import CandidateGone, HashMismatch, WrongState
from tasks.promote.people import Reviewer
from tasks.promote.quorum import check_person, check_reason
from tasks.stage import columns
from tasks.stage.wanted import ARRIVED, MISSING, Arrived, Wanted, wanted_of
from tasks.verify.coverage import belongs

OPEN = ("staged", "approved")
GONE_WORDS = "there is no candidate {id} in {namespace}; reload the queue"


@dataclass(frozen=True)
class Parked:
    """A candidate that waits for evidence, or waits no longer. ``changed`` is False where it was so before."""

    candidate_id: str
    parked: bool
    wanted: Wanted
    changed: bool = True


def ask(
    database: Database,
    namespace: str,
    candidate_id: str,
    *,
    content_hash: str,
    wanted: Wanted,
    reviewer: Reviewer,
    reason: str,
    now: datetime,
    secret: bytes,
) -> Parked:
    """Set a candidate aside until runs came in that answer what is asked. The same request again is one.

    Raises:
        DecisionRefused: ``HashMismatch`` if it is no longer what was shown, ``WrongState`` if it is decided or waits
            for evidence already, ``WantedRefused``, ``NotAllowed``, ``ReasonMissing``, ``CandidateGone``; nothing
            was changed.
        NamespaceUnknown: if the namespace has no row.
    """
    check_person(reviewer, namespace)
    reason = check_reason(reason)
    wanted = wanted.checked(now.date())
    with database.write() as session:
        outbox.lock_namespace(session, namespace)
        candidate = _load(session, namespace, candidate_id)
        _check_shown(candidate, content_hash)
        known = wanted_of(candidate.wanted)
        if candidate.parked_at is not None and known is not None:
            if replace(known, seen=0) == wanted and candidate.parked_by == reviewer.user_id:
                return Parked(candidate_id, True, known, changed=False)
            raise WrongState(
                f"candidate {candidate_id} waits for {known.what()} already; take that request back to ask for "
                "something else"
            )
        asked = {"wanted": wanted.as_row(), "parked_at": now, "parked_by": reviewer.user_id}
        if not move_candidate(session, candidate, candidate.state, now, extra=asked):
            raise HashMismatch(f"candidate {candidate_id} changed while evidence was asked for; reload it")
        detail = {**_digest(wanted, secret), "reason": keyed_hash(secret, "reason", reason)}
        _record(session, reviewer.actor, "candidate.asked", candidate, detail, now)
        return Parked(candidate_id, True, wanted)


def unpark(
    database: Database,
    namespace: str,
    candidate_id: str,
    *,
    content_hash: str,
    reviewer: Reviewer,
    reason: str,
    now: datetime,
    secret: bytes,
) -> Parked:
    """Take a request for evidence back: the candidate waits for a decision again. Whoever may decide may do so.

    Raises:
        DecisionRefused: ``HashMismatch``, ``WrongState`` if it is decided, ``NotAllowed``, ``ReasonMissing``,
            ``CandidateGone``; nothing was changed.
        NamespaceUnknown: if the namespace has no row.
    """
    check_person(reviewer, namespace)
    reason = check_reason(reason)
    with database.write() as session:
        outbox.lock_namespace(session, namespace)
        candidate = _load(session, namespace, candidate_id)
        _check_shown(candidate, content_hash)
        known = wanted_of(candidate.wanted) or Wanted(0)
        if candidate.parked_at is None:
            return Parked(candidate_id, False, known, changed=False)
        if not move_candidate(session, candidate, candidate.state, now, extra=NOTHING_WANTED):
            raise HashMismatch(f"candidate {candidate_id} changed while the request was taken back; reload it")
        detail = {**_digest(known, secret), "seen": known.seen, "reason": keyed_hash(secret, "reason", reason)}
        _record(session, reviewer.actor, "candidate.asked-no-more", candidate, detail, now)
        return Parked(candidate_id, False, known)


def progress(session: Session, candidate: Candidate, claimed: Mapping[str, Any] | None = None) -> int:
    """How many independent groups of runs came in by now that answer the request on a candidate.

    A run that ran under a revoked rule does not count, nor one whose outcome the agent reported itself. For a claim
    found among the retries of sessions that nobody judged, the runs are those sessions.

    Args:
        claimed: the candidate's predicate, where it speaks of a part of its family's runs only.
    """
    wanted = wanted_of(candidate.wanted)
    if wanted is None or candidate.parked_at is None:
        return 0
    everywhere = candidate.family_id == EVERYWHERE
    family = None if everywhere else candidate.family_id
    came = queries.came_since(session, candidate.namespace, family, candidate.parked_at, judged=not everywhere)
    runs = {
        one.id: Arrived(
            group=one.group or one.session_id or one.id,
            agent=one.agent or "",
            environment={name: str(version) for name, version in one.environment.items()},
            task=one.task_key,
            outcome=one.outcome,
        )
        for one in came
    }
    fitting = {
        name: run
        for name, run in runs.items()
        if wanted.matches(run) and belongs(claimed or {}, run.environment or {}, run.agent)
    }
    tainted = tainted_among(session, candidate.namespace, fitting) if fitting else set()
    return wanted.count([run for name, run in fitting.items() if name not in tainted])


def look_for_arrivals(database: Database, claim: Claim, context: StepContext) -> dict[str, list[str]]:
    """At a night's end: what was asked for and is there puts its candidate back in the queue; so does its last day.

    Returns the ids of those that are back, ``arrived`` and ``missing``. Run again, it changes nothing twice.
    """
    found: dict[str, list[str]] = {"arrived": [], "missing": []}
    with database.read() as session:
        parked = [(row, _claimed(session, row)) for row in queries.candidates_parked(session, claim.namespace)]
    for candidate, claimed in parked:
        with database.read() as session:
            seen = progress(session, candidate, claimed)
        back = _back(database, claim, context, candidate, seen)
        if back:
            found[back].append(candidate.id)
    return found


def _back(database: Database, claim: Claim, context: StepContext, candidate: Candidate, seen: int) -> str:
    """Note how far a request got; whether it is at its end, and how."""
    wanted = wanted_of(candidate.wanted)
    if wanted is None:
        return ""
    counted = replace(wanted, seen=seen)
    how = "arrived" if counted.is_met else "missing" if counted.is_late(context.now.date()) else ""
    if not how and counted == wanted:
        return ""
    extra: dict[str, Any] = {"wanted": counted.as_row()}
    if how:
        why = ARRIVED if how == "arrived" else MISSING
        extra = {**NOTHING_WANTED, "why_now": columns.with_reason(candidate.why_now, why)}
    with database.write() as session:
        guard(session, claim)
        held = candidate_queries.candidate_by_id(session, candidate.namespace, candidate.id, lock=True)
        if held is None or held.parked_at != candidate.parked_at or held.state not in OPEN:
            return ""
        if not move_candidate(session, held, held.state, context.now if how else held.updated_at, extra=extra):
            return ""
        if how:
            detail = {"run": claim.run_id, "wanted": wanted.runs, "seen": seen}
            _record(session, context.actor, f"candidate.evidence-{how}", held, detail, context.now)
    return how


def _claimed(session: Session, candidate: Candidate) -> dict[str, Any]:
    revision = candidate_queries.revision(session, candidate.namespace, candidate.id, candidate.number)
    return dict((revision.content if revision else {}).get("predicate") or {})


def _load(session: Session, namespace: str, candidate_id: str) -> Candidate:
    candidate = candidate_queries.candidate_by_id(session, namespace, candidate_id, lock=True)
    if candidate is None:
        raise CandidateGone(GONE_WORDS.format(id=candidate_id, namespace=namespace))
    return candidate


def _check_shown(candidate: Candidate, shown: str) -> None:
    if candidate.content_hash != shown:
        raise HashMismatch(
            f"candidate {candidate.id} has other content now ({candidate.content_hash[:12]}…) than what was shown "
            f"({shown[:12]}…); reload it and read it again"
        )
    if candidate.state not in OPEN:
        raise WrongState(
            f"candidate {candidate.id} is {candidate.state}: only what waits for a decision can be set aside"
        )


def _digest(wanted: Wanted, secret: bytes) -> dict[str, Any]:
    """What the audit log keeps of a request: counts, and digests of what a person wrote."""
    told = "\x00".join((wanted.agent, wanted.component, wanted.version, wanted.task, wanted.outcome, wanted.words))
    return {"wanted": wanted.runs, "until": wanted.until, "what": keyed_hash(secret, "wanted", told)}


def _record(
    session: Session, actor: str, action: str, candidate: Candidate, detail: dict[str, Any], now: datetime
) -> None:
    audit.record(
        session, actor=actor, action=action, namespace=candidate.namespace, target=f"candidate:{candidate.id}",
        detail=detail, now=now,
    )  # fmt: skip
