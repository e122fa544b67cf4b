"""What people write: edit a candidate, propose a new version of a rule, take the night's text back.

Each is one short transaction under the namespace's lock, on exactly the content that was shown. Whatever reads the
words or the scope is asked again before it, with no transaction open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from sqlmodel import Session

from storage import audit, outbox
from storage.candidates import add_revision, move_candidate, void_decisions
from storage.conflicts import note_conflicts
from storage.engine import Database
from storage.ids import content_hash as hash_of
from storage.ids import keyed_hash
from storage.queries import candidates as candidate_queries
from storage.queries import evidence as evidence_queries
from storage.queries import rules as rule_queries
from storage.tables import Candidate, CandidateRevision, Draft, Evidence
from tasks.conflict.step import conflicts_of
from tasks.context import PipelineSettings
from tasks.promote.errors import (
    AlreadyDecided,
    CandidateGone,
    HashMismatch,
    NothingChanged,
    RuleGone,
    TextRefused,
    WrongState,
)
from tasks.promote.people import Reviewer
from tasks.promote.quorum import check_person, check_reason
from tasks.stage import columns
from tasks.stage import edit as texts
from tasks.stage.kept_step import checked
from tasks.stage.reach_step import sessions_reached
from tasks.stage.settle import packet_hash
from tasks.verify.subject_step import Asked, asked_of_revision

CHANGED = "the content changed"
TRIES = 5
"""How often an edit starts over because a night refreshed the packet under the same text meanwhile."""
OPEN = ("staged", "approved")


@dataclass(frozen=True)
class Edited:
    """A candidate after its text changed. ``voided`` approvals fell; ``changed`` is False where it said so already."""

    candidate_id: str
    number: int
    content_hash: str
    packet_hash: str
    state: str
    tier: str
    voided: int = 0
    changed: bool = True


@dataclass(frozen=True)
class _Who:
    """Who acts, why, and when."""

    reviewer: Reviewer
    reason: str
    now: datetime
    secret: bytes


@dataclass(frozen=True)
class _Base:
    """What an edit starts from: the candidate as it is, and the revision whose text and evidence are taken up."""

    candidate: Candidate
    revision: CandidateRevision
    replaces: tuple[str, int] | None = None


@dataclass(frozen=True)
class _Made:
    """The revision to be: its text and packet, and who its author is."""

    content: dict[str, Any]
    packet: dict[str, Any]
    author: str
    action: str
    conflicts: list[dict[str, Any]] | None = None
    extra: dict[str, Any] = field(default_factory=dict)


def edit(
    database: Database,
    namespace: str,
    candidate_id: str,
    *,
    content_hash: str,
    when_to_use: str,
    guidance: Sequence[str],
    scope: Mapping[str, Any],
    reviewer: Reviewer,
    reason: str,
    now: datetime,
    secret: bytes,
) -> Edited:
    """Change the words or the scope of a candidate that waits. Every approval so far falls; the editor may not approve.

    Words that are the night's own take the night's text back (see ``take_back``). The same edit sent twice is one.

    Raises:
        DecisionRefused: ``HashMismatch`` if it is no longer what was shown, ``WrongState`` if it is decided, parked or
            no rule, ``TextRefused``, ``NothingChanged``, ``AlreadyDecided`` if exactly these words were rejected
            before, ``NotAllowed``, ``ReasonMissing``, ``CandidateGone``; nothing was changed.
        NamespaceUnknown: if the namespace has no row.
    """
    who = _who(reviewer, namespace, reason, now, secret)
    written = texts.Written(when_to_use, guidance, scope)
    for _ in range(TRIES):
        base = _open(database, namespace, candidate_id)
        content = _content_or_none(base, written, namespace, now.date(), shown=content_hash)
        if base.candidate.content_hash != content_hash:
            if _is_repeat(base, content, reviewer):
                return _as_it_is(base.candidate)
            raise _other_content(base.candidate, content_hash)
        _check_editable(base.candidate)
        assert content is not None, "nothing changed raises where the hash is the one that was shown"
        edited = base.revision.packet.get("edited")
        if edited and texts.is_nights(edited, content):
            made = _nights(database, base, content, who)
        else:
            made = _edited(database, base, content, who)
        if (done := _write(database, base, made, who)) is not None:
            return done
    raise HashMismatch(f"candidate {candidate_id} kept changing while it was edited; reload it and try once more")


def take_back(
    database: Database,
    namespace: str,
    candidate_id: str,
    *,
    content_hash: str,
    reviewer: Reviewer,
    reason: str,
    now: datetime,
    secret: bytes,
) -> Edited:
    """Take the night's newest text instead of what a person made of it. Whoever takes it did not write it.

    Those who edited before stay barred from approving. Every approval so far falls.

    Raises:
        DecisionRefused: as ``edit``; ``WrongState`` also where the text is the night's already.
    """
    who = _who(reviewer, namespace, reason, now, secret)
    for _ in range(TRIES):
        base = _open(database, namespace, candidate_id)
        if base.candidate.content_hash != content_hash:
            raise _other_content(base.candidate, content_hash)
        _check_editable(base.candidate)
        edited = base.revision.packet.get("edited")
        if not edited:
            raise WrongState(f"the text of candidate {candidate_id} is the night's already")
        made = _nights(database, base, texts.nights_text(edited), who)
        if (done := _write(database, base, made, who)) is not None:
            return done
    raise HashMismatch(f"candidate {candidate_id} kept changing while it was edited; reload it and try once more")


def propose_version(
    database: Database,
    namespace: str,
    rule_id: str,
    version: int,
    *,
    content_hash: str,
    when_to_use: str,
    guidance: Sequence[str],
    scope: Mapping[str, Any],
    reviewer: Reviewer,
    reason: str,
    now: datetime,
    secret: bytes,
) -> Edited:
    """Put a new version of an active rule before the reviewers. The rule stays as it is until another one approves it.

    The candidate behind the version waits again, with a person's text and the evidence of the version.

    Raises:
        DecisionRefused: ``RuleGone``, ``HashMismatch`` if the version says something else than what was shown,
            ``WrongState`` if it is not active or a proposal waits already, and as ``edit``.
        NamespaceUnknown: if the namespace has no row.
    """
    who = _who(reviewer, namespace, reason, now, secret)
    written = texts.Written(when_to_use, guidance, scope)
    for _ in range(TRIES):
        base = _behind(database, namespace, rule_id, version, content_hash)
        content = texts.edited_content(base.revision.content, written, namespace, now.date())
        if base.candidate.state in OPEN:
            if base.candidate.content_hash == hash_of(content):
                return _as_it_is(base.candidate)
            raise WrongState(
                f"a new version of rule {rule_id} waits for review already: edit candidate {base.candidate.id} instead"
            )
        made = _edited(database, base, content, who)
        if (done := _write(database, base, made, who)) is not None:
            return done
    raise HashMismatch(f"rule {rule_id} kept changing while it was edited; reload it and try once more")


def _who(reviewer: Reviewer, namespace: str, reason: str, now: datetime, secret: bytes) -> _Who:
    check_person(reviewer, namespace)
    return _Who(reviewer, check_reason(reason), now, secret)


def _open(database: Database, namespace: str, candidate_id: str) -> _Base:
    with database.read() as session:
        candidate = _load(session, namespace, candidate_id)
        revision = candidate_queries.revision(session, namespace, candidate_id, candidate.number)
    if revision is None:
        raise CandidateGone(f"revision {candidate.number} of candidate {candidate_id} is gone; reload the queue")
    replaces = None
    if candidate.replaces_rule_id is not None and candidate.replaces_version is not None:
        replaces = candidate.replaces_rule_id, candidate.replaces_version
    return _Base(candidate, revision, replaces)


def _behind(database: Database, namespace: str, rule_id: str, version: int, shown: str) -> _Base:
    """What an active version was made of."""
    with database.read() as session:
        row = rule_queries.version(session, namespace, rule_id, version)
        if row is None:
            raise RuleGone(f"there is no version {version} of rule {rule_id} in {namespace}; list its versions")
        candidate = _load(session, namespace, row.candidate_id)
        revision = candidate_queries.revision(session, namespace, row.candidate_id, row.candidate_number)
    if row.content_hash != shown:
        raise HashMismatch(f"version {version} of rule {rule_id} says something else than what was shown; reload it")
    if row.state != "active":
        raise WrongState(f"version {version} of rule {rule_id} is {row.state}: a new one is proposed of the active one")
    _check_rule(row.kind)
    if revision is None:
        raise CandidateGone(f"what version {version} of rule {rule_id} was made of is gone, so it cannot be edited")
    return _Base(candidate, revision, (rule_id, version))


def _load(session: Session, namespace: str, candidate_id: str, *, lock: bool = False) -> Candidate:
    candidate = candidate_queries.candidate_by_id(session, namespace, candidate_id, lock=lock)
    if candidate is None:
        raise CandidateGone(f"there is no candidate {candidate_id} in {namespace}; reload the queue")
    return candidate


def _check_editable(candidate: Candidate) -> None:
    _check_rule(candidate.kind)
    if candidate.state not in OPEN:
        raise WrongState(
            f"candidate {candidate.id} is {candidate.state}, so its text stands; only what waits is edited"
        )
    if candidate.parked_at is not None:
        raise WrongState(
            f"candidate {candidate.id} waits for evidence that was asked for; take the request back, then edit it"
        )


def _check_rule(kind: str) -> None:
    if kind != "rule":
        raise WrongState(
            f"only the text of a rule can be edited: a{'n' if kind[:1] in 'aeiou' else ''} {kind} has no words of its "
            "own for agents"
        )


def _content_or_none(
    base: _Base, written: texts.Written, namespace: str, today: date, *, shown: str
) -> dict[str, Any] | None:
    """The edited content; None where it says what is there already, which may be what another click has just saved."""
    if base.candidate.content_hash == shown:
        return texts.edited_content(base.revision.content, written, namespace, today)
    try:
        return texts.edited_content(base.revision.content, written, namespace, today)
    except NothingChanged:
        return None
    except TextRefused:
        return {}


def _is_repeat(base: _Base, content: dict[str, Any] | None, reviewer: Reviewer) -> bool:
    return content is None and base.candidate.state in OPEN and base.revision.author == reviewer.user_id


def _as_it_is(candidate: Candidate) -> Edited:
    return Edited(
        candidate.id, candidate.number, candidate.content_hash, candidate.packet_hash, candidate.state, candidate.tier,
        changed=False,
    )  # fmt: skip


def _other_content(candidate: Candidate, shown: str) -> HashMismatch:
    return HashMismatch(
        f"candidate {candidate.id} has other content now ({candidate.content_hash[:12]}…) than what was shown "
        f"({shown[:12]}…); reload it and read it again"
    )


def _edited(database: Database, base: _Base, content: dict[str, Any], who: _Who) -> _Made:
    reviewer, old = who.reviewer, base.revision
    packet = texts.marked(old.packet, old.content, by=reviewer.user_id, name=reviewer.name, at=who.now)
    made = _made(database, base, content, packet, who)
    return _Made(author=reviewer.user_id, action="candidate.edited", **made)


def _nights(database: Database, base: _Base, content: dict[str, Any], who: _Who) -> _Made:
    """The night's text again. Its author is the drafter: who takes it only chose it."""
    edited = dict(base.revision.packet["edited"])
    packet = {name: value for name, value in base.revision.packet.items() if name != "edited"}
    packet |= {"tier": edited["tier"], "tier_why": edited["tier_why"]}
    made = _made(database, base, content, packet, who)
    return _Made(author=base.revision.drafter, action="candidate.taken-back", **made)


