"""Try another policy on a namespace's queue. Called by the review page and the command line; it only reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storage.engine import Database
from storage.queries.pages_policy import active_by_tier, waiting_candidates
from storage.queries.people import policy_of
from tasks.verify.dry_run import Active, DryRun, Waiting, dry_run


def try_policy(database: Database, namespace: str, proposed: Mapping[str, Any]) -> DryRun:
    """What ``proposed`` would change in this namespace if it were set in place of its policy."""
    with database.read() as session:
        tiers = active_by_tier(session, namespace)
        waiting = (
            Waiting(row.id, row.title, row.kind, row.tier, revision.content, revision.packet)
            for row, revision in waiting_candidates(session, namespace)
        )
        active = Active(sum(tiers.values()), tiers.get("high", 0))
        return dry_run(policy_of(session, namespace), proposed, waiting, active)
