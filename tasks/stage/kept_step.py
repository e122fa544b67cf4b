"""A person's text from night to night: the night brings evidence and figures to it, and never another wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlmodel import Session

from storage.engine import Database
from storage.queries import candidates as candidate_queries
from storage.tables import Candidate, CandidateRevision, Draft
from tasks.cluster.kin import kin_of
from tasks.cluster.kin_step import lines_of
from tasks.context import PipelineSettings
from tasks.contrast.predicate import from_canonical
from tasks.stage import edit
from tasks.verify.checks import check_all, rows_of
from tasks.verify.revoked import name_kin, revoked_row
from tasks.verify.subject_step import Asked, Known, asked_of_draft, load_known, nearest_revoked, subject_of
from tasks.verify.tier import tier_of

CLOSED = ("promoted", "rejected")


def kept(database: Database, drafts: Sequence[Draft], now: datetime, settings: PipelineSettings) -> list[Draft]:
    """Tonight's drafts, those under a text that a person wrote with that text and what the checks say of it.

    Where the night words it otherwise by now, its text goes along in the packet. A decided candidate keeps the person's
    text while the night has nothing new to say.
    """
    with database.read() as session:
        known = _edited(session, drafts)
    return [
        _kept(database, draft, *known[draft.candidate_id], now, settings) if draft.candidate_id in known else draft
        for draft in drafts
    ]


def texts_kept(session: Session, drafts: Sequence[Draft]) -> list[Draft]:
    """Tonight's drafts, those under a text that a person wrote and that still waits with that text."""
    known = {
        name: revision
        for name, (candidate, revision) in _edited(session, drafts).items()
        if candidate.state not in CLOSED
    }
    return [
        _copy(draft, content=known[draft.candidate_id].content) if draft.candidate_id in known else draft
        for draft in drafts
    ]


def checked(
    database: Database, asked: Asked, before: Mapping[str, Any], now: datetime, settings: PipelineSettings
) -> dict[str, Any]:
    """The packet with the checks that read the words made of this text, and the tier that follows.

    Whether the words come near a rule, or near a revoked one, is asked again only where they come near another one than
    before; whatever reads no words stays the night's answer.

    Args:
        before: the text that the packet's checks were made of.
    """
    with database.read() as session:
        known = load_known(session, asked.namespace)
    revoked_anew = nearest_revoked(asked.content, asked.packet, known) != nearest_revoked(before, asked.packet, known)
    names = set(edit.TEXT_CHECKS) | ({"revoked-before"} if revoked_anew else set())
    if _kin(asked.content, known) != _kin(before, known):
        names.add("independence")
    subject = subject_of(database, asked, known, now, settings, revoked=revoked_anew)
    fresh = rows_of(name_kin(check_all(subject), subject), known.blocking)
    edited = asked.packet.get("edited") or {}
    night = edit.tiered(asked.packet.get("tier"), asked.packet.get("tier_why"))
    if edited:
        wide = (edited["text"].get("scope") or {}, asked.content.get("scope") or {})
        fresh = [edit.scope_row(row, *wide) if row["name"] == "scope" else row for row in fresh]
        night = edit.tiered(edited["tier"], edited["tier_why"])
    rows = edit.replaced(asked.packet.get("checks") or [], fresh, frozenset(names))
    ordered = any(row["name"] == "injection" and row["verdict"] != "pass" for row in rows)
    external = any(run.external for run in subject.cited)
    found = tier_of(asked.content["predicate"], external=external, ordered=ordered)
    tier = edit.tier_for(night, found, edited.get("text") or asked.content, asked.content)
    packet = {**asked.packet, "checks": rows, "tier": tier.tier, "tier_why": tier.why}
    return packet | ({"revoked_before": revoked_row(subject.revoked)} if revoked_anew else {})


def _edited(session: Session, drafts: Sequence[Draft]) -> dict[str, tuple[Candidate, CandidateRevision]]:
    """The candidates of these drafts whose text a person wrote, with their current revision."""
    if not drafts:
        return {}
    namespace, ids = drafts[0].namespace, [draft.candidate_id for draft in drafts]
    found = candidate_queries.current_revisions(session, namespace, ids)
    wanted = {name: revision for name, revision in found.items() if revision.packet.get("edited")}
    candidates = candidate_queries.candidates_by_ids(session, namespace, wanted)
    return {name: (candidates[name], revision) for name, revision in wanted.items() if name in candidates}


def _kept(
    database: Database,
    draft: Draft,
    candidate: Candidate,
    revision: CandidateRevision,
    now: datetime,
    settings: PipelineSettings,
) -> Draft:
    closed = candidate.state in CLOSED
    packet = edit.carried(revision.packet["edited"], draft.content, draft.packet, now.date(), waiting=not closed)
    if closed and packet["edited"]["newer"]:
        return draft
    with database.read() as session:
        seen = asked_of_draft(session, draft).seen
    asked = Asked(draft.namespace, revision.content, packet, seen)
    packet = checked(database, asked, draft.content, now, settings)
    return _copy(draft, content=revision.content, packet=packet, checks=packet["checks"])


def _copy(draft: Draft, **changes: Any) -> Draft:
    """A draft that is no row: what the night stored stays what the night wrote."""
    return Draft(**{**draft.model_dump(), **changes})


def _kin(content: Mapping[str, Any], known: Known) -> set[tuple[str, int]]:
    return set(kin_of(from_canonical(dict(content["predicate"])), known.promoted, lines_of(content)))