def _made(
    database: Database, base: _Base, content: dict[str, Any], packet: dict[str, Any], who: _Who
) -> dict[str, Any]:
    """Content, packet and columns of the revision to be, with everything asked again that the change may answer."""
    old, namespace, settings = base.revision, base.candidate.namespace, PipelineSettings()
    with database.read() as session:
        stored = asked_of_revision(session, namespace, old.candidate_id, old.number, packet)
    asked = Asked(namespace, content, packet, stored.seen)
    packet = checked(database, asked, old.content, who.now, settings)
    conflicts = None
    if content.get("scope") != old.content.get("scope"):
        conflicts = conflicts_of(database, _as_draft(database, base, content, packet))
        packet = {**packet, "conflicts": conflicts}
    with database.read() as session:
        reach = sessions_reached(session, namespace, base.candidate.family_id, content.get("scope") or {}, who.now)
    why = columns.with_reason(base.candidate.why_now, columns.EDITED)
    extra = columns.queue_columns(packet, why.split()) | {"reach": reach.count}
    return {"content": content, "packet": packet, "conflicts": conflicts, "extra": extra}


def _as_draft(database: Database, base: _Base, content: dict[str, Any], packet: dict[str, Any]) -> Draft:
    """What looks for conflicts reads a draft: this text as one, concluded from what the night concluded it from."""
    candidate, old = base.candidate, base.revision
    with database.read() as session:
        inference = evidence_queries.inference_of(session, candidate.namespace, old.run_id, candidate.predicate_id)
    return Draft(
        namespace=candidate.namespace, id=old.candidate_id, run_id=old.run_id or "", candidate_id=candidate.id,
        inference_id=inference or "", kind=candidate.kind, drafter=old.drafter, mode=old.mode, content=content,
        packet=packet, inputs=old.inputs, prompt_hash=old.prompt_hash, created_at=old.created_at,
    )  # fmt: skip


