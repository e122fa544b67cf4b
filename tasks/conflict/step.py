"""Look for what cannot both be followed: tonight's drafts against each other, the queue, the active rules and their own
counter-episodes; and tonight's raw episodes against what was recorded before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import Session

from storage.engine import Database
from storage.ledger import Claim as StepClaim
from storage.ledger import guard
from storage.queries import candidates as candidate_queries
from storage.queries import conflicts as queries
from storage.queries import evidence as evidence_queries
from storage.queries import rules as rule_queries
from storage.queries.parts import still_taken
from storage.tables import CandidateRevision, Conflict, Draft, RuleVersion
from tasks.conflict import sides
from tasks.conflict.counter import Against, tasks_against
from tasks.conflict.judge import Judge
from tasks.conflict.pairs import find
from tasks.conflict.raw.step import look_at_episodes
from tasks.context import StepContext
from tasks.stage.kept_step import texts_kept

Row = dict[str, Any]


def run(database: Database, claim: StepClaim, context: StepContext, judge: Judge | None = None) -> dict[str, Any]:
    """Write every draft's conflicts, and those of the raw episodes. Run again, it writes the same.

    Returns ``conflicts`` of the drafts by kind, and what was found among raw episodes: ``statements`` read tonight,
    ``facts_in_conflict`` and ``mixed_outcomes``.

    Args:
        judge: whom to ask about texts that are alike and claim nothing a machine could compare; nobody if absent.
    """
    with database.read() as session:
        drafts = texts_kept(session, candidate_queries.drafts_of(session, claim.namespace, claim.run_id))
        drafted = {draft.candidate_id for draft in drafts}
        others = _others(session, claim.namespace, drafted)
        closed = _closed(session, claim.namespace, drafted, others)
    rows = _conflicts(database, claim.namespace, drafts, others, closed, judge)
    _save(database, claim, context, drafts, rows)
    kinds = Counter(row["kind"] for found in rows.values() for row in found)
    return {"conflicts": dict(kinds), **look_at_episodes(database, claim, context)}


def conflicts_of(database: Database, text: Draft) -> list[Row]:
    """What a text that waits for review, such as one that a person just edited, conflicts with now. Reads only."""
    with database.read() as session:
        others = _others(session, text.namespace, {text.candidate_id})
        closed = _closed(session, text.namespace, {text.candidate_id}, others)
    return _conflicts(database, text.namespace, [text], others, closed, None)[text.id]


def conflicts_beside(
    session: Session,
    namespace: str,
    ref: str,
    content: Mapping[str, Any],
    evidence: Mapping[str, Any],
    cited: Sequence[sides.Cited],
    *,
    but: set[str],
) -> list[Row]:
    """What a text that no night drafted conflicts with among what waits and what is served; a part of a split is one.

    Args:
        but: candidates that are no other side, since it is of them or beside them.
    """
    others = _others(session, namespace, but)
    found = find([sides.as_claim(ref, content)], [sides.as_claim(other, row.content) for other, row in others.items()])
    own = [sides.claim_row(namespace, hit) for hit in found[ref]]
    known = queries.conflicts_by_ids(session, namespace, [row["id"] for row in own])
    shown = {row["with"]: _side_of(session, others[row["with"]]) for row in own}
    shown[ref] = sides.text_side(content, evidence, cited)
    return [_row(row, ref, shown, known.get(row["id"])) for row in own]


def _others(session: Session, namespace: str, drafted: set[str]) -> dict[str, CandidateRevision | RuleVersion]:
    """What waits for review, tonight's drafts apart, and what is served."""
    queue = candidate_queries.queue(session, namespace)
    waiting = {f"candidate:{row.id}": revision for row, revision in queue if row.id not in drafted}
    active = {f"rule:{row.rule_id}@{row.version}": row for row in rule_queries.versions_in(session, namespace)}
    return {**waiting, **active}


def _closed(
    session: Session, namespace: str, drafted: set[str], others: Mapping[str, CandidateRevision | RuleVersion]
) -> set[str]:
    """Drafts of tonight that are nobody's other side: rejected; split or merged, and then what took their place is that
    side; or served, and then the rule is."""
    states = candidate_queries.candidates_by_ids(session, namespace, drafted)
    served = {row.candidate_id for row in others.values() if isinstance(row, RuleVersion)}
    aside = served | still_taken(session, namespace, drafted)
    return {f"candidate:{one}" for one, row in states.items() if row.state == "rejected" or one in aside}


