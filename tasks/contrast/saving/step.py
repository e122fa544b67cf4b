"""Write what one shard concluded: its conclusions with what each was drawn from, and its looks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from storage import consolidation, ledger
from storage.engine import Database
from storage.ledger import Claim
from storage.tables import Inference, InferenceObservation, Look, Observation

Shown = tuple[Observation, InferenceObservation]


def save_conclusions(
    database: Database,
    claim: Claim,
    batch: int,
    conclusions: Iterable[tuple[Inference, Sequence[Shown]]],
    looks: Sequence[Look],
) -> None:
    """Remove what an earlier try of the claim's shard wrote, then write these, so many rows a transaction."""
    removed = 1
    while removed:
        with database.write() as session:
            ledger.guard(session, claim)
            removed = consolidation.clear_conclusions(session, claim.namespace, claim.run_id, claim.shard, batch)
    for inference, shown in conclusions:
        with database.write() as session:
            ledger.guard(session, claim)
            session.add(inference)
        for start in range(0, len(shown), batch):
            with database.write() as session:
                ledger.guard(session, claim)
                consolidation.put_observations(session, shown[start : start + batch])
    with database.write() as session:
        ledger.guard(session, claim)
        consolidation.put_looks(session, looks)