def _write(database: Database, base: _Base, made: _Made, who: _Who) -> Edited | None:
    """Add the revision; None if the candidate got another revision meanwhile, so that all of it has to be asked anew.

    Raises:
        DecisionRefused: if it was decided, parked or rewritten meanwhile, or these words were rejected before.
    """
    was, namespace = base.candidate, base.candidate.namespace
    hashes = hash_of(made.content), packet_hash(made.packet)
    with database.write() as session:
        outbox.lock_namespace(session, namespace)
        candidate = _load(session, namespace, was.id, lock=True)
        if (candidate.number, candidate.state, candidate.parked_at) != (was.number, was.state, was.parked_at):
            return None
        if (was.id, hashes[0]) in candidate_queries.rejected_hashes(session, namespace, [was.id]):
            raise AlreadyDecided(f"exactly these words were rejected before for candidate {was.id}; write others")
        rule_id, version = base.replaces or (None, None)
        _check_replaced(session, candidate, rule_id, version, hashes[0])
        changes = {
            "number": candidate.number + 1, "content_hash": hashes[0], "packet_hash": hashes[1],
            "tier": made.packet["tier"], "tier_why": made.packet["tier_why"], "title": texts.title_of(made.content),
            "revoked_before": made.packet.get("revoked_before") is not None,
            "replaces_rule_id": rule_id, "replaces_version": version, "taken_by": [], **made.extra,
        }  # fmt: skip
        if not move_candidate(session, candidate, "staged", who.now, extra=changes):
            raise _other_content(candidate, was.content_hash)
        # Whatever their content: those that made the version in force would count again once the text is back to its.
        fell = void_decisions(session, namespace, was.id, why=CHANGED, now=who.now, verdict="approve")
        voided = fell if was.state in OPEN else 0
        _add_revision(session, base, candidate, made, who)
        if made.conflicts is not None:
            run_id = base.revision.run_id or candidate.run_id or ""
            note_conflicts(session, namespace, f"candidate:{was.id}", made.conflicts, run_id, who.now)
        _record(session, base, candidate, made, who, voided)
        return Edited(candidate.id, candidate.number, *hashes, candidate.state, candidate.tier, voided)


