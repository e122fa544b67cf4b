"""Select: take up the episodes that no run has consumed, batch by batch, each with the reason."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from storage import ledger
from storage.engine import Database
from storage.ledger import Claim
from storage.queries import consolidation as queries
from storage.queries.recoveries import count_unjudged_of_run
from storage.queries.taint import tainted_among
from storage.tables import Episode, RunEpisode
from tasks.context import StepContext
from tasks.select.reasons import why


def run(database: Database, claim: Claim, context: StepContext) -> dict[str, Any]:
    """Consume every waiting episode that is untainted; a tainted one waits, for its taint may be lifted.

    Choosing and recording are one transaction a batch, so none is skipped or taken twice, whenever the step stops.
    """
    after, tainted = "", 0
    with database.read() as session:
        failed = queries.tasks_failed_before(session, claim.namespace, claim.run_id)
    while True:
        with database.write() as session:
            ledger.guard(session, claim)
            page = queries.episodes_unconsumed(session, claim.namespace, after, context.settings.write_batch)
            if not page:
                break
            tainted += _consume(session, claim, page, failed)
            after = page[-1].id
    with database.read() as session:
        return {
            "episodes": queries.count_of_run(session, claim.run_id), "tainted": tainted,
            "unjudged": count_unjudged_of_run(session, claim.namespace, claim.run_id),
        }  # fmt: skip


def _consume(session: Session, claim: Claim, page: Sequence[Episode], failed: Collection[str]) -> int:
    tainted = tainted_among(session, claim.namespace, [episode.id for episode in page])
    missed = queries.sessions_that_missed(session, claim.namespace, {e.session_id for e in page if e.session_id})
    rows = []
    for episode in page:
        if episode.id in tainted:
            continue
        reason = why(
            session=episode.session_id, task=episode.task_key, outcome=episode.outcome,
            is_revision=episode.supersedes_id is not None, missed=missed, failed=failed,
        )  # fmt: skip
        rows.append({"namespace": claim.namespace, "episode_id": episode.id, "run_id": claim.run_id, "why": reason})
    if rows:
        session.execute(sa.insert(RunEpisode), rows)
    return len(tainted)