def _conflicts(
    database: Database,
    namespace: str,
    drafts: Sequence[Draft],
    others: Mapping[str, CandidateRevision | RuleVersion],
    closed: set[str],
    judge: Judge | None,
) -> dict[str, list[Row]]:
    """Rows by draft id, each with both sides and with what a person decided about it before."""
    by_ref = {f"candidate:{draft.candidate_id}": draft for draft in drafts}
    mine = [sides.as_claim(ref, draft.content) for ref, draft in by_ref.items()]
    found = find(mine, [sides.as_claim(ref, row.content) for ref, row in others.items()], judge)
    rows: dict[str, list[Row]] = {}
    for ref, draft in by_ref.items():
        family = str((draft.content.get("predicate") or {}).get("family") or "")
        against = _against(draft)
        own = [sides.claim_row(namespace, hit) for hit in found[ref] if hit.right not in closed]
        own += [sides.against_row(namespace, ref, family, one) for one in against]
        with database.read() as session:
            known = queries.conflicts_by_ids(session, namespace, [row["id"] for row in own])
            shown = {ref: _side_of_draft(session, draft)}
            shown |= {one.ref(family): _side_against(session, draft, one) for one in against}
            for other in {row["with"] for row in own} - shown.keys():
                held = by_ref.get(other)
                shown[other] = _side_of_draft(session, held) if held else _side_of(session, others[other])
        rows[draft.id] = [_row(row, ref, shown, known.get(row["id"])) for row in own]
    return rows


def _row(row: Row, ref: str, shown: Mapping[str, Row], known: Conflict | None) -> Row:
    both = {ref: shown[ref], row["with"]: shown[row["with"]]}
    resolution = known.resolution if known is not None and _unchanged(known, both) else None
    return sides.settled({**row, "sides": both}, resolution, is_left=ref < row["with"])


def _unchanged(known: Conflict, both: Mapping[str, Row]) -> bool:
    """Whether a decision still holds: both sides say what they said when it was taken."""
    left, right = sorted(both)
    told = [(known.sides.get(side) or {}).get("says") for side in ("left", "right")]
    return told == [both[left]["says"], both[right]["says"]]


def _against(draft: Draft) -> list[Against]:
    direction = (draft.content.get("predicate") or {}).get("direction")
    return tasks_against(draft.packet.get("strata") or (), direction) if direction in ("do", "avoid") else []


def _side_of_draft(session: Session, draft: Draft) -> Row:
    seen = _observed(session, draft, "support")[: sides.MOST_EPISODES]
    return sides.text_side(draft.content, draft.packet.get("evidence") or {}, [cited for _, cited in seen])


def _side_of(session: Session, row: CandidateRevision | RuleVersion) -> Row:
    if isinstance(row, RuleVersion):
        number, counts = row.candidate_number, row.evidence
    else:
        number, counts = row.number, row.packet.get("evidence") or {}
    cited = evidence_queries.steps_cited(session, row.namespace, row.candidate_id, number, sides.MOST_EPISODES)
    return sides.text_side(row.content, counts, cited)


def _side_against(session: Session, draft: Draft, one: Against) -> Row:
    cited = [place for task, place in _observed(session, draft, "counter") if task == one.task.partition("~")[0]]
    return sides.runs_side(f"runs of task {one.task} that speak against it", one.counter, cited)


def _observed(session: Session, draft: Draft, stance: str) -> list[tuple[str, sides.Cited]]:
    """(task, place) of what a draft was concluded from."""
    seen = evidence_queries.observations_of(session, draft.namespace, draft.inference_id)
    return [
        (episode.task_key, (episode.id, observation.step_ids[0] if observation.step_ids else ""))
        for link, observation, episode in seen
        if link.stance == stance
    ]


def _save(
    database: Database, claim: StepClaim, context: StepContext, drafts: Sequence[Draft], rows: Mapping[str, list[Row]]
) -> None:
    size = context.settings.write_batch
    for start in range(0, len(drafts), size):
        with database.write() as session:
            guard(session, claim)
            for draft in drafts[start : start + size]:
                stored = session.get_one(Draft, (draft.namespace, draft.id))
                stored.conflicts = rows[draft.id]
