"""Look for what cannot both be followed: tonight's drafts against each other, the queue, and the active rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from storage.engine import Database
from storage.ids import content_hash
from storage.ledger import Claim as StepClaim
from storage.ledger import guard
from storage.queries import candidates as candidate_queries
from storage.queries import rules as rule_queries
from storage.tables import Draft
from tasks.conflict.claims import Claim, Found, compare
from tasks.context import StepContext


def run(database: Database, claim: StepClaim, context: StepContext) -> dict[str, Any]:
    """Write every draft's conflicts. Run again, it writes the same. Returns ``conflicts`` by kind."""
    with database.read() as session:
        drafts = list(candidate_queries.drafts_of(session, claim.namespace, claim.run_id))
        queue = candidate_queries.queue(session, claim.namespace)
        active = rule_queries.versions_in(session, claim.namespace)
    drafted = {draft.candidate_id for draft in drafts}
    waiting = [as_claim(f"candidate:{c.id}", r.content) for c, r in queue if c.id not in drafted]
    others = [*waiting, *(as_claim(f"rule:{v.rule_id}@{v.version}", v.content) for v in active)]
    mine = [as_claim(f"candidate:{draft.candidate_id}", draft.content) for draft in drafts]
    found = {one.ref: [hit for two in (*mine, *others) if (hit := compare(one, two))] for one in mine}
    _save(database, claim, context, drafts, found)
    return {"conflicts": dict(Counter(hit.kind for hits in found.values() for hit in hits))}


def as_claim(ref: str, content: Mapping[str, Any]) -> Claim:
    """A stored content as one side of a comparison."""
    title = (content.get("guidance") or [""])[0]
    return Claim(ref, content.get("predicate") or {}, content.get("scope") or {}, title)


def as_row(namespace: str, hit: Found) -> dict[str, Any]:
    """A conflict as drafts and packets keep it."""
    return {
        "id": content_hash([namespace, *hit.key], 16),
        "kind": hit.kind,
        "with": hit.right,
        "detail": hit.detail,
        "supersedes": hit.supersedes,
    }


def _save(
    database: Database,
    claim: StepClaim,
    context: StepContext,
    drafts: Sequence[Draft],
    found: Mapping[str, Iterable[Found]],
) -> None:
    size = context.settings.write_batch
    for start in range(0, len(drafts), size):
        with database.write() as session:
            guard(session, claim)
            for draft in drafts[start : start + size]:
                stored = session.get_one(Draft, (draft.namespace, draft.id))
                hits = found[f"candidate:{draft.candidate_id}"]
                stored.conflicts = [as_row(claim.namespace, hit) for hit in hits]
