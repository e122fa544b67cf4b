"""The rules that were revoked in a namespace, as drafts are compared with them."""

from __future__ import annotations

from sqlmodel import Session

from storage.queries import candidates as candidate_queries
from storage.queries import rules as rule_queries
from tasks.cluster.kin_step import lines_of
from tasks.verify.revoked import Revoked, claimed_by


def load_revoked(session: Session, namespace: str) -> tuple[Revoked, ...]:
    """Every revoked version. A rule that is active again, in another version, counts as not revoked."""
    active = {row.rule_id for row in rule_queries.versions_in(session, namespace)}
    found = []
    for row in rule_queries.versions_in(session, namespace, ("revoked",)):
        if row.rule_id in active:
            continue
        made_of = candidate_queries.revision(session, namespace, row.candidate_id, row.candidate_number)
        claimed = claimed_by(row.content, made_of.packet if made_of else {}, lines_of(row.content))
        found.append(Revoked((row.rule_id, row.version), claimed, row.state_at, row.state_reason))
    return tuple(found)
