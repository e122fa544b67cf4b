"""Load a family for a comparison: its runs in the order of arrival, and their facts.

Facts are read from a body once and kept packed; a later night reads the bodies of new episodes alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlmodel import Session

from storage import facts as store
from storage import ledger
from storage.bodies import load_bodies
from storage.engine import Database
from storage.ledger import Claim
from storage.queries.consolidation import Arrival, arrivals_of_family, last_run_contrasted
from storage.queries.lineage import claimed_reads, reads_of_sessions
from storage.queries.taint import tainted_versions
from tasks.cluster.independence import Record, sketch, trace_text
from tasks.cluster.kin import Promoted, RuleTexts, VersionKey, texts_found
from tasks.cluster.kin_step import load_promoted
from tasks.context import PipelineSettings
from tasks.contrast.facts import read_facts
from tasks.contrast.table import FactsTable, Reading, TableUnreadable, joined, table_of, unpack
from tasks.contrast.units import Run
from tasks.ingest.episode import Episode

READER_VERSION = 1
"""Raised whenever facts are read otherwise than before: what older readers kept is then read anew."""

PART = 4000
"""Episodes of one packed part."""
MOST_PARTS = 32
"""Parts after which a family is packed into fewer ones."""


@dataclass(frozen=True)
class FamilyRuns:
    """Every run of a family that counts at all, and its facts in the same order.

    ``reads`` names by episode the versions it may have read: what the server wrote, what it claims, what was found in
    its text. ``tainted`` were left out. By episode: ``arrived`` when it was ingested, ``grouped`` the group it is in.
    """

    runs: list[Run]
    table: FactsTable
    reads: Mapping[str, set[VersionKey]]
    promoted: Promoted
    tainted: list[str] = field(default_factory=list)
    external: frozenset[str] = frozenset()
    arrived: Mapping[str, datetime] = field(default_factory=dict)
    grouped: Mapping[str, str | None] = field(default_factory=dict)


def load_family(
    database: Database, namespace: str, family_id: str, settings: PipelineSettings, claim: Claim | None = None
) -> FamilyRuns:
    """The untainted runs of a family.

    Args:
        claim: the step that works on the family: what had to be read from bodies is then kept. Without it nothing is
            written.
    """
    with database.read() as session:
        arrivals = arrivals_of_family(session, namespace, family_id)
        promoted = load_promoted(session, namespace)
        reads = _served(session, namespace, arrivals) if promoted.told else {}
        withdrawn = tainted_versions(session, namespace)
        contrasted = last_run_contrasted(session, namespace, family_id, claim.run_id if claim else None)
    table = _table(database, namespace, family_id, settings, claim, arrivals, promoted)
    for row, found in table.reads.items():
        reads.setdefault(table.episode_ids[row], set()).update(found)
    place = {episode_id: row for row, episode_id in enumerate(table.episode_ids)}
    tainted = [one.id for one in arrivals if reads.get(one.id, _NONE) & withdrawn]
    out = set(tainted)
    kept = [one for one in arrivals if one.id in place and one.id not in out]
    rows = [place[one.id] for one in kept]
    return FamilyRuns(
        runs=[_run(one, table, row, contrasted) for one, row in zip(kept, rows, strict=True)],
        table=table.take(rows),
        reads=reads,
        promoted=promoted,
        tainted=tainted,
        external=frozenset(one.id for one in kept if one.trust == "external"),
        arrived={one.id: one.ingested_at for one in kept},
        grouped={one.id: one.group_id for one in kept},
    )


_NONE: frozenset[VersionKey] = frozenset()


def read_bodies(
    database: Database, namespace: str, episode_ids: Sequence[str], batch: int
) -> Mapping[str, dict[str, Any]]:
    """Bodies by episode id, loaded some at a time; purged ones are absent."""
    found: dict[str, dict[str, Any]] = {}
    for start in range(0, len(episode_ids), batch):
        with database.read() as session:
            found.update(load_bodies(session, namespace, episode_ids[start : start + batch]))
    return found


def _served(session: Session, namespace: str, arrivals: Sequence[Arrival]) -> dict[str, set[VersionKey]]:
    by_session = reads_of_sessions(session, namespace, {one.session_id for one in arrivals if one.session_id})
    found: dict[str, set[VersionKey]] = {}
    for one in arrivals:
        keys = by_session.get(one.session_id or "", set()) | claimed_reads(one.claims)
        if keys:
            found[one.id] = keys
    return found


def _table(
    database: Database,
    namespace: str,
    family_id: str,
    settings: PipelineSettings,
    claim: Claim | None,
    arrivals: Sequence[Arrival],
    promoted: Promoted,
) -> FactsTable:
    """Facts of all these episodes that still have a body: kept ones, and those read now."""
    with database.read() as session:
        packed = store.facts_of_family(session, namespace, family_id)
    kept, is_whole = _unpacked(packed)
    known = {episode_id for part in kept for episode_id in part.episode_ids}
    wanted = {one.id for one in arrivals}
    # Damaged, of another reader, superseded or erased: nothing of it may stay behind.
    packs_anew = claim is not None and (not is_whole or not known <= wanted or len(packed) >= MOST_PARTS)
    parts = [part.take([row for row, one in enumerate(part.episode_ids) if one in wanted]) for part in kept]
    missing = [one for one in arrivals if one.id not in known]
    texts = RuleTexts(promoted.told)
    for start in range(0, len(missing), PART):
        part = _read(database, namespace, missing[start : start + PART], settings, texts)
        parts.append(part)
        if claim is not None and not packs_anew:
            _keep(database, claim, family_id, [part])
    whole = joined([part for part in parts if len(part)])
    if claim is not None and packs_anew:
        _keep(database, claim, family_id, _split(whole), anew=True)
    return whole


def _unpacked(packed: Sequence[tuple[bytes, int]]) -> tuple[list[FactsTable], bool]:
    """The tables that this reader made, and whether those are all there is."""
    tables = []
    for body, version in packed:
        try:
            tables += [unpack(body)] if version == READER_VERSION else []
        except TableUnreadable:
            continue
    return tables, len(tables) == len(packed)


def _split(table: FactsTable) -> list[FactsTable]:
    return [table.take(range(start, min(start + 4 * PART, len(table)))) for start in range(0, len(table), 4 * PART)]


def _keep(database: Database, claim: Claim, family_id: str, parts: Sequence[FactsTable], *, anew: bool = False) -> None:
    """Store packed facts; ``anew`` replaces what is there, in one transaction, so that none is ever half there."""
    bodies = [(len(part), part.pack()) for part in parts]
    with database.write() as session:
        ledger.guard(session, claim)
        if anew:
            store.forget_facts(session, claim.namespace, [family_id])
        for episodes, body in bodies:
            store.put_facts(
                session, claim.namespace, family_id, claim.run_id, READER_VERSION, episodes=episodes, body=body
            )


def _read(
    database: Database, namespace: str, arrivals: Sequence[Arrival], settings: PipelineSettings, texts: RuleTexts
) -> FactsTable:
    readings: list[Reading] = []
    for start in range(0, len(arrivals), settings.read_batch):
        page = arrivals[start : start + settings.read_batch]
        bodies = read_bodies(database, namespace, [one.id for one in page], settings.read_batch)
        readings += [reading_of(one, bodies[one.id], texts) for one in page if one.id in bodies]
    return table_of(readings)


def reading_of(one: Arrival, body: dict[str, Any], texts: RuleTexts) -> Reading:
    """What is kept of one body."""
    episode = Episode.model_validate(body)
    described = episode.metadata.get("instruction")
    return Reading(
        one.id, read_facts(episode), sketch(trace_text(episode)), described if isinstance(described, str) else "",
        tuple(sorted(texts_found(body, texts, one.ingested_at))),
    )  # fmt: skip


def _run(one: Arrival, table: FactsTable, row: int, contrasted: str | None) -> Run:
    names = tuple(name for name in (one.id, one.source_id) if name)
    is_known = contrasted is not None and one.consumed_by <= contrasted
    record = Record(
        one.id, one.stratum or one.task_key, one.session_id, one.started_at, one.retry_of, names, table.sketches[row],
        one.group_id if is_known else None, one.principal if one.principal_capped else None,
    )  # fmt: skip
    return Run(
        record, table.descriptions.get(row, ""), one.outcome, one.outcome_source, one.agent or one.model or "",
        one.principal if one.principal_capped else None, one.consumed_by,
    )  # fmt: skip
