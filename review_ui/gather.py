"""What the page of one candidate reads, in one session; nothing here makes words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlmodel import Session

from review_ui.errors import NotFound
from review_ui.views.candidate import Found
from review_ui.views.lineage import Descent
from review_ui.words import _
from storage.queries import descent, pages
from storage.queries.candidates import conflicts_touching, current_revisions
from storage.queries.lineage import lineage_of_candidate
from storage.queries.parts import titles_of
from storage.queries.rules import descendants_of, version, version_of_candidate, versions_by_keys
from storage.tables import Candidate, CandidateRevision, Conflict
from tasks.stage.reach_step import sessions_reached


def gather(session: Session, granted: Sequence[str], namespace: str, candidate_id: str, now: datetime) -> Found:
    """Everything that the page says of a candidate, but its evidence, which is read a page at a time.

    Raises:
        NotFound: if it does not exist, or lies outside ``granted``.
    """
    candidate, revision = only_row(session, granted, namespace, candidate_id)
    conflicts = conflicts_touching(session, namespace, [f"candidate:{candidate_id}"], state=None)
    reached = sessions_reached(session, namespace, candidate.family_id, _scope(revision), now)
    linked = [episode for _session, episode in reached.sample] + _counter_example(revision.packet)
    titles = titles_of(session, namespace, candidate.taken_by) if candidate.taken_by else {}
    return Found(
        candidate=candidate,
        revision=revision,
        decisions=pages.decisions_on(session, namespace, [candidate_id]),
        conflicts=conflicts,
        texts=_texts(session, namespace, conflicts),
        version=version_of_candidate(session, namespace, candidate_id, candidate.content_hash),
        replaced=version(session, namespace, candidate.replaces_rule_id, candidate.replaces_version)
        if candidate.replaces_rule_id and candidate.replaces_version
        else None,
        reached=reached,
        descent=_descent(session, candidate),
        tasks=descent.tasks_of(session, namespace, linked),
        took_over=[(one, titles[one]) for one in candidate.taken_by if one in titles],
        merged=descent.taken_by(session, namespace, candidate_id),
    )


def only_row(
    session: Session, granted: Sequence[str], namespace: str, candidate_id: str
) -> tuple[Candidate, CandidateRevision]:
    """A candidate with the revision that stands, all that a decision needs.

    Raises:
        NotFound: if it does not exist, or lies outside ``granted``.
    """
    row = pages.candidate_with_revision(session, granted, namespace, candidate_id)
    if row is None:
        raise NotFound(_("There is no such candidate in the namespaces you review."), _("Go back to the queue."))
    return row


def _scope(revision: CandidateRevision) -> Mapping[str, Any]:
    scope = revision.content.get("scope")
    return scope if isinstance(scope, dict) else {}


def _counter_example(packet: Mapping[str, Any]) -> list[str]:
    example = packet.get("counter_example")
    named = example.get("episode_id") if isinstance(example, dict) else None
    return [str(named)] if named else []


def _descent(session: Session, candidate: Candidate) -> Descent:
    namespace = candidate.namespace
    versions = descent.versions_from(session, namespace, candidate.id)
    keys = [(row.rule_id, row.version) for row in versions]
    return Descent(
        cited=descent.runs_cited(session, namespace, candidate.id, candidate.number),
        versions=versions,
        sessions=descent.sessions_served(session, namespace, keys),
        after=descent.runs_after(session, namespace, keys),
        ancestors=lineage_of_candidate(session, namespace, candidate.id, candidate.number) - set(keys),
        descendants=descendants_of(session, namespace, keys) - set(keys),
    )


def _texts(session: Session, namespace: str, conflicts: Sequence[Conflict]) -> dict[str, dict[str, Any]]:
    """What the sides of these conflicts say, by ref, as far as they are candidates or rules."""
    refs = {ref for row in conflicts for ref in (row.left_ref, row.right_ref)}
    candidates = [ref.removeprefix("candidate:") for ref in refs if ref.startswith("candidate:")]
    keys = [key for ref in refs if (key := _rule_key(ref)) is not None]
    found = {f"candidate:{one}": row.content for one, row in current_revisions(session, namespace, candidates).items()}
    rules = versions_by_keys(session, namespace, keys)
    return found | {f"rule:{row.rule_id}@{row.version}": row.content for row in rules}


def _rule_key(ref: str) -> tuple[str, int] | None:
    rule_id, _at, number = ref.removeprefix("rule:").rpartition("@")
    return (rule_id, int(number)) if ref.startswith("rule:") and number.isascii() and number.isdigit() else None