def _check_replaced(
    session: Session, candidate: Candidate, rule_id: str | None, version: int | None, text: str
) -> None:
    """Nothing is proposed to replace a version by what that version says, nor one that is not served any more."""
    if rule_id is None or version is None:
        return
    row = rule_queries.version(session, candidate.namespace, rule_id, version)
    if row is not None and row.content_hash == text and row.state == "active":
        raise WrongState(
            f"this is word for word what agents are served as version {version} of rule {rule_id}; to keep that one, "
            f"reject candidate {candidate.id}"
        )
    if candidate.state not in OPEN and (row is None or row.state != "active"):
        raise WrongState(f"version {version} of rule {rule_id} is not active any more; reload the rule")


def _add_revision(session: Session, base: _Base, candidate: Candidate, made: _Made, who: _Who) -> None:
    old = base.revision
    revision = CandidateRevision(
        namespace=old.namespace, candidate_id=old.candidate_id, number=candidate.number, run_id=None,
        content=made.content, content_hash=candidate.content_hash, packet=made.packet,
        packet_hash=candidate.packet_hash, author=made.author, drafter=old.drafter, mode=old.mode, inputs=old.inputs,
        prompt_hash=old.prompt_hash, cost=old.cost, created_at=who.now,
    )  # fmt: skip
    rows = evidence_queries.evidence_of(session, old.namespace, old.candidate_id, old.number)
    copies = [
        Evidence(
            **row.model_dump(exclude={"id", "number"}),
            id=hash_of([candidate.id, candidate.number, row.id], 32),
            number=candidate.number,
        )
        for row, _ in rows
    ]
    add_revision(session, revision, copies)


def _record(session: Session, base: _Base, candidate: Candidate, made: _Made, who: _Who, voided: int) -> None:
    detail = {
        "number": candidate.number, "from": base.revision.content_hash, "content_hash": candidate.content_hash,
        "packet_hash": candidate.packet_hash, "voided": voided, "reason": keyed_hash(who.secret, "reason", who.reason),
    }  # fmt: skip
    if base.replaces is not None and base.candidate.state not in OPEN:
        detail["proposes"] = list(base.replaces)
    audit.record(
        session, actor=who.reviewer.actor, action=made.action, namespace=candidate.namespace,
        target=f"candidate:{candidate.id}", detail=detail, now=who.now,
    )  # fmt: skip
