"""Split a candidate whose claim holds for some of its runs only into narrower ones, each with its own evidence.

The runs are weighed before the write, with no session open; a result that is stale by then is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sqlmodel import Session

from storage import audit, outbox
from storage.candidates import add_revision, move_candidate, void_decisions
from storage.conflicts import note_conflicts, resolve_conflicts
from storage.engine import Database
from storage.ids import content_hash as hash_of
from storage.ids import keyed_hash
from storage.queries import candidates as candidate_queries
from storage.queries import parts as queries
from storage.queries import rules as rule_queries
from storage.queries.consolidation import LOOK_FOLDS
from storage.tables import Candidate, CandidateRevision, Look
from tasks.context import PipelineSettings, StepContext
from tasks.contrast.features import Bools
from tasks.contrast.predicate import Predicate, PredicateInvalid, from_canonical, stored_id
from tasks.contrast.recoveries import is_everywhere
from tasks.promote.errors import CandidateGone, HashMismatch, WrongState
from tasks.promote.people import Reviewer
from tasks.promote.quorum import check_person, check_reason
from tasks.stage.part_step import Ground, Part, ground_of, made_part, part_columns, part_rows
from tasks.stage.refresh import OPEN
from tasks.stage.split import Cut, PartTest, Setting, Side, cuts, look_at_part, mark_of, part_content, part_title
from tasks.stage.split import split_words as words_of
from tasks.verify.support import Remaining, remaining

TRIES = 3
"""Times that a split is weighed anew where what is served changed meanwhile."""


@dataclass(frozen=True)
class Tally:
    """One side of a cut: its runs, the independent groups that count, and what they say of the claim."""

    words: str
    within: Mapping[str, Any]
    runs: int
    groups: int
    left: Remaining


@dataclass(frozen=True)
class Choice:
    """A way to split, by ``key`` or its ``mark``. ``neither`` counts the groups that name no side of it."""

    key: str
    mark: str
    words: str
    sides: tuple[Tally, ...]
    neither: int


@dataclass(frozen=True)
class Choices:
    """How a candidate may be split; ``why`` says why not, where there is no choice."""

    candidate_id: str
    content_hash: str
    groups: int
    choices: tuple[Choice, ...]
    why: str = ""


@dataclass(frozen=True)
class Split:
    """What came of it: the parts that wait, by id, and those that stay rejected as they were before."""

    candidate_id: str
    by: str
    words: str
    parts: tuple[str, ...]
    refused: tuple[str, ...] = ()
    changed: bool = True


def choices_of(database: Database, namespace: str, candidate_id: str, settings: PipelineSettings) -> Choices:
    """What a candidate can be split by, with what the runs of each side say. Slow: it weighs the family's runs.

    Raises:
        CandidateGone: if there is no such candidate.
    """
    with database.read() as session:
        candidate, revision = _load(session, namespace, candidate_id)
        why = _why_not(session, candidate, revision)
    if why:
        return Choices(candidate_id, candidate.content_hash, 0, (), why)
    ground = ground_of(database, candidate, revision, settings)
    if not ground.found.runs:
        return Choices(candidate_id, candidate.content_hash, 0, (), "no run of its scope counts any more")
    settings_of = _settings(ground)
    counted = ground.compared.sample.columns.mask[:, 0]
    found = tuple(_choice(ground, cut, settings_of, counted) for cut in ground_cuts(database, ground))
    none = "all runs that count were made by one agent, on one version of each component; no two sides could be told"
    return Choices(candidate_id, candidate.content_hash, int(counted.sum()), found, "" if found else none)


def _why_not(session: Session, candidate: Candidate, revision: CandidateRevision) -> str:
    """Why a candidate cannot be split at all; empty where it can."""
    stored = revision.content.get("predicate") or {}
    if candidate.state not in OPEN:
        return f"it is {candidate.state}, and only what waits for a decision can be split"
    if candidate.kind != "rule" or not stored:
        return f"it is a proposal of the kind {candidate.kind}, which claims nothing that holds for some runs only"
    try:
        from_canonical(dict(stored))
    except PredicateInvalid:
        return "its claim is not in terms that a machine can weigh, so nothing could be said of its parts"
    if is_everywhere(stored):
        return "it was found among the retries of all sessions, whatever their agent and versions"
    rule = rule_queries.rule_by_predicate(session, candidate.namespace, candidate.predicate_id)
    versions = rule_queries.versions_of(session, candidate.namespace, rule.id) if rule else []
    active = next((row for row in versions if row.state == "active"), None)
    if active is not None:
        return (
            f"it would be a new version of {active.rule_id}, which is active: its parts would be served beside it. "
            "Revoke that rule first, or reject this and edit the rule's scope"
        )
    return ""


def ground_cuts(database: Database, ground: Ground) -> list[Cut]:
    """Where the runs behind a candidate can be cut."""
    with database.read() as session:
        served = queries.agents_of_family(session, ground.namespace, ground.family)
    counted = ground.compared.sample.columns.mask[:, 0]
    return cuts([one for one, counts in zip(_settings(ground), counted.tolist(), strict=True) if counts], served)


def _settings(ground: Ground) -> list[Setting]:
    """By unit."""
    return [Setting(run.agent, ground.environments[run.record.episode_id]) for run in ground.compared.units.runs]


def _choice(ground: Ground, cut: Cut, settings: Sequence[Setting], counted: Bools) -> Choice:
    sides, taken = [], np.zeros(len(settings), bool)
    for side in cut.sides:
        units = np.array([side.holds(one) for one in settings], dtype=bool)
        runs = sum(
            side.holds(Setting(run.agent, versions))
            for run, versions in zip(ground.found.runs, ground.found.environments, strict=True)
        )
        sides.append(
            Tally(side.words, side.within, runs, int((units & counted).sum()), remaining(ground.compared, units))
        )
        taken |= units
    return Choice(cut.key, cut.mark, cut.words, tuple(sides), int((counted & ~taken).sum()))


def split(
    database: Database,
    namespace: str,
    candidate_id: str,
    *,
    content_hash: str,
    by: str,
    reviewer: Reviewer,
    reason: str,
    now: datetime,
    secret: bytes,
    settings: PipelineSettings,
) -> Split:
    """Put one candidate for each side of a cut in the place of a candidate that waits.

    Whoever splits writes the parts' scope, which agents receive, so they may not approve one, nor may whoever wrote the
    whole. A part that was rejected before with the same content stays so. The same split again is a success without a
    second effect.

    Args:
        content_hash: of the content that was shown.
        by: the ``key`` of a choice, or its ``mark``.

    Raises:
        DecisionRefused: ``NotAllowed``, ``ReasonMissing``, ``CandidateGone``; ``HashMismatch`` if it is not what was
            shown any more; ``WrongState`` if it does not wait, or cannot be split so. Nothing was changed.
    """
    check_person(reviewer, namespace)
    reason = check_reason(reason)
    context = StepContext(now, reviewer.actor, secret, settings)
    for _ in range(TRIES):
        with database.read() as session:
            candidate, revision = _load(session, namespace, candidate_id)
            if (before := _done(session, candidate, content_hash, by)) is not None:
                return before
            _check(session, candidate, revision, content_hash)
            epoch = outbox.current_epoch(session, namespace)
            authors = sorted(candidate_queries.authors_of(session, namespace, candidate_id) | {reviewer.user_id})
        ground = ground_of(database, candidate, revision, settings)
        found = ground_cuts(database, ground)
        cut = next((one for one in found if by in (one.key, one.mark)), None)
        if cut is None:
            raise WrongState(
                f"candidate {candidate_id} cannot be split by {by!r} (any more); look at what it can be split by"
            )
        many = sum(len(one.sides) for one in found)
        told = {
            "of": candidate_id,
            "by": cut.key,
            "reason": reason,
            "authors": authors,
            "since": ground.as_of,
            "many": many,
        }
        parts = [_part(database, ground, side, told, many, context) for side in cut.sides]
        with database.write() as session:
            if outbox.lock_namespace(session, namespace) != epoch:
                continue  # What is served changed meanwhile: so may have what counts.
            return _write(session, candidate, cut, parts, content_hash, reviewer, context)
    raise HashMismatch(f"what is served in {namespace} changed while candidate {candidate_id} was weighed; try again")


def _done(session: Session, whole: Candidate, shown: str, by: str) -> Split | None:
    """What came of the same split before, if it still stands so."""
    if whole.state != "void" or whole.content_hash != shown or not whole.taken_by:
        return None
    parts = candidate_queries.current_revisions(session, whole.namespace, whole.taken_by)
    told = [
        (one, parts[one].packet["part"]) for one in whole.taken_by if one in parts and parts[one].packet.get("part")
    ]
    same = tuple(
        one for one, part in told if part.get("of") == whole.id and by in (part.get("by"), mark_of(str(part.get("by"))))
    )
    return Split(whole.id, by, "", same, changed=False) if same else None


def _load(session: Session, namespace: str, candidate_id: str) -> tuple[Candidate, CandidateRevision]:
    candidate = candidate_queries.candidate_by_id(session, namespace, candidate_id)
    revision = candidate_queries.current_revisions(session, namespace, [candidate_id]).get(candidate_id)
    if candidate is None or revision is None:
        raise CandidateGone(f"there is no candidate {candidate_id} in {namespace}; reload the queue")
    return candidate, revision


def _check(session: Session, candidate: Candidate, revision: CandidateRevision, shown: str) -> None:
    if candidate.content_hash != shown:
        raise HashMismatch(
            f"candidate {candidate.id} has other content now ({candidate.content_hash[:12]}…) than what was shown "
            f"({shown[:12]}…); reload it and read it again"
        )
    why = _why_not(session, candidate, revision)
    if why:
        raise WrongState(f"candidate {candidate.id} cannot be split: {why}")


def _part(
    database: Database, ground: Ground, side: Side, told: Mapping[str, Any], many: int, context: StepContext
) -> Part:
    content = part_content(ground.revision.content, side)
    claimed = stored_id(ground.namespace, content["predicate"])
    units = np.array([side.holds(one) for one in _settings(ground)], dtype=bool)
    with database.read() as session:
        known = queries.looks_at(session, ground.namespace, claimed)
        above = queries.looks_at(session, ground.namespace, ground.candidate.predicate_id)
    tests = _tests(ground.claim, ground, units, above, known, many)
    looks = [
        Look(
            id=hash_of([one.run_id, claimed, test.fold], 32), namespace=ground.namespace, predicate_id=claimed,
            fold=test.fold, run_id=one.run_id, number=one.number, alpha=test.alpha, p_value=test.p_value,
            odds_ratio=test.odds_ratio, groups=list(test.groups), confirmed=test.confirmed, at=context.now,
        )
        for one, test in tests
        if not test.earlier
    ]  # fmt: skip
    found = [test for _, test in tests]
    title = part_title(ground.candidate.title, side)
    return made_part(database, ground, content, title, units, found, looks, {"part": dict(told)}, context)


def _tests(
    claim: Predicate, ground: Ground, units: Bools, above: Sequence[Look], known: Sequence[Look], many: int
) -> list[tuple[Look, PartTest]]:
    """The part asked about on the groups that confirmed the whole, at its share of that look's level.

    A part that was split off before was asked so already: it is not asked twice.
    """
    direction = -1 if claim.direction == "avoid" else 1
    sample, before = ground.compared.sample, {(one.run_id, one.fold): one for one in known}
    found = []
    for look in above:
        fold = look.fold % LOOK_FOLDS + LOOK_FOLDS
        there = units & np.isin(np.asarray(sample.groups), look.groups)
        asked = before.get((look.run_id, fold))
        alpha = asked.alpha if asked else look.alpha / many
        test = look_at_part(sample, there, direction, fold=fold, alpha=alpha) if look.confirmed else None
        if test is not None:
            kept = PartTest(**{**vars(test), "earlier": True, "p_value": asked.p_value}) if asked else test
            found.append((look, kept))
    return found


def _write(
    session: Session,
    weighed: Candidate,
    cut: Cut,
    parts: Sequence[Part],
    shown: str,
    reviewer: Reviewer,
    context: StepContext,
) -> Split:
    namespace, whole_id = weighed.namespace, weighed.id
    candidate = candidate_queries.candidate_by_id(session, namespace, whole_id, lock=True)
    if candidate is None:
        raise CandidateGone(f"there is no candidate {whole_id} in {namespace}; reload the queue")
    revision = candidate_queries.revision(session, namespace, whole_id, candidate.number)
    assert revision is not None
    _check(session, candidate, revision, shown)
    if candidate.number != weighed.number:
        raise HashMismatch(f"candidate {whole_id} has newer evidence than was weighed; reload it and split it again")
    known = candidate_queries.candidates_by_ids(session, namespace, [part.id for part in parts])
    refused = candidate_queries.rejected_hashes(session, namespace, [part.id for part in parts])
    waits = [part for part in parts if (part.id, part.content_hash) not in refused]
    _check_parts(whole_id, [known[part.id] for part in waits if part.id in known], waits)
    ids = [part.id for part in parts]
    extra: dict[str, Any] = {"taken_by": ids, "wanted": {}, "parked_at": None, "parked_by": None}
    if not move_candidate(session, candidate, "void", context.now, extra=extra):
        raise HashMismatch(f"candidate {whole_id} changed while it was being split; reload it and read again")
    why = words_of(cut, ids)
    void_decisions(session, namespace, whole_id, why=why, now=context.now, verdict="approve")
    resolve_conflicts(session, namespace, [f"candidate:{whole_id}"])
    reason = waits[0].packet["part"]["reason"]
    detail = {
        "by": cut.key, "parts": ids, "content_hash": shown, "why": why,
        "reason": keyed_hash(context.secret, "reason", reason),
    }  # fmt: skip
    _record(session, context, "candidate.split", namespace, whole_id, detail)
    for part in waits:
        _put(session, candidate, known.get(part.id), part, reviewer, context)
    return Split(
        whole_id, cut.key, cut.words, tuple(part.id for part in waits),
        tuple(part.id for part in parts if part not in waits),
    )  # fmt: skip


def _check_parts(whole_id: str, known: Sequence[Candidate], waits: Sequence[Part]) -> None:
    if not waits:
        raise WrongState(f"every part of candidate {whole_id} was rejected before, word for word; they stay so")
    other = next((row for row in known if row.state not in ("void", "rejected")), None)
    if other is not None:
        raise WrongState(f"a part of candidate {whole_id} is there already: {other.id} is {other.state}; look at it")


def _put(
    session: Session, whole: Candidate, known: Candidate | None, part: Part, reviewer: Reviewer, context: StepContext
) -> None:
    """A part as a candidate that waits: a new one, or the one it was when it was split off before."""
    columns = part_columns(part, whole)
    if known is None:
        candidate = Candidate(
            namespace=whole.namespace, id=part.id, kind=whole.kind, number=1, created_at=context.now,
            updated_at=context.now, **columns,
        )  # fmt: skip
        session.add(candidate)
        session.flush()
    else:
        candidate = known
        back = columns | {"number": known.number + 1, "taken_by": []}
        if not move_candidate(session, candidate, "staged", context.now, extra=back):
            raise HashMismatch(f"part {part.id} changed while it was being made; try again")
        void_decisions(
            session, whole.namespace, part.id, why="it was split off anew", now=context.now, verdict="approve"
        )
    revision, evidence = part_rows(part, candidate, author=reviewer.user_id, now=context.now)
    add_revision(session, revision, evidence)
    session.add_all(part.looks)
    conflicts, ref = part.packet["conflicts"], f"candidate:{part.id}"
    note_conflicts(session, whole.namespace, ref, conflicts, str(whole.run_id or ""), context.now)
    detail = {"number": candidate.number, "content_hash": part.content_hash, "split_from": whole.id}
    _record(session, context, "candidate.create", whole.namespace, part.id, detail)


def _record(
    session: Session, context: StepContext, action: str, namespace: str, candidate_id: str, detail: dict[str, Any]
) -> None:
    target = f"candidate:{candidate_id}"
    audit.record(
        session, actor=context.actor, action=action, namespace=namespace, target=target, detail=detail, now=context.now
    )
